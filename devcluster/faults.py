"""Faults that tests have the server make: a plan is data, a list of what to hit and what to do to it.

    server.faults.add(Fault(Match("create", "jobs.batch.volcano.sh"), Answer(503), nth=2))
    server.faults.add(Fault(Match("watch", "jobs.batch.volcano.sh"), Freeze(after_events=3)))
    server.faults.add(Fault(Match("write", user="controller"), Call(kill), nth=7))

A fault of a request acts before it is looked at, or after it is done and before it is answered. A fault of a watch
changes its stream.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from devcluster.errors import StatusError, expired
from devcluster.routes import Route
from devcluster.watch import error_line

WRITES = ("create", "update", "patch", "delete", "deletecollection")
NOT_COUNTED = ("leases", "events")  # they come by the clock, not by what is done

Batches = AsyncIterator[list[bytes]]


class Dropped(Exception):
    """The connection is to be cut without an answer."""


@dataclass(frozen=True, slots=True)
class Match:
    """Which requests a fault hits; what is empty fits all.

    The verb `write` is any of the writing ones, of Leases and Events only where they are what `resource` names.
    """

    verb: str = ""
    resource: str = ""  # plural, or plural.group
    namespace: str = ""
    name: str = ""
    subresource: str | None = None  # '' is the object itself
    user: str = ""  # whose requests

    def fits(self, route: Route, user: str = "") -> bool:
        """Say whether a request of that user is meant."""
        verb = self.verb in {"", route.verb} or (self.verb == "write" and self._is_write(route))
        resource = self.resource in {"", route.plural, f"{route.plural}.{route.group}"}
        where = self.namespace in {"", route.namespace} and self.name in {"", route.name}
        return verb and resource and where and self.subresource in {None, route.subresource} and self.user in {"", user}

    def _is_write(self, route: Route) -> bool:
        return route.verb in WRITES and (bool(self.resource) or route.plural not in NOT_COUNTED)


class Action(Protocol):
    """What a fault does."""

    async def before(self) -> None:
        """Act before the request is looked at."""

    async def after(self) -> None:
        """Act when it is done, before it is answered."""

    def stream(self, batches: Batches) -> Batches:
        """Return the stream of a watch as it goes out."""


class _Nothing:
    async def before(self) -> None:
        """Do nothing."""

    async def after(self) -> None:
        """Do nothing."""

    def stream(self, batches: Batches) -> Batches:
        """Change nothing."""
        return batches


@dataclass(frozen=True, slots=True)
class Delay(_Nothing):
    """Answer later; the write itself comes later too, unless `committed`."""

    seconds: float
    committed: bool = False

    async def before(self) -> None:
        """Wait."""
        if not self.committed:
            await asyncio.sleep(self.seconds)

    async def after(self) -> None:
        """Wait."""
        if self.committed:
            await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class Hold(_Nothing):
    """Wait until the test says so."""

    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def before(self) -> None:
        """Wait."""
        await self.release.wait()


REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(frozen=True, slots=True)
class Answer(_Nothing):
    """Answer with an error instead of doing anything."""

    code: int
    retry_after: int | None = None
    reason: str = ""
    message: str = "injected by a test"

    async def before(self) -> None:
        """Refuse."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        reason = self.reason or REASONS.get(self.code, "")
        raise StatusError(self.code, reason, self.message, details, headers)


@dataclass(frozen=True, slots=True)
class Drop(_Nothing):
    """Cut the connection: before anything is done, or with the write committed and its answer lost."""

    committed: bool = False

    async def before(self) -> None:
        """Cut."""
        if not self.committed:
            raise Dropped

    async def after(self) -> None:
        """Cut."""
        if self.committed:
            raise Dropped


@dataclass(frozen=True, slots=True)
class Call(_Nothing):
    """Call something once the request is done, or before: kill or stop a process at the nth write.

    What was sent arrives even though its sender is dead; a `Drop` beside this has it lost.
    """

    function: Callable[[], object]
    committed: bool = True

    async def before(self) -> None:
        """Call it."""
        if not self.committed:
            self.function()

    async def after(self) -> None:
        """Call it."""
        if self.committed:
            self.function()


@dataclass(frozen=True, slots=True)
class Lag(_Nothing):
    """Show what happens in a watch later."""

    seconds: float

    async def stream(self, batches: Batches) -> Batches:
        """Hold every batch back."""
        async for batch in batches:
            await asyncio.sleep(self.seconds)
            yield batch


@dataclass(frozen=True, slots=True)
class Duplicate(_Nothing):
    """Show every event of a watch twice."""

    async def stream(self, batches: Batches) -> Batches:
        """Double the lines."""
        async for batch in batches:
            yield [line for line in batch for _ in range(2)]


@dataclass(frozen=True, slots=True)
class BookmarksOnly(_Nothing):
    """Show nothing of a watch but its bookmarks."""

    async def stream(self, batches: Batches) -> Batches:
        """Leave out the rest."""
        async for batch in batches:
            yield [line for line in batch if line.startswith(b'{"type":"BOOKMARK"')]


@dataclass(frozen=True, slots=True)
class Freeze(_Nothing):
    """Let a watch fall silent after so many events, and stay open."""

    after_events: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, batches: Batches) -> Batches:
        """Stop in the middle, until released."""
        async for line, seen in _single(batches):
            if seen > self.after_events:
                await self.release.wait()
            yield [line]


@dataclass(frozen=True, slots=True)
class Valve(_Nothing):
    """Let a watch fall silent, and stay open, for as long as the valve is shut; any number of times."""

    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, batches: Batches) -> Batches:
        """Hold everything back while it is shut."""
        async for batch in batches:
            await self.opened.wait()
            yield batch


@dataclass(frozen=True, slots=True)
class Break(_Nothing):
    """End a watch after so many events, with `last` as the last bytes sent; cut it off or end it in order."""

    after_events: int = 0
    last: bytes = b""
    cut: bool = False

    async def stream(self, batches: Batches) -> Batches:
        """End early."""
        async for line, seen in _single(batches):
            if seen > self.after_events:
                break
            yield [line]
        yield [self.last]
        if self.cut:
            raise Dropped


def expire(after_events: int = 0) -> Break:
    """Return the fault that a watch is told 410 in its stream."""
    return Break(after_events, error_line(expired("too old resource version: 1 (2)")))


def truncate(after_events: int = 0) -> Break:
    """Return the fault that a watch ends in the middle of a line."""
    return Break(after_events, b'{"type":"MODIFIED","object":{"kind":"Jo', cut=True)


def garble(after_events: int = 0, line: bytes = b"<html>bad gateway</html>\n") -> Break:
    """Return the fault that a watch has a line which is no event."""
    return Break(after_events, line)


async def _single(batches: Batches) -> AsyncIterator[tuple[bytes, int]]:
    seen = 0
    async for batch in batches:
        for line in batch:
            seen += 1
            yield line, seen


@dataclass(slots=True)
class Fault:
    """Do `action` to the requests that `match`: to every one, or to the nth (from 1) alone."""

    match: Match
    action: Action
    nth: int = 0
    seen: int = 0

    def hits(self, route: Route, user: str = "") -> bool:
        """Count a request, and say whether it is to be hit."""
        if not self.match.fits(route, user):
            return False
        self.seen += 1
        return self.nth in {0, self.seen}


class Faults:
    """The plan of a server, and the count of the writes that it has seen (Leases and Events apart)."""

    def __init__(self) -> None:
        self.plan: list[Fault] = []
        self.writes = 0

    def add(self, fault: Fault) -> Fault:
        """Put a fault into the plan."""
        self.plan.append(fault)
        return fault

    def clear(self) -> None:
        """Make no faults any more."""
        self.plan.clear()

    def hit(self, route: Route, user: str = "") -> list[Action]:
        """Return what is to be done to a request of that user."""
        if route.verb in WRITES and route.plural not in NOT_COUNTED:
            self.writes += 1
        return list(self._hit(route, user)) if self.plan else []

    def _hit(self, route: Route, user: str) -> Iterator[Action]:
        for fault in self.plan:
            if fault.hits(route, user):
                yield fault.action
