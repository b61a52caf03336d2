"""The objects, in memory, and what happened to them.

One counter gives every write its resourceVersion. What lies here is JSON text, as it goes over the wire, with just the
facts beside it that lists, watches and the garbage collector ask for; whoever wants to change an object decodes a copy
of its own. A store is used by one event loop only, so that each call is one transaction.
"""

import asyncio
import bisect
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from devcluster.resources import JSON

Key = tuple[str, str]  # namespace ('' for what has none) and name
Kind = Literal["ADDED", "MODIFIED", "DELETED"]

KEEP_CHANGES = 20_000  # of each bucket
KEEP_BYTES = 128 << 20


LARGEST_OBJECT = 1536 * 1024  # bytes: what etcd takes in one request


class TooLarge(Exception):
    """The object has more bytes than etcd would take."""


class Stale(Exception):
    """The object is no longer what the writer has read."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One object in one version."""

    namespace: str
    name: str
    uid: str
    version: int
    raw: bytes
    labels: dict[str, str]
    owners: tuple[str, ...]  # uids

    @property
    def key(self) -> Key:
        """Return what is unique among the objects of a bucket."""
        return (self.namespace, self.name)

    def decode(self) -> JSON:
        """Return the object as a dict of the caller's own."""
        obj: JSON = msgspec.json.decode(self.raw)
        return obj


@dataclass(frozen=True, slots=True)
class Change:
    """One write. `new` of a DELETED has the last state with the version of the deletion."""

    kind: Kind
    new: Stored
    old: Stored | None

    @property
    def version(self) -> int:
        """Return the resourceVersion that this write has made."""
        return self.new.version


@dataclass(slots=True)
class Bucket:
    """All objects that are stored in one place, and their latest changes."""

    objects: dict[Key, Stored] = field(default_factory=dict)
    changes: deque[Change] = field(default_factory=deque)
    dropped: int = 0  # how many changes are forgotten; the first one kept has this number
    floor: int = 0  # nothing can be said about versions before this one
    bytes_kept: int = 0
    closed: bool = False  # the resource is no longer served
    waiting: set[asyncio.Event] = field(default_factory=set)
    _sorted: list[Key] | None = None

    def sorted_keys(self, namespace: str = "") -> Sequence[Key]:
        """Return the keys of `namespace`, or all, in order."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        if not namespace:
            return self._sorted
        low = bisect.bisect_left(self._sorted, (namespace, ""))
        return self._sorted[low : bisect.bisect_left(self._sorted, (namespace + "\0", ""))]

    def since(self, number: int) -> Iterator[Change]:
        """Yield the changes from the one with this number on."""
        for i in range(max(0, number - self.dropped), len(self.changes)):
            yield self.changes[i]

    def next_number(self) -> int:
        """Return the number that the next change will have."""
        return self.dropped + len(self.changes)

    def first_after(self, version: int) -> int:
        """Return the number of the first change that is younger than `version`."""
        newer = 0
        for change in reversed(self.changes):
            if change.version <= version:
                break
            newer += 1
        return self.next_number() - newer

    def snapshot(self, version: int) -> dict[Key, Stored]:
        """Return the objects as they were at `version`, which must not be below the floor."""
        then = dict(self.objects)
        for change in reversed(self.changes):
            if change.version <= version:
                break
            if change.old is None:
                then.pop(change.new.key, None)
            else:
                then[change.new.key] = change.old
        return then

    def record(self, change: Change) -> None:
        """Take a change and wake who waits for one."""
        key = change.new.key
        if change.kind == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = change.new
        if change.kind != "MODIFIED":
            self._sorted = None
        self.changes.append(change)
        self.bytes_kept += len(change.new.raw)
        while len(self.changes) > KEEP_CHANGES or self.bytes_kept > KEEP_BYTES:
            self._forget_first()
        self.wake()

    def forget(self, version: int) -> None:
        """Forget all changes up to `version`."""
        while self.changes and self.changes[0].version <= version:
            self._forget_first()
        self.floor = max(self.floor, version)

    def _forget_first(self) -> None:
        change = self.changes.popleft()
        self.dropped += 1
        self.floor = change.version
        self.bytes_kept -= len(change.new.raw)

    def wake(self) -> None:
        """Wake every watch."""
        for event in self.waiting:
            event.set()


Observer = Callable[[str, Change], None]


class Store:
    """All buckets, one counter of versions, and who wants to know of every change."""

    def __init__(self) -> None:
        self.version = 1
        self.observers: list[Observer] = []
        self._buckets: dict[str, Bucket] = {}
        self._dependents: dict[str, set[tuple[str, Key]]] = {}
        self._uids: dict[str, tuple[str, Key]] = {}

    def bucket(self, storage: str) -> Bucket:
        """Return the bucket of that name, an empty one at first."""
        found = self._buckets.get(storage)
        if found is None:
            found = self._buckets[storage] = Bucket()
        return found

    def close(self, storage: str) -> None:
        """End every watch of a bucket and forget it."""
        bucket = self._buckets.pop(storage, None)
        if bucket is not None:
            bucket.closed = True
            bucket.wake()

    def get(self, storage: str, namespace: str, name: str) -> Stored | None:
        """Return the object of that name as it is now."""
        return self.bucket(storage).objects.get((namespace, name))

    def by_uid(self, uid: str) -> tuple[str, Stored] | None:
        """Return the bucket and the object of that uid, wherever it lies."""
        where = self._uids.get(uid)
        if where is None:
            return None
        return where[0], self.bucket(where[0]).objects[where[1]]

    def dependents(self, uid: str) -> list[tuple[str, Key]]:
        """Return where the objects lie whose ownerReferences name this uid."""
        return sorted(self._dependents.get(uid, ()))

    def put(self, storage: str, obj: JSON, old: Stored | None) -> Stored:
        """Write `obj` over `old`; None creates it. What does not differ is not written.

        The dict belongs to the store from now on: its resourceVersion is set. Raises Stale unless `old` is what lies
        there now, and TooLarge.
        """
        meta = obj["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        bucket = self.bucket(storage)
        if bucket.objects.get(key) is not old:
            raise Stale
        if old is not None:
            meta["resourceVersion"] = str(old.version)
            if obj == old.decode():
                return old
        meta["resourceVersion"] = str(self.version + 1)
        new = as_stored(obj, self.version + 1)
        if len(new.raw) > LARGEST_OBJECT:
            raise TooLarge
        self.version = new.version
        self._commit(storage, bucket, Change("MODIFIED" if old else "ADDED", new, old))
        return new

    def remove(self, storage: str, old: Stored) -> Stored:
        """Delete `old`, and return its last state with the version of the deletion. Raises Stale as `put` does."""
        bucket = self.bucket(storage)
        if bucket.objects.get(old.key) is not old:
            raise Stale
        obj = old.decode()
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        last = as_stored(obj, self.version)
        self._commit(storage, bucket, Change("DELETED", last, old))
        return last

    def rewrite(self, storage: str, change: Callable[[JSON], JSON]) -> None:
        """Change how stored objects read without a write, as defaults of a new schema do."""
        bucket = self.bucket(storage)
        for key, old in list(bucket.objects.items()):
            bucket.objects[key] = as_stored(change(old.decode()), old.version)

    def compact(self, version: int | None = None) -> None:
        """Forget the changes up to `version`, or all: who wants to watch from there is answered 410."""
        for bucket in self._buckets.values():
            bucket.forget(self.version if version is None else version)

    def _commit(self, storage: str, bucket: Bucket, change: Change) -> None:
        place = (storage, change.new.key)
        if change.old is not None:
            for uid in change.old.owners:
                self._dependents[uid].discard(place)
                if not self._dependents[uid]:
                    del self._dependents[uid]
        if change.kind == "DELETED":
            self._uids.pop(change.new.uid, None)
        else:
            self._uids[change.new.uid] = place
            for uid in change.new.owners:
                self._dependents.setdefault(uid, set()).add(place)
        bucket.record(change)
        for observer in self.observers:
            observer(storage, change)


def as_stored(obj: JSON, version: int) -> Stored:
    """Return an object as it is kept."""
    meta = obj["metadata"]
    owners = tuple(dict.fromkeys(owner.get("uid", "") for owner in meta.get("ownerReferences") or ()))
    return Stored(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        version=version,
        raw=msgspec.json.encode(obj),
        labels=meta.get("labels") or {},
        owners=owners,
    )
