"""The namespace controller: empties a namespace that is being deleted, and then lets it go.

As the real one it deletes each resource as a collection, as
`system:serviceaccount:kube-system:namespace-controller`, and says in the namespace's conditions what still holds it up.
"""

import asyncio
from collections import Counter

from devcluster.calls import Call, rfc3339
from devcluster.deletion import DeleteOptions, Deletion
from devcluster.errors import StatusError
from devcluster.identity import ADMIN, NAMESPACE_CONTROLLER
from devcluster.registry import Registry
from devcluster.resources import JSON, Resource
from devcluster.store import Change
from devcluster.strategies import NAMESPACE_FINALIZER
from devcluster.tasks import Tasks

FIRST_RETRY, LONGEST_RETRY = 0.05, 2.0  # seconds
STORAGE = "namespaces"


class NamespaceController:
    """Follows the namespaces."""

    def __init__(self, registry: Registry, deletion: Deletion, tasks: Tasks) -> None:
        self._registry = registry
        self._deletion = deletion
        self._objects = deletion.objects
        self._store = deletion.store
        self._tasks = tasks
        self._emptying: set[str] = set()
        self._store.observers.append(self._follow)

    def _follow(self, storage: str, change: Change) -> None:
        if storage != STORAGE or change.kind == "DELETED":
            return
        name = change.new.name
        if change.kind == "ADDED":
            self._tasks.start(self._add_default_account(name), f"default ServiceAccount of {name}")
        if name not in self._emptying and b'"deletionTimestamp"' in change.new.raw:
            self._emptying.add(name)
            self._tasks.start(self._empty(name), f"empty namespace {name}")

    async def _add_default_account(self, namespace: str) -> None:
        accounts = self._registry.find("", "v1", "serviceaccounts")
        if accounts is None:
            return
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        try:
            await self._objects.create(Call(ADMIN, manager="kube-controller-manager"), accounts, namespace, account)
        except StatusError as error:
            if error.code not in {403, 404, 409}:
                raise

    async def _empty(self, namespace: str) -> None:
        """Delete everything in it, again and again until nothing is left, then take our finalizer off."""
        delay = FIRST_RETRY
        try:
            while self._store.get(STORAGE, "", namespace) is not None:
                refusals = await self._delete_content(namespace)
                left = self._left(namespace)
                self._tell(namespace, refusals, left)
                if not left:
                    self._finalize(namespace)
                    return
                await asyncio.sleep(delay)
                delay = min(delay * 2, LONGEST_RETRY)
        finally:
            self._emptying.discard(namespace)

    async def _delete_content(self, namespace: str) -> list[str]:
        refusals = []
        for resource in self._deletable():
            keys = list(self._store.bucket(resource.storage).sorted_keys(namespace))
            if not keys:
                continue
            options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"}
            call = Call(NAMESPACE_CONTROLLER, manager="kube-controller-manager", options=options)
            try:
                await self._deletion.delete_collection(call, resource, keys, DeleteOptions("Background"))
            except StatusError as error:
                refusals.append(str(error))
        return refusals

    def _deletable(self) -> list[Resource]:
        return [r for r in self._registry.buckets() if r.namespaced and "deletecollection" in r.verbs]

    def _left(self, namespace: str) -> list[tuple[Resource, JSON]]:
        return [
            (resource, self._store.bucket(resource.storage).objects[key].decode())
            for resource in self._deletable()
            for key in self._store.bucket(resource.storage).sorted_keys(namespace)
        ]

    def _tell(self, namespace: str, refusals: list[str], left: list[tuple[Resource, JSON]]) -> None:
        """Write the conditions that say why the namespace is still there."""
        stored = self._store.get(STORAGE, "", namespace)
        if stored is None:
            return
        remaining = Counter(resource.qualified for resource, _ in left)
        finalizers = Counter(name for _, obj in left for name in obj["metadata"].get("finalizers") or ())
        conditions = [
            ("NamespaceDeletionContentFailure", "ContentDeletionFailed", "; ".join(refusals)),
            ("NamespaceContentRemaining", "SomeResourcesRemain", _remaining(remaining)),
            ("NamespaceFinalizersRemaining", "SomeFinalizersRemain", _finalizers(finalizers)),
        ]
        obj = stored.decode()
        before = {c["type"]: c for c in obj["status"].get("conditions") or ()}
        now = rfc3339(self._objects.now())
        obj["status"]["conditions"] = [
            _condition(kind, reason, message, before.get(kind), now) for kind, reason, message in conditions
        ]
        self._store.put(STORAGE, obj, stored)

    def _finalize(self, namespace: str) -> None:
        stored = self._store.get(STORAGE, "", namespace)
        if stored is None:
            return
        obj = stored.decode()
        kept = [name for name in obj["spec"].get("finalizers") or () if name != NAMESPACE_FINALIZER]
        if not kept and not obj["metadata"].get("finalizers"):
            self._store.remove(STORAGE, stored)
            return
        obj["spec"]["finalizers"] = kept
        self._store.put(STORAGE, obj, stored)


def _remaining(counts: Counter[str]) -> str:
    if not counts:
        return ""
    listed = ", ".join(f"{name} has {number} resource instances" for name, number in sorted(counts.items()))
    return f"Some resources are remaining: {listed}"


def _finalizers(counts: Counter[str]) -> str:
    if not counts:
        return ""
    listed = ", ".join(f"{name} in {number} resource instances" for name, number in sorted(counts.items()))
    return f"Some content in the namespace has finalizers remaining: {listed}"


def _condition(kind: str, reason: str, message: str, before: JSON | None, now: str) -> JSON:
    status = "True" if message else "False"
    since = before["lastTransitionTime"] if before and before["status"] == status else now
    calm = (
        ("ContentDeleted", "All content successfully deleted")
        if "Deletion" in kind
        else ("ContentRemoved", "All content successfully removed")
    )
    said = {"reason": reason, "message": message} if message else {"reason": calm[0], "message": calm[1]}
    return {"type": kind, "status": status, "lastTransitionTime": since} | said
