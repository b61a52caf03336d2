"""WATCH: a stream of changes from a version on, beside the history that `store.py` keeps.

Every watch reads the same history from its own place in it; nothing is queued for it. One that falls behind what is
kept is told 410 and ends, as one that begins there is.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from devcluster import causes
from devcluster.errors import StatusError, invalid_options, too_old
from devcluster.listing import read_number, read_version
from devcluster.selection import Selector
from devcluster.store import Bucket, Change, Store, Stored, as_stored
from devcluster.views import View, encode

CHUNK = 256 * 1024  # bytes of events that go out at once
FIRST_BOOKMARK_BEFORE_END = 2.0


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What may be asked of a watch."""

    version: int | None
    bookmarks: bool
    initial: bool  # begin with what there is
    ends_initial: bool  # and say where that ends
    timeout: float  # seconds, 0: as the server likes


def read_watch_options(query: Mapping[str, str]) -> WatchOptions:
    """Read the query of a watch. Raises StatusError."""
    version = read_version(query)
    bookmarks = query.get("allowWatchBookmarks", "") in {"1", "true"}
    send = query.get("sendInitialEvents", "")
    match = query.get("resourceVersionMatch", "")
    if send and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options("ListOptions", [causes.forbidden("resourceVersionMatch", detail)])
    if match and not send:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid_options("ListOptions", [causes.forbidden("resourceVersionMatch", detail)])
    initial = send in {"1", "true"} if send else not version
    return WatchOptions(
        version, bookmarks, initial, send in {"1", "true"} and bookmarks, read_number(query, "timeoutSeconds")
    )


class Watch:
    """One watch; `lines` is its stream."""

    def __init__(self, store: Store, bucket: Bucket, selector: Selector, view: View, options: WatchOptions) -> None:
        self.store = store
        self.bucket = bucket
        self.selector = selector
        self.view = view
        self.options = options

    async def lines(self, seconds: float, bookmark_every: float) -> AsyncIterator[list[bytes]]:
        """Yield batches of lines until the time is over; the next batch is read only when this one is taken."""
        if self.options.initial:
            number = self.bucket.next_number()
            version = self.store.version
            for batch in self._initial():
                yield batch
            if self.options.ends_initial:
                yield [self.view.bookmark(version, ends_initial=True)]
        else:
            version = self.options.version or 0
            if version < self.bucket.floor:
                yield [error_line(too_old(version, self.bucket.floor))]
                return
            number = self.bucket.first_after(version)
        async for batch in self._follow(number, version, seconds, bookmark_every):
            yield batch

    def _initial(self) -> list[list[bytes]]:
        objects = self.bucket.objects
        found = [objects[key] for key in self.bucket.sorted_keys(self.selector.namespace)]
        return in_chunks([self.view.event("ADDED", stored) for stored in found if self.selector.fits(stored)])

    async def _follow(
        self, number: int, seen: int, seconds: float, bookmark_every: float
    ) -> AsyncIterator[list[bytes]]:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        next_bookmark = min(loop.time() + bookmark_every, end - FIRST_BOOKMARK_BEFORE_END)
        wakeup = asyncio.Event()
        self.bucket.waiting.add(wakeup)
        try:
            while loop.time() < end and not self.bucket.closed:
                if number < self.bucket.dropped:
                    yield [error_line(too_old(seen, self.bucket.floor))]
                    return
                wakeup.clear()
                changes = [change for change in self.bucket.since(number) if change.version > seen]
                number = self.bucket.next_number()
                if changes:
                    seen = changes[-1].version
                    for batch in in_chunks([line for change in changes if (line := self._line(change))]):
                        yield batch
                    continue
                if self.options.bookmarks and loop.time() >= next_bookmark:
                    next_bookmark = loop.time() + bookmark_every
                    yield [self.view.bookmark(max(seen, self.store.version))]
                    continue
                wake_at = min(end, next_bookmark) if self.options.bookmarks else end
                await _wait(wakeup, wake_at - loop.time())
        finally:
            self.bucket.waiting.discard(wakeup)

    def _line(self, change: Change) -> bytes | None:
        """Return the line for a change as this watch sees it: what no longer fits is deleted to it."""
        if self.selector.is_everything:
            return self.view.event(change.kind, change.new)
        fits = self.selector.fits(change.new) and change.kind != "DELETED"
        fitted = change.old is not None and self.selector.fits(change.old)
        if not fits and not fitted:
            return None
        if not fits:
            last = change.new if change.kind == "DELETED" else _at(change.old, change.version)
            return self.view.event("DELETED", last)
        return self.view.event("MODIFIED" if fitted else "ADDED", change.new)


def _at(stored: Stored | None, version: int) -> Stored:
    """Return the last state that fitted, with the version of the change that ended it."""
    if stored is None:
        raise ValueError("nothing has fitted before")
    obj = stored.decode()
    obj["metadata"]["resourceVersion"] = str(version)
    return as_stored(obj, version)


async def _wait(wakeup: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0)):
            await wakeup.wait()
    except TimeoutError:
        return


def in_chunks(lines: list[bytes]) -> list[list[bytes]]:
    """Return lines in batches that are not much larger than CHUNK."""
    batches: list[list[bytes]] = []
    size = CHUNK
    for line in lines:
        if size >= CHUNK:
            batches.append([])
            size = 0
        batches[-1].append(line)
        size += len(line)
    return batches


def error_line(error: StatusError) -> bytes:
    """Return the line that ends a watch which cannot go on."""
    return encode({"type": "ERROR", "object": error.status}) + b"\n"
