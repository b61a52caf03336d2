"""The shapes of what a Pod's spec may hold: types, fields that must be there, lists by key, known words.

They are Kubernetes' own, as its API server publishes them (OpenAPI), and stand in `shapes.txt`, one definition after
the other. Volcano's CRDs have the same, but for the words. Those, and what `values.py` and `relations.py` know besides,
Volcano's webhook has Kubernetes' validation judge, in pod templates alone: of the claim of a Job's volume the types
are judged. Models of `shared.api.job_spec` are marked with the shape of what they keep as JSON.

    Toleration
      effect string in NoExecute NoSchedule PreferNoSchedule
      tolerationSeconds int64

`[T]` is a list, `{T}` a map, `!` follows the name of a field that must be there, and `by` the keys of a list in which
each item has keys of its own; `key=X` is the default of such a key.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

from shared.rules.fault import Fault, FieldPath, duplicate, invalid, not_supported, required, type_invalid
from shared.rules.formats import quantity
from shared.rules.job.relations import RELATIONS, Relation
from shared.rules.job.values import CHECKS, MUST_BE_THERE, Check


class Shape(Protocol):
    """What a value may be."""

    def fits(self, value: Any) -> bool:
        """Whether there is nothing to tell."""
        ...

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Everything in the value that does not fit."""
        ...


@cache
def shape(text: str) -> Shape:
    """The shape that is written so, in the file or in the mark of a model; `types X` is the types of X alone."""
    typed, *rest = text.removeprefix("types ").split()
    return _field(typed, rest, _definitions(text.startswith("types ")))


@dataclass(frozen=True, slots=True)
class Plain:
    """A value of a type that has nothing below it."""

    is_one: Callable[[Any], bool]
    what: str

    def fits(self, value: Any) -> bool:
        """Whether it is of the type."""
        return self.is_one(value)

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """At most one."""
        if not self.is_one(value):
            tell = invalid if isinstance(value, str | int) and not isinstance(value, bool) else type_invalid
            yield tell(at, value, f"must be {self.what}")


@dataclass(frozen=True, slots=True)
class Word:
    """A text that is one of a few."""

    words: tuple[str, ...]

    def fits(self, value: Any) -> bool:
        """Whether it is one of them."""
        return type(value) is str and value in self.words

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """At most one."""
        if not isinstance(value, str):
            yield type_invalid(at, value, f"must be {TEXT}")
        elif not self.fits(value):
            yield not_supported(at, value, tuple(filter(None, self.words)))


@dataclass(frozen=True, slots=True)
class Checked:
    """A value that must be more than of its type."""

    shape: Shape
    check: Check

    def fits(self, value: Any) -> bool:
        """Whether the type is right and the value."""
        return self.shape.fits(value) and self.check.fits(value)

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Those of the type, or else of the value."""
        yield from (self.check if self.shape.fits(value) else self.shape).faults(value, at)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, in which items may have to differ in keys."""

    item: Shape
    keys: tuple[tuple[str, Any], ...] = ()
    """With the default of each, None for none."""

    def fits(self, value: Any) -> bool:
        """Whether all items fit, and no two have the same keys."""
        return type(value) is list and all(map(self.item.fits, value)) and not any(self._twins(value))

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Those of the items, and items with the keys of another."""
        if type(value) is not list:
            yield type_invalid(at, value, "must be a list")
            return
        for i, item in enumerate(value):
            if not self.item.fits(item):
                yield from self.item.faults(item, at / i)
        for i, twin in self._twins(value):
            yield duplicate(at / i / self.keys[0][0], twin)

    def _twins(self, items: list[Any]) -> Iterator[tuple[int, Any]]:
        seen = set()
        for i, item in enumerate(items if self.keys else ()):
            values = tuple(item.get(key, default) for key, default in self.keys) if type(item) is dict else None
            if values is None or not all(isinstance(value, str | int) for value in values):
                continue
            if values in seen:
                yield i, values[0]
            seen.add(values)


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with keys that users choose. A null in it is nothing."""

    item: Shape

    def fits(self, value: Any) -> bool:
        """Whether all values fit."""
        return type(value) is dict and all(item is None or self.item.fits(item) for item in value.values())

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Those of the values."""
        if type(value) is not dict:
            yield type_invalid(at, value, "must be an object")
            return
        for key, item in value.items():
            if item is not None:
                yield from self.item.faults(item, at.key(key))


@dataclass(frozen=True, slots=True)
class Definition:
    """An object of Kubernetes. Other fields are passed over, as the API server drops them, and nulls with them."""

    fields: dict[str, Shape] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)
    relations: Sequence[Relation] = ()

    def fits(self, value: Any) -> bool:
        """Whether what is needed is there, and fits with all the rest."""
        return self._has_right_fields(value) and not any(any(judge(value, ROOT)) for judge in self.relations)

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Those of the fields, in the order of the definition, and fields that are missing; or else how they relate."""
        if type(value) is not dict:
            yield type_invalid(at, value, "must be an object")
            return
        for key, wanted in self.fields.items():
            item = value.get(key)
            if item is not None:
                yield from wanted.faults(item, at / key)
            elif key in self.needed:
                yield required(at / key)
        if self._has_right_fields(value):
            for judge in self.relations:
                yield from judge(value, at)

    def _has_right_fields(self, value: Any) -> bool:
        if type(value) is not dict or any(value.get(key) is None for key in self.needed):
            return False
        fields = self.fields
        return all(item is None or key not in fields or fields[key].fits(item) for key, item in value.items())


ROOT: Final = FieldPath()
TEXT: Final = "a string"


def _is_integer(value: Any, bits: int = 32) -> bool:
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return whole and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


PLAIN: Final[Mapping[str, Plain]] = {
    "string": Plain(lambda value: type(value) is str, TEXT),
    "boolean": Plain(lambda value: type(value) is bool, "true or false"),
    "int32": Plain(_is_integer, "an integer within 32 bits"),
    "int64": Plain(lambda value: _is_integer(value, bits=64), "an integer within 64 bits"),
    "quantity": Plain(
        lambda value: (type(value) is str or _is_integer(value, bits=64)) and quantity(value) is not None,
        "a quantity such as 2, 500m, 1.5 or 1Gi",
    ),
    "intOrString": Plain(lambda value: type(value) is str or _is_integer(value), "an integer or a string"),
}


EMPTY_IS_DEFAULT: Final = {
    "ContainerPort.protocol", "EphemeralContainer.imagePullPolicy", "EphemeralContainer.terminationMessagePolicy",
    "HTTPGetAction.scheme", "HostPathVolumeSource.type", "ImageVolumeSource.pullPolicy", "Toleration.effect",
    "Toleration.operator",
}  # fmt: skip
"""Words in whose place an empty text may stand."""


@cache
def _definitions(types_alone: bool) -> Mapping[str, Definition]:
    lines = (resources.files(__package__) / "shapes.txt").read_text("utf-8").splitlines()
    heads = [line for line in lines if line and not line.startswith((" ", "#"))]
    definitions = {name: Definition(relations=() if types_alone else RELATIONS.get(name, ())) for name in heads}
    name = ""
    for line in lines:
        if line in definitions:
            name = line
        elif line.startswith(" "):
            key, typed, *rest = line.split()
            field_name, into = f"{name}.{key.rstrip('!')}", definitions[name]
            made = _field(typed, rest[:0] if types_alone and rest[:1] == ["in"] else rest, definitions)
            if field_name in EMPTY_IS_DEFAULT and isinstance(made, Word):
                made = Word((*made.words, ""))
            if field_name in CHECKS and not types_alone:
                made = Checked(made, CHECKS[field_name])
            into.fields[key.rstrip("!")] = made
            into.needed.extend([key.rstrip("!")] if key.endswith("!") else [])
    for name, keys in () if types_alone else MUST_BE_THERE.items():
        definitions[name].needed.extend(keys)
    return definitions


def _field(typed: str, rest: list[str], definitions: Mapping[str, Definition]) -> Shape:
    """`rest` is what follows the type: `in WORD...`, `by KEY...`."""
    made = _typed(typed, definitions)
    if rest[:1] == ["in"]:
        return ListOf(Word(tuple(rest[1:]))) if isinstance(made, ListOf) else Word(tuple(rest[1:]))
    if rest[:1] == ["by"] and isinstance(made, ListOf):
        keys = (key.partition("=") for key in rest[1:])
        return ListOf(made.item, tuple((key, default or None) for key, _, default in keys))
    return made


def _typed(text: str, definitions: Mapping[str, Definition]) -> Shape:
    if text.startswith("["):
        return ListOf(_typed(text[1:-1], definitions))
    if text.startswith("{"):
        return MapOf(_typed(text[1:-1], definitions))
    return PLAIN.get(text) or definitions[text]
