"""Deleting objects: preconditions, propagation policies, finalizers.

A delete either removes an object at once, or marks it and leaves it to whoever holds its finalizers. What becomes of
its dependents is the garbage collector's matter (`garbage.py`), which is told by the finalizers set here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devcluster import causes
from devcluster.calls import Call, Review, rfc3339, view
from devcluster.errors import StatusError, conflict, forbidden, invalid_options, not_found
from devcluster.objects import Objects, is_released
from devcluster.resources import JSON, Resource
from devcluster.store import Key, Stale, Stored, as_stored
from devcluster.strategies import PERMANENT_NAMESPACES

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What may be asked of a delete."""

    policy: str = ""  # Orphan, Background, Foreground; as the object's finalizers say when empty
    uid: str = ""  # preconditions
    version: str = ""


def read_options(body: JSON, query: Mapping[str, str]) -> DeleteOptions:
    """Read DeleteOptions from the body and the query, which speaks for what the body leaves out."""
    preconditions = body.get("preconditions") or {}
    policy = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
    orphan = body.get("orphanDependents", {"true": True, "false": False}.get(query.get("orphanDependents", "")))
    if policy and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        raise invalid_options("DeleteOptions", [causes.invalid("propagationPolicy", policy, detail)])
    if policy and policy not in POLICIES:
        raise invalid_options("DeleteOptions", [causes.unsupported("propagationPolicy", policy, (*POLICIES, "nil"))])
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(policy, preconditions.get("uid") or "", preconditions.get("resourceVersion") or "")


class Deletion:
    """The deleting half of the API."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.store = objects.store

    async def delete(
        self,
        call: Call,
        resource: Resource,
        key: Key,
        options: DeleteOptions,
        *,
        in_collection: bool = False,
        asked: bool = True,
    ) -> tuple[Stored, bool]:
        """Delete one object; return its last state, and whether it is gone.

        `asked` is False for deletes that no webhook is asked about: those of a vanishing CustomResourceDefinition.
        """
        while True:
            old = self.store.get(resource.storage, *key)
            if old is None:
                raise not_found(resource, key[1])
            before = old.decode()
            _check_preconditions(resource, before["metadata"], options)
            _check_permanent(resource, before)
            if asked:
                name = "" if in_collection else key[1]
                await self.objects.admission.review(
                    call, Review("DELETE", resource, key[0], name, "", None, view(resource, before))
                )
            marked = self._mark(before, options)
            if call.dry_run:
                return as_stored(marked, old.version), is_released(marked)
            try:
                if is_released(marked):
                    return self.store.remove(resource.storage, old), True
                return self.store.put(resource.storage, marked, old), False
            except Stale:
                continue

    async def delete_collection(
        self, call: Call, resource: Resource, keys: Iterable[Key], options: DeleteOptions, *, asked: bool = True
    ) -> None:
        """Delete objects one after the other; the first that is refused ends it."""
        for key in keys:
            try:
                await self.delete(call, resource, key, options, in_collection=True, asked=asked)
            except StatusError as error:
                if error.code != 404:
                    raise

    def _mark(self, before: JSON, options: DeleteOptions) -> JSON:
        """Return `before` as it is once it is being deleted."""
        marked = dict(before)
        meta = marked["metadata"] = dict(before["metadata"])
        finalizers = _finalizers(meta.get("finalizers") or [], options.policy)
        meta.pop("finalizers", None)
        if finalizers:
            meta["finalizers"] = finalizers
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = rfc3339(self.objects.now())
            meta["deletionGracePeriodSeconds"] = 0
            if "generation" in meta:
                meta["generation"] += 1
        if marked.get("kind") == "Namespace":
            meta.pop("deletionGracePeriodSeconds", None)
            marked["status"] = (before.get("status") or {}) | {"phase": "Terminating"}
        return marked


def _finalizers(existing: list[str], policy: str) -> list[str]:
    """Return the finalizers of an object that is deleted by this policy; without one, as they stand."""
    if not policy:
        return existing
    kept = [name for name in existing if name not in {ORPHAN, FOREGROUND}]
    return kept + {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])


def _check_preconditions(resource: Resource, meta: JSON, options: DeleteOptions) -> None:
    uid, version = meta["uid"], meta["resourceVersion"]
    if options.uid and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource, meta["name"], why, kind=resource.kind)
    if options.version and options.version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({version}). The object might have been modified"
        )
        raise conflict(resource, meta["name"], why, kind=resource.kind)


def _check_permanent(resource: Resource, before: JSON) -> None:
    if resource.storage != "namespaces":
        return
    name = before["metadata"]["name"]
    if name in PERMANENT_NAMESPACES:
        raise forbidden(resource, name, "this namespace may not be deleted")
    if "deletionTimestamp" in before["metadata"] and (before.get("spec") or {}).get("finalizers"):
        why = (
            "The system is ensuring all content is removed from this namespace.  Upon completion, "
            "this namespace will automatically be purged by the system."
        )
        raise conflict(resource, name, why)
