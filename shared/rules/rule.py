"""What a rule is, and how the faults of many rules become one list in the order of the document."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

import msgspec.inspect

from shared.rules.fault import Fault, FieldPath

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Rule(Generic[T_contra]):
    """One rule: a function that yields every fault that it finds.

    Its `id` is the function's name with hyphens, and `says`, the function's docstring, is the rule as a user hears it.
    """

    def __init__(self, judge: Callable[[T_contra], Iterator[Fault]]) -> None:
        self.id: Final = judge.__name__.replace("_", "-")
        self.says: Final = inspect.cleandoc(judge.__doc__ or "")
        self.__doc__ = judge.__doc__
        self._judge = judge

    def __call__(self, judged: T_contra) -> Iterator[Fault]:
        """Yield the rule's faults, each with the rule's id."""
        for fault in self._judge(judged):
            yield Fault(fault.field, fault.reason, fault.message, self.id, fault.near)

    def __repr__(self) -> str:
        return f"<rule {self.id}>"


def judge(rules: Iterable[Rule[T]], judged: T, order: "DocumentOrder") -> list[Fault]:
    """All faults that the rules find, in the order of the document; the order of the rules where that is equal."""
    found = [faults for rule in rules if (faults := list(rule(judged)))]
    if len(found) == 1:
        return found[0]  # a rule goes through the document in its order
    return sorted((fault for faults in found for fault in faults), key=lambda fault: order.place(fault.field))


class DocumentOrder:
    """The order of places in an object: lists by index, keys as its model has them, other keys by the alphabet."""

    def __init__(self, **models: type) -> None:
        """`models` are those of the top-level keys, in their order."""
        self._root = {
            key: (at, _branches(msgspec.inspect.type_info(model))) for at, (key, model) in enumerate(models.items())
        }

    def place(self, field: FieldPath | str) -> list[tuple[int, str]]:
        """What to sort by. A field that is a mere text has no place, and comes first."""
        place: list[tuple[int, str]] = []
        known = self._root
        for part in field.parts if isinstance(field, FieldPath) else ():
            if isinstance(part, int):
                place.append((part, ""))
            elif part in known:
                at, known = known[part]
                place.append((at, ""))
            else:
                place.append((len(known), part))
        return place


Branches = dict[str, tuple[int, Any]]


def _branches(model: msgspec.inspect.Type) -> Branches:
    """The keys below a value of that type, each with its position; a list's items, and None, add no level."""
    if isinstance(model, msgspec.inspect.UnionType):
        return {key: branch for option in model.types for key, branch in _branches(option).items()}
    if isinstance(model, msgspec.inspect.Metadata):
        return _branches(model.type)
    if isinstance(model, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
        return _branches(model.item_type)
    if isinstance(model, msgspec.inspect.StructType):
        return {each.encode_name: (at, _branches(each.type)) for at, each in enumerate(model.fields)}
    return {}
