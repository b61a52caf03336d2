"""Room in memory for large bodies, counted by what has really come of them.

A client that announces much and sends little takes next to nothing, so slow clients keep nobody else out. Where all
room is taken, whoever needs more waits, but for one body at a time, the first that had to wait: it gets what it needs
beyond, so that bodies that are all half there do not wait for each other.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.turns import NoTurnError


class Share:
    """What one body has of the room. It is given back at the end, all at once."""

    def __init__(self, room: "Room") -> None:
        self._room = room
        self.held = 0

    async def take(self, count: int) -> None:
        """Take so many bytes more. Raises NoTurnError where there is no room for them in time."""
        await self._room.take(self, count)


class Room:
    """So many bytes for all bodies together, and what the one that goes first needs beyond."""

    def __init__(self, most: int, wait: float) -> None:
        self._most = most
        self._wait = wait
        self._held = 0
        self._first: Share | None = None
        self._waiting: deque[tuple[Share, int, asyncio.Future[None]]] = deque()

    @property
    def held(self) -> int:
        """Bytes that are taken."""
        return self._held

    @contextmanager
    def share(self) -> Iterator[Share]:
        """The room of one body, for as long as the block lasts."""
        share = Share(self)
        try:
            yield share
        finally:
            self._held -= share.held
            if self._first is share:
                self._first = None
            self._serve()

    async def take(self, share: Share, count: int) -> None:
        """What `Share.take` says."""
        if share is self._first or (not self._waiting and self._held + count <= self._most):
            self._give(share, count)
            return
        given = asyncio.get_running_loop().create_future()
        self._waiting.append((share, count, given))
        self._serve()
        try:
            async with asyncio.timeout(self._wait):
                await given
        except TimeoutError:
            raise NoTurnError from None

    def _serve(self) -> None:
        """Give room to those who wait, in the order of coming, as far as it goes."""
        while self._waiting:
            share, count, given = self._waiting[0]
            if not given.done():  # else it has given up
                if self._held + count > self._most:
                    if self._first is not None:
                        return
                    self._first = share
                self._give(share, count)
                given.set_result(None)
            self._waiting.popleft()

    def _give(self, share: Share, count: int) -> None:
        share.held += count
        self._held += count
