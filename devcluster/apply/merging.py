"""Compare two versions of an object, apply one to the other, and take out what nobody wants any more."""

from dataclasses import dataclass, field
from typing import Any

from devcluster.apply.fieldsets import SELF, FieldSet, Path, is_member
from devcluster.apply.fieldsets import field as field_element
from devcluster.apply.shapes import Kind, Shape
from devcluster.schema.defaulting import copied

ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new version of an object has that the old one had not, has otherwise, or has no more."""

    added: list[Path] = field(default_factory=list)
    modified: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)


def compare(shape: Shape, old: Any, new: Any) -> Difference:
    """Return in which fields two versions of an object differ."""
    difference = Difference()
    _compare(shape, old, new, (), difference)
    return difference


def _compare(shape: Shape, old: Any, new: Any, path: Path, difference: Difference) -> None:
    if old is not ABSENT and new is not ABSENT and old == new and type(old) is type(new):
        return
    old_kind, new_kind = (None if value is ABSENT else shape.kind(value) for value in (old, new))
    if old_kind is not None and new_kind is not None and old_kind is not new_kind:
        _compare(shape, old, ABSENT, path, difference)
        _compare(shape, ABSENT, new, path, difference)
        return
    kind = new_kind or old_kind
    if kind is Kind.LEAF and old is not ABSENT and new is not ABSENT:
        difference.modified.append(path)
        return
    if kind is Kind.MAP:
        before, after = _or_empty(old, {}), _or_empty(new, {})
        for name in before.keys() | after.keys():
            below = (*path, field_element(name))
            _compare(shape.field(name), before.get(name, ABSENT), after.get(name, ABSENT), below, difference)
    elif kind is Kind.LIST:
        _compare_lists(shape, _or_empty(old, []), _or_empty(new, []), path, difference)
    if path and old is ABSENT:
        difference.added.append(path)
    elif path and new is ABSENT:
        difference.removed.append(path)


def _compare_lists(shape: Shape, old: list[Any], new: list[Any], path: Path, difference: Difference) -> None:
    before = dict(zip(shape.identify(old), old, strict=True))
    after = dict(zip(shape.identify(new), new, strict=True))
    for element in before.keys() | after.keys():
        item = before.get(element, ABSENT), after.get(element, ABSENT)
        _compare(shape.item(), *item, (*path, element), difference)


def _or_empty(value: Any, empty: Any) -> Any:
    return empty if value is ABSENT else value


def fields_of(shape: Shape, value: Any) -> FieldSet:
    """Return all fields of an object, as whoever applies it owns them."""
    kind = shape.kind(value)
    fields: FieldSet = {}
    if kind is Kind.MAP:
        for name, child in value.items():
            below = shape.field(name)
            own = fields_of(below, child)
            itself = child is None or child == {} or below.kind(child) is Kind.LEAF or not shape.names(name)
            _put(fields, field_element(name), own, itself)
    elif kind is Kind.LIST:
        for element, item in zip(shape.identify(value), value, strict=True):
            _put(fields, element, fields_of(shape.item(), item), True)
    return fields


def _put(fields: FieldSet, element: str, own: FieldSet, itself: bool) -> None:
    if own and itself:
        own[SELF] = {}
    if own or itself:
        fields[element] = own


def merged(shape: Shape, live: Any, applied: Any) -> Any:
    """Return what `live` becomes when `applied` is put over it. Neither is changed."""
    if live is ABSENT or live is None:
        return copied(applied)
    kind = shape.kind(applied)
    if kind is Kind.LEAF or kind is not shape.kind(live):
        return copied(applied)
    if kind is Kind.LIST:
        return _merged_lists(shape, live, applied)
    result = copied(live)
    for name, value in applied.items():
        result[name] = merged(shape.field(name), live.get(name, ABSENT), value)
    return result


def _merged_lists(shape: Shape, live: list[Any], applied: list[Any]) -> list[Any]:
    """Merge entry by entry. The order of `applied` wins; what only `live` has keeps its place as well as it can."""
    live_elements, applied_elements = shape.identify(live), shape.identify(applied)
    before = dict(zip(live_elements, live, strict=True))
    after = dict(zip(applied_elements, applied, strict=True))
    shared = [element for element in applied_elements if element in before]
    result: list[Any] = []
    done: set[str] = set()
    waiting = list(applied_elements)

    def take_applied_through(element: str) -> None:
        while waiting:
            first = waiting.pop(0)
            done.add(first)
            result.append(merged(shape.item(), before.get(first, ABSENT), after[first]))
            if first == element:
                return

    for element, item in zip(live_elements, live, strict=True):
        if element not in after:
            result.append(copied(item))
        elif element not in done and shared and element == next(one for one in shared if one not in done):
            take_applied_through(element)
    if waiting:
        take_applied_through("")
    return result


def without(shape: Shape, value: Any, given_up: FieldSet, owned: FieldSet) -> Any:
    """Return `value` less the fields in `given_up` that are not in `owned`, in place.

    A field that the schema names counts as given up, or owned, when anything below it is. What is empty then
    goes too, unless somebody owns it for itself.
    """
    if type(value) is dict and shape.kind(value) is Kind.MAP:
        for name in list(value):
            element = field_element(name)
            named = shape.names(name)
            if _is_dropped(element, given_up, owned, named=named):
                del value[name]
            elif element in given_up and value[name]:
                value[name] = without(shape.field(name), value[name], given_up[element], owned.get(element, {}))
                if value[name] in ({}, []) and not (element in owned and is_member(owned[element])):
                    del value[name]
    elif type(value) is list and shape.kind(value) is Kind.LIST:
        kept = []
        for element, item in zip(shape.identify(value), value, strict=True):
            if _is_dropped(element, given_up, owned, named=False):
                continue
            below = element in given_up
            kept.append(without(shape.item(), item, given_up[element], owned.get(element, {})) if below else item)
        return kept
    return value


def _is_dropped(element: str, given_up: FieldSet, owned: FieldSet, *, named: bool) -> bool:
    if element not in given_up or not (named or is_member(given_up[element])):
        return False
    return element not in owned or not (named or is_member(owned[element]))
