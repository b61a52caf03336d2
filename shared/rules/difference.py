"""Where two versions of a spec differ in what they mean.

The same can be written in many ways, and clients do: a typed Go client writes empty values where `kubectl` writes
none. So nothing is told apart that the API server, or a default of the schema, makes the same.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from shared.rules.fault import FieldPath

JSON = Any
"""What a JSON document decodes to: dicts, lists, texts, numbers, booleans and None."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)


def meaning(value: JSON, defaults: JSON = None) -> JSON:
    """`value` without what says nothing, None if that is all of it.

    Nothing is said by null, by an empty list or map, by an HTTP header of two empty texts, and by the schema's
    `defaults`, which are written as an object of the same shape, with one item for all items of a list.
    """
    if isinstance(value, dict):
        fields = defaults if isinstance(defaults, dict) else {}
        items = (
            (key, meaning(child, fields.get(key))) for key, child in value.items() if not _is_no_header(key, child)
        )
        return {key: child for key, child in items if child is not None} or None
    if isinstance(value, list):
        item_defaults = defaults[0] if isinstance(defaults, list) else None
        return [item if type(item) is str else meaning(item, item_defaults) for item in value] or None
    return None if value is None or (defaults is not None and _same_scalar(value, defaults)) else value


def differences(old: JSON, new: JSON, at: FieldPath) -> Iterator[FieldPath]:
    """Yield the places at and below `at` in which two meanings differ, as deep as they can be told.

    Objects are followed into, lists of them by index. Where such a list became longer or shorter, what is the same at
    its beginning and at its end is set aside, and between only items of the same name are. Any other list is one place.
    """
    if isinstance(old, dict | None) and isinstance(new, dict | None):
        old, new = old or {}, new or {}
        for key in dict.fromkeys([*old, *new]):
            yield from differences(old.get(key), new.get(key), _below(at, key))
    elif _is_list_of_objects(old) and _is_list_of_objects(new):
        yield from _differences_of_lists(old, new, at)
    elif not _same(old, new):
        yield at


def _differences_of_lists(old: list[JSON], new: list[JSON], at: FieldPath) -> Iterator[FieldPath]:
    if len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, at / i)
        return
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and _same(old[start], new[start]):
        start += 1
    end = 0
    while end < shorter - start and _same(old[-1 - end], new[-1 - end]):
        end += 1
    for i in range(start, max(len(old), len(new)) - end):
        one, other = (items[i] if i < len(items) - end else None for items in (old, new))
        if one and other and one.get("name") == other.get("name"):
            yield from differences(one, other, at / i)
        else:
            yield at / i


def _same(one: JSON, other: JSON) -> bool:
    """Equal as JSON is, where true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return _same_scalar(one, other)


def _same_scalar(one: JSON, other: JSON) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _is_no_header(key: str, value: JSON) -> bool:
    """Go's typed clients write a header of empty texts where there is none, for the field is no pointer."""
    return key == "httpHeader" and isinstance(value, dict) and all(text in ("", None) for text in value.values())


def _is_list_of_objects(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict | None) for item in value)


def _below(at: FieldPath, key: str) -> FieldPath:
    return at / key if _PLAIN_KEY.fullmatch(key) else at.key(key)
