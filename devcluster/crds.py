"""CustomResourceDefinitions: one that is stored is served at once, and says so in its conditions.

All versions are stored in one form and shown with the apiVersion asked for, which is conversion strategy None; a
conversion webhook is not called.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

from devcluster import schema
from devcluster.builtin import CRDS
from devcluster.calls import Call, rfc3339
from devcluster.deletion import DeleteOptions, Deletion
from devcluster.identity import ADMIN
from devcluster.registry import Registry
from devcluster.resources import JSON, Column, Resource
from devcluster.store import Bucket, Change
from devcluster.tasks import Tasks

SUBRESOURCES = {"status"}  # scale is not served
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def resources_of(crd: JSON) -> Iterator[Resource]:
    """Yield what a CustomResourceDefinition serves, its stored version first."""
    spec = crd["spec"]
    names = spec["names"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    several = sum(bool(version.get("served")) for version in spec["versions"]) > 1
    for version in sorted(spec["versions"], key=lambda version: version["name"] != stored):
        if not version.get("served"):
            continue
        shown = f"{spec['group']}/{version['name']}"
        yield Resource(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            singular=names.get("singular") or names["kind"].lower(),
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=frozenset(version.get("subresources") or ()) & SUBRESOURCES,
            schema=_usable(version["schema"]["openAPIV3Schema"]),
            columns=tuple(_columns(version)),
            list_kind=names.get("listKind") or "",
            has_generation=True,
            custom=True,
            to_stored=partial(_with_version, f"{spec['group']}/{stored}") if several else None,
            from_stored=partial(_with_version, shown) if several and version["name"] != stored else None,
        )


def _with_version(api_version: str, obj: JSON) -> JSON:
    return obj | {"apiVersion": api_version}


def _columns(version: JSON) -> Iterator[Column]:
    for column in version.get("additionalPrinterColumns") or ():
        yield Column(
            column["name"],
            column["type"],
            column["jsonPath"],
            column.get("description", ""),
            column.get("priority", 0),
            column.get("format", ""),
        )
    if not version.get("additionalPrinterColumns"):
        yield Column("Age", "date", ".metadata.creationTimestamp")


def _usable(source: JSON) -> JSON:
    """Return the schema with what every object has, whether it is named there or not."""
    text = {"type": "string"}
    properties = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    if source.get("x-kubernetes-preserve-unknown-fields") and not source.get("properties"):
        return source
    return source | {"properties": properties | (source.get("properties") or {})}


class Definitions:
    """Follows the stored CustomResourceDefinitions and keeps the registry in step."""

    def __init__(self, registry: Registry, deletion: Deletion, tasks: Tasks) -> None:
        self._registry = registry
        self._deletion = deletion
        self._store = deletion.store
        self._tasks = tasks
        self._served: dict[str, list[Resource]] = {}
        self._store.observers.append(self._follow)

    def _follow(self, storage: str, change: Change) -> None:
        if storage != CRDS.storage:
            return
        name = change.new.name
        crd = change.new.decode()
        if change.kind == "DELETED":
            self._withdraw(name)
        elif "deletionTimestamp" in crd["metadata"]:
            if CLEANUP in (crd["metadata"].get("finalizers") or ()):
                self._tasks.start(self._clean_up(name), f"clean up {name}")
        else:
            self._serve(name, crd)
            self._tasks.soon(self._say_established, name)

    def _serve(self, name: str, crd: JSON) -> None:
        """Serve the versions of a definition in place of those that it had."""
        before = self._served.get(name, [])
        after = list(resources_of(crd))
        if [(r.schema, r.columns, r.subresources, r.version) for r in before] == [
            (r.schema, r.columns, r.subresources, r.version) for r in after
        ]:
            return
        for resource in before:
            self._registry.remove(resource)
        for resource in after:
            self._registry.add(resource)
        self._served[name] = after
        if before and after and after[0].schema != before[0].schema:
            self._store.rewrite(after[0].storage, partial(_reread, after[0].schema or {}))

    def _say_established(self, name: str) -> None:
        """Write the conditions, and the finalizer that lets us clean up."""
        stored = self._store.get(CRDS.storage, "", name)
        if stored is None:
            return
        crd = stored.decode()
        meta, spec = crd["metadata"], crd["spec"]
        if "deletionTimestamp" in meta:
            return
        status = crd.get("status") or {}
        names = spec["names"]
        accepted = {
            "singular": names.get("singular") or names["kind"].lower(),
            "listKind": names.get("listKind") or f"{names['kind']}List",
        } | names
        since = rfc3339(self._deletion.objects.now())
        wanted = [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", since),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", since),
        ]
        storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
        crd["status"] = {
            "conditions": status.get("conditions") or wanted,
            "acceptedNames": accepted,
            "storedVersions": list(dict.fromkeys([*(status.get("storedVersions") or ()), storage])),
        }
        finalizers = meta.get("finalizers") or []
        if CLEANUP not in finalizers:
            meta["finalizers"] = [*finalizers, CLEANUP]
        self._store.put(CRDS.storage, crd, stored)

    async def _clean_up(self, name: str) -> None:
        """Delete all objects of a vanishing definition, and then let it go."""
        call = Call(ADMIN)
        for resource in self._served.get(name, [])[:1]:
            bucket = self._store.bucket(resource.storage)
            keys = list(bucket.sorted_keys())
            await self._deletion.delete_collection(call, resource, keys, DeleteOptions(), asked=False)
            await _until_empty(bucket)
        while (stored := self._store.get(CRDS.storage, "", name)) is not None:
            crd = stored.decode()
            held = [finalizer for finalizer in crd["metadata"].get("finalizers") or () if finalizer != CLEANUP]
            if not held:
                self._store.remove(CRDS.storage, stored)
                return
            crd["metadata"]["finalizers"] = held
            self._store.put(CRDS.storage, crd, stored)
            return

    def _withdraw(self, name: str) -> None:
        for resource in self._served.pop(name, []):
            self._registry.remove(resource)
            self._store.close(resource.storage)


async def _until_empty(bucket: Bucket) -> None:
    """Wait until the finalizers of the last object are done."""
    wakeup = asyncio.Event()
    bucket.waiting.add(wakeup)
    try:
        while bucket.objects:
            await wakeup.wait()
            wakeup.clear()
    finally:
        bucket.waiting.discard(wakeup)


def _reread(source: JSON, obj: JSON) -> JSON:
    """Return a stored object as the present schema shows it: a real server prunes and defaults whenever it reads."""
    schema.prune(source, obj)
    schema.apply_defaults(source, obj)
    return obj


def _condition(kind: str, reason: str, message: str, since: str) -> JSON:
    return {"type": kind, "status": "True", "lastTransitionTime": since, "reason": reason, "message": message}
