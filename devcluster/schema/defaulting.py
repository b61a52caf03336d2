"""Fill in the defaults of a schema, as the API server does when it reads a request and when it reads its store."""

from typing import Any

from devcluster.resources import JSON
from devcluster.schema.compiled import MISSING, Schema, compiled


def apply_defaults(schema: JSON, obj: JSON) -> None:
    """Set what is missing and has a default, in place.

    A null where none is allowed becomes the default, or is removed when there is none. In a list it stays, for the
    validation to refuse it.
    """
    _fill(compiled(schema), obj)


def _fill(schema: Schema, value: Any) -> None:
    if type(value) is dict:
        _fill_map(schema, value)
    elif type(value) is list and schema.items is not None:
        items = schema.items
        for i, item in enumerate(value):
            if item is None and not items.nullable and items.default is not MISSING:
                value[i] = copied(items.default)
            if type(value[i]) is dict or type(value[i]) is list:
                _fill(items, value[i])


def _fill_map(schema: Schema, value: JSON) -> None:
    for name, part in schema.defaults:
        if name not in value or (value[name] is None and not part.nullable):
            value[name] = copied(part.default)
    nulls: list[str] = []
    for key, child in value.items():
        if child is None:
            below = schema.child(key)
            if below is not None and not below.nullable:
                nulls.append(key)
        elif type(child) is dict or type(child) is list:
            below = schema.child(key)
            if below is not None:
                _fill(below, child)
    for key in nulls:
        below = schema.child(key)
        if below is not None and below.default is not MISSING:
            value[key] = copied(below.default)
        else:
            del value[key]


def copied(value: Any) -> Any:
    """Return a JSON value that shares nothing with the given one."""
    if type(value) is dict:
        return {key: copied(child) for key, child in value.items()}
    if type(value) is list:
        return [copied(child) for child in value]
    return value
