"""The two ways in which a write changes who owns what: by being applied, and by just being made."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devcluster.apply import fieldsets
from devcluster.apply.fieldsets import FieldSet, Path
from devcluster.apply.managers import (
    ANCIENT,
    APPLY,
    MAX_UPDATERS,
    UPDATE,
    Manager,
    Owners,
    Ownership,
    read_owners,
    write_owners,
)
from devcluster.apply.merging import ABSENT, Difference, compare, fields_of, merged, without
from devcluster.apply.shapes import Kind, Shape, root_shape
from devcluster.resources import JSON
from devcluster.schema.defaulting import copied
from devcluster.schema.validating import kind_of

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_FIRST_APPLY = "before-first-apply"

# What the server itself writes, and what names the object: nobody's fields.
NOBODYS: tuple[Path, ...] = (
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
            *("managedFields", "resourceVersion"),
        )
    ),
)


class ApplyConflict(Exception):
    """Others own fields to which the applied object gives other values.

    `conflicts` has the manager, spelled as Kubernetes does (`"kubectl" using v1`, with these quotes), and the field.
    """

    def __init__(self, conflicts: list[tuple[str, str]]) -> None:
        self.conflicts = conflicts
        super().__init__(_told(conflicts))


class ApplyError(Exception):
    """The applied object does not fit its schema. A real API server answers this with a plain 500."""


def server_side_apply(  # noqa: PLR0917 - one after the other they are the story of a request
    live: JSON | None, applied: JSON, manager: str, force: bool, now: str, schema: JSON | None, subresource: str = ""
) -> JSON:
    """Return the object after `manager` has applied its part, with managedFields to match.

    Fields that it applied before and now leaves out are removed, unless somebody else owns them. Raises ApplyConflict
    where others own what it changes, unless `force`, and ApplyError. Neither argument is changed.
    """
    shape = root_shape(schema)
    _check_applied(shape, applied)
    applied = _part(applied, subresource)
    old = copied(live) if live is not None else {}
    owners = read_owners((old.get("metadata") or {}).pop("managedFields", None))
    if live is not None and not owners:
        first = Manager(UPDATE, BEFORE_FIRST_APPLY, applied["apiVersion"], subresource)
        fields = _less_nobodys(compare(shape, ABSENT, _part(old, subresource)).added)
        owners[first.identity] = Ownership(first, fields, now)
    me = Manager(APPLY, manager, applied["apiVersion"], subresource)
    try:
        result = _apply(shape, old, applied, owners, me, force=force)
    except ApplyConflict as clash:
        # What kubectl has applied on the client's side is its own, though it comes under another name now.
        if manager != "kubectl" or not _all_from_last_applied(shape, old, clash):
            raise
        result = _apply(shape, old, applied, owners, me, force=True)
    mine = owners[me.identity]
    mine.change(_less_nobodys(fieldsets.paths(mine.fields)), mine.time if result == old else now)
    if result != old:
        _refresh_last_applied(result, applied, manager)
    meta: JSON = result.setdefault("metadata", {})
    _drop_empty(meta)
    write_owners(meta, owners)
    return result


def _part(applied: JSON, subresource: str) -> JSON:
    """Return what of an object counts: status belongs to the subresource of that name, and all else does not."""
    if subresource == "status":
        names = ("apiVersion", "kind", "status")
        return {name: copied(value) for name, value in applied.items() if name in names} | {"metadata": {}}
    return {name: copied(value) for name, value in applied.items() if name != "status"}


def _apply(shape: Shape, old: JSON, applied: JSON, owners: Owners, me: Manager, *, force: bool) -> JSON:
    before = owners.get(me.identity)
    fields = fields_of(shape, applied)
    new: JSON = merged(shape, old, applied)
    if before is not None:
        claimed = [fields, *(one.fields for one in owners.values() if one is not before)]
        owned: FieldSet = {}
        for claim in claimed:
            owned = fieldsets.union(owned, claim)
        without(shape, new, before.fields, owned)
    difference = compare(shape, old, new)
    _yield_fields(owners, me, difference, force=force)
    owners[me.identity] = Ownership(me, fields, before.time if before else None)
    return new


def _yield_fields(owners: Owners, me: Manager | None, difference: Difference, *, force: bool) -> None:
    """Take from all others what a write has changed or removed."""
    changed = (*difference.modified, *difference.added)
    taken = {
        identity: fieldsets.common(owner.fields, changed)
        for identity, owner in owners.items()
        if me is None or identity != me.identity
    }
    if not force and any(taken.values()):
        conflicts = [
            (str(owners[identity].manager), fieldsets.spelled(path))
            for identity, paths in sorted(taken.items())
            for path in sorted(paths)
        ]
        raise ApplyConflict(conflicts)
    for identity, paths in taken.items():
        owner = owners[identity]
        owner.discard((*paths, *difference.removed))
        if not owner.fields:
            del owners[identity]


def _all_from_last_applied(shape: Shape, old: JSON, clash: ApplyConflict) -> bool:
    """Say whether all conflicts are about fields that still are as client-side apply has left them."""
    text = ((old.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text) if text else None
    except ValueError:
        return False
    if not isinstance(last, dict) or last.get("apiVersion") != old.get("apiVersion"):
        return False
    fields = fields_of(shape, last)
    difference = compare(shape, last, old)
    for path in (*difference.added, *difference.modified, *difference.removed):
        fieldsets.discard(fields, path)
    known = {fieldsets.spelled(path) for path in fieldsets.paths(fields)}
    return all(field in known for _, field in clash.conflicts)


def _refresh_last_applied(result: JSON, applied: JSON, manager: str) -> None:
    """Keep the annotation of client-side apply in step, so that people can go back to it."""
    annotations = (result.get("metadata") or {}).get("annotations") or {}
    if manager != "kubectl" or not annotations.get(LAST_APPLIED):
        return
    source = copied(applied)
    (source.get("metadata", {}).get("annotations") or {}).pop(LAST_APPLIED, None)
    annotations[LAST_APPLIED] = json.dumps(source, separators=(",", ":"), ensure_ascii=False, sort_keys=True) + "\n"


def track_update(  # noqa: PLR0917 - as above
    old: JSON | None, new: JSON, manager: str, now: str, schema: JSON | None, subresource: str = ""
) -> None:
    """Bring managedFields of `new` up to date after a create, update or patch, in place.

    Clients may send managedFields of their own; when they send none, those of `old` are kept.
    """
    meta: JSON = new.setdefault("metadata", {})
    _drop_empty(meta)
    sent = meta.pop("managedFields", None)
    stored = ((old or {}).get("metadata") or {}).get("managedFields")
    # To be rid of managedFields one sends a list of one empty entry. Custom resources take an empty list for none sent.
    if not subresource and (sent == [{}] or (sent == [] and schema is None)):
        owners: Owners = {}
    else:
        owners = (read_owners(sent) if not subresource else {}) or read_owners(stored)
    if old is not None and not owners:
        return  # nobody keeps track of this object
    shape = root_shape(schema)
    before = {name: value for name, value in (old or {}).items() if name != "metadata"}
    if old is not None:
        before["metadata"] = {name: one for name, one in old["metadata"].items() if name != "managedFields"}
    difference = compare(shape, before if old is not None else ABSENT, new)
    if difference.added or difference.modified or difference.removed:
        _yield_fields(owners, None, difference, force=True)
        me = Manager(UPDATE, manager or "unknown", str(new.get("apiVersion", "")), subresource)
        fields = _less_nobodys((*difference.added, *difference.modified))
        if fields:
            mine = owners.setdefault(me.identity, Ownership(me, {}, now))
            mine.change(fieldsets.union(mine.fields, fields), now)
        _cap(owners)
    write_owners(meta, owners)


def _cap(owners: Owners) -> None:
    """Fold the oldest writers into one, so that their list does not grow for ever."""
    updaters = sorted(
        (one for one in owners.values() if one.manager.operation == UPDATE),
        key=lambda one: (one.time or "", one.manager),
    )
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return
    for owner in updaters[: surplus + 1]:
        del owners[owner.manager.identity]
        bucket = Manager(UPDATE, ANCIENT, owner.manager.api_version, "")
        into = owners.setdefault(bucket.identity, Ownership(bucket, {}, None))
        into.change(fieldsets.union(into.fields, owner.fields), owner.time)


def _drop_empty(meta: JSON) -> None:
    """Metadata knows no empty labels, annotations, finalizers or owners: they are left out when it is stored."""
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in meta and not meta[name]:
            del meta[name]


def _less_nobodys(paths: Iterable[Path]) -> FieldSet:
    fields: FieldSet = {}
    for path in paths:
        if path not in NOBODYS:
            fieldsets.add(fields, path)
    return fields


def _check_applied(shape: Shape, applied: JSON) -> None:
    faults = sorted(_schema_faults(shape, applied, ()))
    if not faults:
        return
    meta = applied.get("metadata") or {}
    group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
    what = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {group}/{version}, Kind={applied.get('kind', '')}"
    listed = faults[0] if len(faults) == 1 else "errors:" + "".join(f"\n  {fault}" for fault in faults)
    raise ApplyError(f"failed to create typed patch object ({what}): {listed}")


def _schema_faults(shape: Shape, value: Any, path: Path) -> Iterable[str]:
    if fault := _type_fault(shape, value):
        yield f"{fieldsets.spelled(path)}: {fault}"
        return
    kind = shape.kind(value)
    if kind is Kind.MAP:
        for name, child in value.items():
            below = (*path, fieldsets.field(name))
            if shape.allows(name):
                yield from _schema_faults(shape.field(name), child, below)
            else:
                yield f"{fieldsets.spelled(below)}: field not declared in schema"
    elif kind is Kind.LIST:
        seen: set[str] = set()
        for element, item in zip(shape.identify(value), value, strict=True):
            if element in seen:
                yield f"{fieldsets.spelled(path)}: duplicate entries for key {fieldsets.spelled((element,))}"
            seen.add(element)
            yield from _schema_faults(shape.item(), item, (*path, element))
    elif type(value) is list:
        for i, item in enumerate(value):
            yield from _schema_faults(shape.item(), item, (*path, f"i:{i}"))


# Type in the schema -> the types that fit, and what is said of others. The words are Go's for a value in an interface.
_EXPECTED: Mapping[str, tuple[tuple[type, ...], Callable[[Any], str]]] = {
    "integer": ((int, float), lambda value: f"expected numeric (int or float), got {_go_type(value)}"),
    "number": ((int, float), lambda value: f"expected numeric (int or float), got {_go_type(value)}"),
    "string": ((str,), lambda value: f"expected string, got &value.valueUnstructured{{Value:{kind_of(value)}}}"),
    "boolean": ((bool,), lambda value: f"expected boolean, got &{{{value}}}"),
    "array": ((list,), lambda value: f"expected list, got &{{{value}}}"),
    "object": ((dict,), lambda value: f"expected map, got &{{{value}}}"),
}


def _type_fault(shape: Shape, value: Any) -> str:
    types = shape.schema.types if shape.schema is not None else ()
    if value is None or len(types) != 1:
        return ""
    fitting, say = _EXPECTED[types[0]]
    return "" if type(value) in fitting else say(value)


def _go_type(value: Any) -> str:
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool"}
    return names.get(type(value), "int64")


def _told(conflicts: list[tuple[str, str]]) -> str:
    if len(conflicts) == 1:
        manager, field = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {field}"
    by_manager: Mapping[str, list[str]] = {manager: [] for manager, _ in sorted(conflicts)}
    for manager, field in conflicts:
        by_manager[manager].append(field)
    lines = [
        line for one, fields in by_manager.items() for line in (f"conflicts with {one}:", *(f"- {f}" for f in fields))
    ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
