"""Places for what may only go on a limited number of times at once."""

import asyncio
from types import TracebackType


class NoTurnError(Exception):
    """Nobody left in time."""


class Turns:
    """So many at a time, in the order of coming. Used as a context: `async with turns: ...`.

    Who has waited for `wait` seconds in vain gets a NoTurnError.
    """

    def __init__(self, places: int, wait: float) -> None:
        self._places = asyncio.Semaphore(places)
        self._wait = wait

    async def __aenter__(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(self._wait):
                await self._places.acquire()
        except TimeoutError:
            raise NoTurnError from None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()
