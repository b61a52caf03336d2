"""Which parts of an object are merged field by field, and which are one leaf that is owned as a whole.

The schema says so: objects are merged, unless they are atomic; lists are one leaf, unless they are sets or maps. Where
no schema says anything (below x-kubernetes-preserve-unknown-fields, and in the built-in kinds, whose schemas are not
loaded for this) objects are merged, and of lists those that strategic merge patches merge, too.
"""

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from devcluster.apply.fieldsets import entry, member
from devcluster.resources import JSON
from devcluster.schema.compiled import ANYTHING, KEPT, Schema, compiled
from devcluster.strategic import MERGE_KEYS

# The metadata of every object, as far as merging goes.
METADATA: JSON = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("name", "generateName", "namespace", "selfLink", "uid")},
        **{name: {"type": "string"} for name in ("resourceVersion", "creationTimestamp", "deletionTimestamp")},
        **{name: {"type": "integer"} for name in ("generation", "deletionGracePeriodSeconds")},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {
                    **{name: {"type": "string"} for name in ("apiVersion", "kind", "name", "uid")},
                    **{name: {"type": "boolean"} for name in ("controller", "blockOwnerDeletion")},
                },
            },
        },
        "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    },
}
TYPE_META: JSON = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": METADATA}

# Fields of the built-in kinds that hold whatever names people choose.
BUILTIN_MAPS = frozenset(
    {"data", "binaryData", "stringData", "matchLabels", "selector", "nodeSelector"}
    | {"limits", "requests", "capacity", "hard", "used", "overhead", "properties", "definitions"}
)


class Kind(Enum):
    """How a value takes part in a merge."""

    LEAF = auto()
    MAP = auto()
    LIST = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known about one place in an object: its schema, or in a built-in kind at least the name of the field."""

    schema: Schema | None
    name: str = ""
    is_builtin: bool = False

    def kind(self, value: Any) -> Kind:
        """Return how this value takes part here."""
        if type(value) is dict:
            return Kind.LEAF if self.schema is not None and self.schema.map_type == "atomic" else Kind.MAP
        if type(value) is list and self.keys(value) is not None:
            return Kind.LIST
        return Kind.LEAF

    def keys(self, items: list[Any]) -> tuple[str, ...] | None:
        """Return what tells the entries of a list apart: keys, () for their own values; None for an atomic list."""
        if self.schema is not None and self.schema.list_type:
            return {"map": self.schema.list_keys, "set": ()}.get(self.schema.list_type)
        if self.schema is not None or self.name not in MERGE_KEYS:
            return None
        key = MERGE_KEYS[self.name]
        if not key:
            return () if not any(type(item) in {dict, list} for item in items) else None
        keys = (key, "protocol") if self.name == "ports" else (key,)
        return keys if all(type(item) is dict and key in item for item in items) else None

    def field(self, name: str) -> "Shape":
        """Return what is known about a field of an object here."""
        return self._below(self.schema.child(name) if self.schema is not None else None, name)

    def item(self) -> "Shape":
        """Return what is known about the entries of a list here."""
        return self._below(self.schema.items if self.schema is not None else None, "")

    def _below(self, schema: Schema | None, name: str) -> "Shape":
        return Shape(ANYTHING if schema is None and not self.is_builtin else schema, name, self.is_builtin)

    def names(self, name: str) -> bool:
        """Say whether the schema names this field; a field that it does not name is an entry of a map."""
        if self.is_builtin and (self.schema is None or self.schema is _BUILTIN_ROOT):
            return self.name not in BUILTIN_MAPS
        return self.schema is not None and name in self.schema.properties

    def allows(self, name: str) -> bool:
        """Say whether there may be a field of this name."""
        schema = self.schema
        if schema is None or schema.keeps_unknown:
            return True
        return name in schema.properties or schema.additional is not None

    def identify(self, items: list[Any]) -> list[str]:
        """Return the path elements of the entries of a list that is merged."""
        keys = self.keys(items)
        if keys is None:
            raise ValueError("an atomic list has no elements")
        return [_element(item, keys) for item in items]


def _element(item: Any, keys: tuple[str, ...]) -> str:
    if not keys:
        return member(item)
    return entry({key: item[key] for key in keys if key in item} if type(item) is dict else {})


def root_shape(schema: JSON | None) -> Shape:
    """Return what is known about whole objects of a kind."""
    return Shape(_BUILTIN_ROOT, is_builtin=True) if schema is None else Shape(_with_metadata(compiled(schema)))


@lru_cache(maxsize=KEPT)
def _with_metadata(schema: Schema) -> Schema:
    return Schema(
        types=schema.types,
        properties={**schema.properties, **_BUILTIN_ROOT.properties},
        additional=schema.additional,
        keeps_unknown=schema.keeps_unknown,
    )


_BUILTIN_ROOT = compiled({"type": "object", "properties": TYPE_META, "x-kubernetes-preserve-unknown-fields": True})
