"""What the API server keeps: objects, one resource version for all of them, and the history of every change.

Truth itself, without network, lag or faults. Objects are never changed in place, so everybody may keep what they saw.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from devcluster.patches import PatchError, apply_patch
from shared.api.meta import Key
from shared.api.names import BATCH_API_VERSION, FLOW_API_VERSION

Object = dict[str, Any]

KINDS = {
    "jobflows": (FLOW_API_VERSION, "JobFlow"),
    "jobtemplates": (FLOW_API_VERSION, "JobTemplate"),
    "jobs": (BATCH_API_VERSION, "Job"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
    "events": ("events.k8s.io/v1", "Event"),
}
WITH_STATUS = {"jobflows", "jobtemplates", "jobs"}
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


VOLCANOS: Final = {
    "pendingJobs",
    "runningJobs",
    "failedJobs",
    "completedJobs",
    "terminatedJobs",
    "unKnowJobs",
    "jobStatusList",
    "conditions",
    "state",
}
"""The fields of a JobFlow's status in Volcano's CRD; of `state` it is the phase alone."""


class Refusal(Exception):
    """The API server's no."""

    def __init__(self, status: int, reason: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after


class Change(NamedTuple):
    """One step of the history."""

    version: int
    resource: str
    kind: str
    """ADDED, MODIFIED, DELETED."""
    old: Object | None
    new: Object
    """The object after the change; what it was last, with a new resource version, if it was deleted."""
    body: bytes
    by: str


class Store:
    """The objects. `now` tells the time of day as the API server writes it.

    With `volcanos_crd` the status of a JobFlow keeps what Volcano's own CRD knows, and the rest is pruned.
    """

    def __init__(self, now: Callable[[], str], *, volcanos_crd: bool = False) -> None:
        self.now = now
        self.volcanos_crd = volcanos_crd
        self.version = 100
        self.objects: dict[str, dict[Key, Object]] = {resource: {} for resource in KINDS}
        self.bodies: dict[tuple[str, str], bytes] = {}
        """Every object ever stored, by resource and resource version."""
        self.history: list[Change] = []
        self.watchers: list[Callable[[Change], None]] = []

    def get(self, resource: str, key: Key) -> Object:
        """The object. Raises Refusal."""
        found = self.objects[resource].get(key)
        if found is None:
            raise Refusal(404, "NotFound", f'{resource} "{key.name}" not found')
        return found

    def find(self, resource: str, uid: str) -> Object | None:
        """The object of that uid, whatever it is called."""
        return next((it for it in self.objects[resource].values() if it["metadata"]["uid"] == uid), None)

    def as_of(self, version: int) -> dict[str, dict[Key, Object]]:
        """The objects as they were at that version."""
        past: dict[str, dict[Key, Object]] = {resource: {} for resource in KINDS}
        for change in self.history:
            if change.version > version:
                break
            if change.kind == "DELETED":
                past[change.resource].pop(key_of(change.new), None)
            else:
                past[change.resource][key_of(change.new)] = change.new
        return past

    def create(self, resource: str, body: Object, by: str) -> Object:
        """Store a new object. Raises Refusal."""
        given = body["metadata"]
        name = given.get("name") or f"{given['generateName']}{self.version + 1}"
        key = Key(given["namespace"], name)
        if key in self.objects[resource]:
            raise Refusal(409, "AlreadyExists", f'{resource} "{name}" already exists')
        metadata = {
            **given,
            "name": name,
            "uid": f"{KINDS[resource][1].lower()}-{self.version + 1}",
            "generation": 1,
            "creationTimestamp": self.now(),
        }
        api_version, kind = KINDS[resource]
        obj = {**body, "apiVersion": api_version, "kind": kind, "metadata": metadata}
        if resource in WITH_STATUS:
            obj.pop("status", None)
        return self._commit(resource, "ADDED", None, obj, by)

    def patch(self, resource: str, key: Key, patch: Any, *, content_type: str, subresource: str, by: str) -> Object:
        """Change what the patch says. Raises Refusal, Conflict for an old resourceVersion among it."""
        old = self.get(resource, key)
        try:
            wanted = apply_patch(content_type, old, patch)
        except PatchError as wrong:
            raise Refusal(wrong.code, wrong.reason, wrong.message) from None
        return self.update(resource, key, wanted, subresource, by)

    def update(self, resource: str, key: Key, wanted: Object, subresource: str, by: str) -> Object:
        """Put `wanted` in the object's place, the status alone or all but the status. Raises Refusal."""
        old = self.get(resource, key)
        version = wanted["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise Refusal(
                409, "Conflict", "the object has been modified; please apply your changes to the latest version"
            )
        if wanted["metadata"].get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise Refusal(409, "Conflict", "Precondition failed: UID in precondition differs")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise Refusal(409, "Conflict", "Precondition failed: ResourceVersion in precondition differs")
        if subresource == "status":
            status = wanted.get("status", {})
            new = {**old, "status": _pruned(status) if self.volcanos_crd and resource == "jobflows" else status}
        else:
            new = {**wanted}
            if resource in WITH_STATUS:
                new.pop("status", None)
                if "status" in old:
                    new["status"] = old["status"]
            changed = new.get("spec") != old.get("spec")
            kept = {part: old["metadata"][part] for part in ("uid", "name", "namespace", "creationTimestamp")}
            generation = old["metadata"]["generation"] + changed
            new["metadata"] = {**wanted["metadata"], **kept, "generation": generation}
            if "deletionTimestamp" in old["metadata"]:
                new["metadata"]["deletionTimestamp"] = old["metadata"]["deletionTimestamp"]
                if not new["metadata"].get("finalizers"):
                    return self._commit(resource, "DELETED", old, new, by)
        if new == old:
            return old  # nothing is written, and no watch hears of it
        return self._commit(resource, "MODIFIED", old, new, by)

    def delete(
        self,
        resource: str,
        key: Key,
        by: str,
        *,
        uid: str | None = None,
        version: str | None = None,
        propagation: str = "",
    ) -> Object:
        """Delete the object, or mark it for deletion where finalizers hold it. Raises Refusal."""
        old = self.get(resource, key)
        if uid is not None and uid != old["metadata"]["uid"]:
            raise Refusal(409, "Conflict", "Precondition failed: UID in precondition differs")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise Refusal(409, "Conflict", "Precondition failed: ResourceVersion in precondition differs")
        finalizers = list(old["metadata"].get("finalizers", ()))
        extra = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
        if extra and extra not in finalizers:
            finalizers.append(extra)
        if not finalizers:
            return self._commit(resource, "DELETED", old, old, by)
        if "deletionTimestamp" in old["metadata"]:
            return old
        generation = old["metadata"]["generation"] + 1  # as the API server counts the mark
        marks = {"deletionTimestamp": self.now(), "finalizers": finalizers, "generation": generation}
        return self._commit(resource, "MODIFIED", old, {**old, "metadata": {**old["metadata"], **marks}}, by)

    def _commit(self, resource: str, kind: str, old: Object | None, new: Object, by: str) -> Object:
        self.version += 1
        version = str(self.version)
        stored = {**new, "metadata": {**new["metadata"], "resourceVersion": version}}
        key = key_of(stored)
        if kind == "DELETED":
            del self.objects[resource][key]
        else:
            self.objects[resource][key] = stored
        body = self.bodies[resource, version] = msgspec.json.encode(stored)
        change = Change(self.version, resource, kind, old, stored, body, by)
        self.history.append(change)
        for watcher in self.watchers:
            watcher(change)
        return stored


def key_of(obj: Object) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def owner_of(obj: Object) -> Object | None:
    """The controlling ownerReference."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def owner_uid(obj: Object) -> str:
    owner = owner_of(obj)
    return str(owner["uid"]) if owner else ""


def phase_of(obj: Object) -> str:
    """`status.state.phase`."""
    return str(((obj.get("status") or {}).get("state") or {}).get("phase") or "")


def is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def children(store: Store, uid: str) -> Iterator[Object]:
    """Jobs with that owner."""
    return (job for job in list(store.objects["jobs"].values()) if owner_uid(job) == uid)


def _pruned(status: Object) -> Object:
    kept = {field: value for field, value in status.items() if field in VOLCANOS}
    if "state" in kept:
        kept["state"] = {field: value for field, value in kept["state"].items() if field == "phase"}
    return kept
