"""Take away the fields that a schema does not name, as the API server does before it stores an object."""

from typing import Any

from devcluster.resources import JSON
from devcluster.schema.compiled import NOTHING, Schema, compiled

META = frozenset({"apiVersion", "kind", "metadata"})


def prune(schema: JSON, obj: JSON) -> list[str]:
    """Remove unknown fields in place and return their paths, sorted: `spec.flows[0].foo`.

    apiVersion, kind and metadata stay untouched at the root and in embedded resources. Below
    x-kubernetes-preserve-unknown-fields everything stays that the schema does not name again.
    """
    unknown: list[str] = []
    _prune_map(compiled(schema), obj, "", unknown, keep_meta=True)
    return sorted(unknown)


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> None:
    if type(value) is dict:
        _prune_map(schema, value, path, unknown, keep_meta=schema.embedded)
    elif type(value) is list:
        items = schema.items
        if items is None:
            if schema.keeps_unknown:
                return
            items = NOTHING
        for i, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(items, item, f"{path}[{i}]", unknown)


def _prune_map(schema: Schema, value: JSON, path: str, unknown: list[str], *, keep_meta: bool) -> None:
    dropped: list[str] = []
    properties = schema.properties
    for key, child in value.items():
        if keep_meta and key in META:
            continue
        below = properties.get(key) or schema.additional
        if below is None:
            if not schema.keeps_unknown:
                dropped.append(key)
        elif type(child) is dict or type(child) is list:
            _prune(below, child, f"{path}.{key}" if path else key, unknown)
    for key in dropped:
        del value[key]
        unknown.append(f"{path}.{key}" if path else key)
