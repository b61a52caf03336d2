"""Turns to write: so many at the same time in the whole program, and some that go before the rest."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self


class Turns:
    """At most `number` at the same time. Whoever has to wait is served in order.

        async with turns:            # one of many
            ...
        async with turns.first():    # goes before all those
            ...

    What goes first is what a wide JobFlow's creates must not hold up: hundreds of them may be waiting.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._first: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    def locked(self) -> bool:
        """All turns are taken."""
        return self._free == 0

    async def __aenter__(self) -> Self:
        await self._take(self._others)
        return self

    async def __aexit__(self, *reason: object) -> None:
        self._give()

    @asynccontextmanager
    async def first(self) -> AsyncGenerator[None]:
        """Have a turn before all who do not ask for this."""
        await self._take(self._first)
        try:
            yield
        finally:
            self._give()

    async def _take(self, line: deque[asyncio.Future[None]]) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # it came in the moment in which nobody wanted it any more
            raise

    def _give(self) -> None:
        for line in (self._first, self._others):
            while line:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
