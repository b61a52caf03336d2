"""A structural schema in the form that is quick to walk.

`compiled` turns `openAPIV3Schema` into a tree of `Schema`. Everything that can be known before an object is seen (which
fields have defaults, which checks a value must pass) is worked out here once.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from devcluster.resources import JSON, Cause
from devcluster.schema.checks import checks_of, known_format

MAX_DEPTH = 100  # CRDs of today nest some 30 levels; beyond this a schema is somebody's attack on the stack
KEPT = 256  # schemas in memory: a few for each kind and version that is served

MISSING: Any = object()

Check = Callable[[Any, str, list[Cause]], None]


class SchemaError(ValueError):
    """A schema that no server would accept."""


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One node of a structural schema: what it says about one value, and the nodes below it."""

    types: tuple[str, ...] = ()  # none: any
    format: str = ""  # only where Kubernetes knows it for this type
    nullable: bool = False
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    additional: "Schema | None" = None  # of all properties that are not named
    items: "Schema | None" = None
    keeps_unknown: bool = False  # x-kubernetes-preserve-unknown-fields
    embedded: bool = False  # x-kubernetes-embedded-resource
    list_type: str = ""  # atomic, set, map
    list_keys: tuple[str, ...] = ()
    map_type: str = ""  # granular, atomic
    default: Any = MISSING
    defaults: tuple[tuple[str, "Schema"], ...] = ()  # the properties that have one
    required: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    any_of: tuple["Schema", ...] = ()
    all_of: tuple["Schema", ...] = ()
    one_of: tuple["Schema", ...] = ()
    excluded: "Schema | None" = None  # `not`
    fitting: frozenset[type] = frozenset()  # values of these types have no fault, whatever they are
    has_unique: bool = False  # there is a list here or below in which nothing may stand twice

    def child(self, key: str) -> "Schema | None":
        """Return what the schema says about one property, None if nothing."""
        found = self.properties.get(key)
        return self.additional if found is None else found


ANYTHING = Schema(keeps_unknown=True, nullable=True)
NOTHING = Schema()

_cache: OrderedDict[int, tuple[JSON, Schema]] = OrderedDict()


def compiled(source: JSON) -> Schema:
    """Return the compiled form of a schema, the same one for the same dict."""
    found = _cache.get(id(source))
    if found is not None and found[0] is source:
        return found[1]
    schema = _compile(source, 0)
    _cache[id(source)] = (source, schema)  # holds on to the dict, so that its id stays its own
    while len(_cache) > KEPT:
        _cache.popitem(last=False)
    return schema


def _compile(source: JSON, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        raise SchemaError(f"the schema nests more than {MAX_DEPTH} levels")

    def below(part: JSON) -> Schema:
        return _compile(part, depth + 1)

    properties = {name: below(part) for name, part in (source.get("properties") or {}).items()}
    additional = source.get("additionalProperties")
    items = source.get("items")
    types = _types(source)
    made = Schema(
        types=types,
        format=known_format(source.get("format", ""), types),
        nullable=source.get("nullable", False),
        properties=properties,
        additional=below(additional) if isinstance(additional, dict) else ANYTHING if additional else None,
        items=below(items) if isinstance(items, dict) else None,
        keeps_unknown=source.get("x-kubernetes-preserve-unknown-fields", False),
        embedded=source.get("x-kubernetes-embedded-resource", False),
        list_type=source.get("x-kubernetes-list-type", ""),
        list_keys=tuple(source.get("x-kubernetes-list-map-keys") or ()),
        map_type=source.get("x-kubernetes-map-type", ""),
        default=source.get("default", MISSING),
        defaults=tuple((name, part) for name, part in properties.items() if part.default is not MISSING),
        required=tuple(source.get("required") or ()),
        checks=checks_of(source, types),
        any_of=tuple(map(below, source.get("anyOf") or ())),
        all_of=tuple(map(below, source.get("allOf") or ())),
        one_of=tuple(map(below, source.get("oneOf") or ())),
        excluded=below(source["not"]) if source.get("not") else None,
    )
    parts = (*properties.values(), made.additional, made.items)
    return replace(
        made,
        fitting=_fitting(made),
        has_unique=made.list_type in {"set", "map"} or any(part.has_unique for part in parts if part is not None),
    )


def _fitting(schema: Schema) -> frozenset[type]:
    if schema.checks or schema.any_of or schema.all_of or schema.one_of or schema.excluded:
        return frozenset()
    return frozenset(kind for name, kind in (("string", str), ("boolean", bool)) if name in schema.types)


def _types(source: JSON) -> tuple[str, ...]:
    if source.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (source["type"],) if source.get("type") else ()
