"""Turns to write: so many at the same time in the whole program, shared fairly, and some that go before the rest."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

_Line: TypeAlias = deque[asyncio.Future[None]]


class Turns:
    """At most `number` at the same time.

        async with turns.of("ml/etl"):    # one of many, of this owner
            ...
        async with turns.first():         # goes before all those
            ...

    The owners are served in rotation, and each one's in order: one that wants a thousand turns keeps none waiting that
    wants one. What goes first is what must not be held up even so.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._first: _Line = deque()
        self._owners: OrderedDict[str, _Line] = OrderedDict()
        """Those who wait, by owner, the owner whose turn is next first."""

    def locked(self) -> bool:
        """All turns are taken."""
        return self._free == 0

    def of(self, owner: str) -> AbstractAsyncContextManager[None]:
        """Have a turn, after others have had theirs."""
        return self._turn(owner)

    def first(self) -> AbstractAsyncContextManager[None]:
        """Have a turn before all who do not ask for this."""
        return self._turn(None)

    @asynccontextmanager
    async def _turn(self, owner: str | None) -> AsyncGenerator[None]:
        if self._free:
            self._free -= 1
        else:
            await self._wait(self._first if owner is None else self._owners.setdefault(owner, deque()))
        try:
            yield
        finally:
            self._give()

    async def _wait(self, line: _Line) -> None:
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # it came in the moment in which nobody wanted it any more
            raise

    def _give(self) -> None:
        if _serve(self._first):
            return
        while self._owners:
            owner, line = self._owners.popitem(last=False)
            served = _serve(line)
            if line:
                self._owners[owner] = line
            if served:
                return
        self._free += 1


def _serve(line: _Line) -> bool:
    """Give a turn to whoever is next in line and still wants it; False if there is nobody."""
    while line:
        turn = line.popleft()
        if not turn.done():
            turn.set_result(None)
            return True
    return False
