"""The garbage collector: what becomes of objects whose owners go.

After `k8s.io/kubernetes/pkg/controller/garbagecollector`: an object goes once no owner of its is left (background); an
owner that is deleted in the foreground waits for the dependents that block it; one whose dependents are to be orphaned
waits until they have forgotten it. Owners are known by uid. It writes as the real one does, through admission, as
`system:serviceaccount:kube-system:generic-garbage-collector`, so that webhooks see it, and tries again when refused.
"""

import asyncio
from collections import deque

from devcluster.calls import Call, Target
from devcluster.deletion import FOREGROUND, ORPHAN, DeleteOptions, Deletion
from devcluster.errors import StatusError
from devcluster.identity import GARBAGE_COLLECTOR
from devcluster.patches import MERGE_PATCH
from devcluster.registry import Registry
from devcluster.resources import JSON
from devcluster.store import Change, Key, Stored

FIRST_RETRY, LONGEST_RETRY = 0.05, 10.0  # seconds

Place = tuple[str, Key]  # storage and key


class GarbageCollector:
    """Follows all writes and cleans up behind them."""

    def __init__(self, registry: Registry, deletion: Deletion) -> None:
        self._registry = registry
        self._deletion = deletion
        self._objects = deletion.objects
        self._store = deletion.store
        self._queue: deque[Place] = deque()
        self._queued: set[Place] = set()
        self._retries: dict[Place, int] = {}
        self._wakeup = asyncio.Event()
        self._store.observers.append(self._follow)

    async def run(self) -> None:
        """Work off what has been seen, for ever."""
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._queue:
                place = self._queue.popleft()
                self._queued.discard(place)
                await self._try(place)

    def _follow(self, storage: str, change: Change) -> None:
        if change.kind == "DELETED":
            for place in self._store.dependents(change.new.uid):
                self._add(place)
            for uid in change.new.owners:
                self._add_owner(uid)
            return
        if change.new.owners or b'"deletionTimestamp"' in change.new.raw:
            self._add((storage, change.new.key))
        for uid in change.old.owners if change.old else ():
            self._add_owner(uid)

    def _add_owner(self, uid: str) -> None:
        """Look again at an owner that may be waiting for this dependent."""
        owner = self._store.by_uid(uid)
        if owner is not None and b'"deletionTimestamp"' in owner[1].raw:
            self._add((owner[0], owner[1].key))

    def _add(self, place: Place) -> None:
        if place not in self._queued:
            self._queued.add(place)
            self._queue.append(place)
            self._wakeup.set()

    async def _try(self, place: Place) -> None:
        try:
            await self._look_at(*place)
        except StatusError as error:
            if error.code == 404:
                return
            tries = self._retries[place] = self._retries.get(place, 0) + 1
            delay = min(FIRST_RETRY * 2 ** (tries - 1), LONGEST_RETRY)
            asyncio.get_running_loop().call_later(delay, self._add, place)
        else:
            self._retries.pop(place, None)

    async def _look_at(self, storage: str, key: Key) -> None:
        stored = self._store.get(storage, *key)
        if stored is None:
            return
        obj = stored.decode()
        finalizers = obj["metadata"].get("finalizers") or ()
        if "deletionTimestamp" in obj["metadata"]:
            if ORPHAN in finalizers:
                await self._orphan(storage, stored)
            elif FOREGROUND in finalizers:
                await self._wait_for_dependents(storage, stored)
            return
        if stored.owners:
            await self._judge(storage, stored, obj)

    async def _judge(self, storage: str, stored: Stored, obj: JSON) -> None:
        """Delete an object whose owners are all gone or waiting for it; drop references to those that are gone."""
        solid, waiting, gone = [], [], []
        for reference in obj["metadata"]["ownerReferences"]:
            owner = self._store.by_uid(reference.get("uid", ""))
            if owner is None or not _is_named(owner[1], reference, stored):
                gone.append(reference)
            elif _waits_for_dependents(owner[1]):
                waiting.append(reference)
            else:
                solid.append(reference)
        if not gone and not waiting:
            return
        if solid:
            await self._patch(storage, stored, {"ownerReferences": solid})
            return
        policy = "Foreground" if waiting and self._store.dependents(stored.uid) else ""
        finalizers = obj["metadata"].get("finalizers") or ()
        if not policy:
            policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        await self._delete(storage, stored, policy)

    async def _orphan(self, storage: str, owner: Stored) -> None:
        """Let the dependents forget their owner, then let it go."""
        for place, key in self._store.dependents(owner.uid):
            dependent = self._store.get(place, *key)
            if dependent is not None:
                references = dependent.decode()["metadata"]["ownerReferences"]
                kept = [reference for reference in references if reference.get("uid") != owner.uid]
                await self._patch(place, dependent, {"ownerReferences": kept or None})
        await self._release(storage, owner, ORPHAN)

    async def _wait_for_dependents(self, storage: str, owner: Stored) -> None:
        """Have the dependents deleted; let the owner go once none is left that blocks it."""
        blocked = False
        for place, key in self._store.dependents(owner.uid):
            dependent = self._store.get(place, *key)
            if dependent is None:
                continue
            obj = dependent.decode()
            mine = [ref for ref in obj["metadata"]["ownerReferences"] if ref.get("uid") == owner.uid]
            blocked = blocked or any(ref.get("blockOwnerDeletion") for ref in mine)
            if "deletionTimestamp" not in obj["metadata"]:
                self._add((place, key))
        if not blocked:
            await self._release(storage, owner, FOREGROUND)

    async def _release(self, storage: str, owner: Stored, finalizer: str) -> None:
        current = self._store.get(storage, *owner.key)
        if current is not None and current.uid == owner.uid:
            finalizers = current.decode()["metadata"].get("finalizers") or []
            kept = [name for name in finalizers if name != finalizer]
            await self._patch(storage, current, {"finalizers": kept or None})

    async def _patch(self, storage: str, stored: Stored, meta: JSON) -> None:
        resource = self._registry.stored_at(storage)
        if resource is not None:
            body = {"metadata": meta | {"uid": stored.uid, "resourceVersion": str(stored.version)}}
            call = Call(GARBAGE_COLLECTOR, manager="kube-controller-manager", options=_options("PatchOptions"))
            await self._objects.patch(call, Target(resource, *stored.key), MERGE_PATCH, body)

    async def _delete(self, storage: str, stored: Stored, policy: str) -> None:
        resource = self._registry.stored_at(storage)
        if resource is not None:
            wanted = DeleteOptions(policy, stored.uid, str(stored.version))
            preconditions = {"uid": stored.uid, "resourceVersion": str(stored.version)}
            options = _options("DeleteOptions") | {"preconditions": preconditions, "propagationPolicy": policy}
            call = Call(GARBAGE_COLLECTOR, manager="kube-controller-manager", options=options)
            await self._deletion.delete(call, resource, stored.key, wanted)


def _options(kind: str) -> JSON:
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1"}


def _is_named(owner: Stored, reference: JSON, dependent: Stored) -> bool:
    """Say whether an owner is what the reference names, and lies where an owner may lie."""
    return owner.name == reference.get("name") and owner.namespace in {"", dependent.namespace}


def _waits_for_dependents(owner: Stored) -> bool:
    if b'"deletionTimestamp"' not in owner.raw:
        return False
    meta = owner.decode()["metadata"]
    return "deletionTimestamp" in meta and FOREGROUND in (meta.get("finalizers") or ())
