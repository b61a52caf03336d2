"""When a request may go out: at the rate that was set, and not before the time that the server asked for.

Times are those of the running event loop, so that a simulated loop simulates these as well.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from shared.kube.errors import ApiError, TooManyRequests

PROBE_EVERY: Final = 0.25
"""Seconds to wait where the one request that may try after a pause is on its way."""


class Rate:
    """A token bucket: `per_second` requests on average and `burst` at once, served in the order of asking.

    With 0 per second there is no limit.
    """

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = max(burst, 1)
        self._due = float("-inf")
        """When the bucket would be full again, less what is owed."""

    async def turn(self) -> None:
        """Wait for a turn."""
        if self._per_second <= 0:
            return
        now = asyncio.get_running_loop().time()
        # The virtual finish time of the last request tells how many tokens are gone, with no timer to fill a bucket.
        self._due = max(self._due, now - self._burst / self._per_second) + 1 / self._per_second
        if self._due > now:
            await asyncio.sleep(self._due - now)


@dataclass
class _Gate:
    closed_until: float
    trying: bool = False


class Gates:
    """Keeps requests of a kind back while the server's Retry-After lasts.

    After that a single request tries. Only when it is let in do the others follow: a server in trouble that is asked
    by everyone at the end of its own pause would soon be in trouble again.
    """

    def __init__(self) -> None:
        self._gates: dict[tuple[str, str], _Gate] = {}

    @asynccontextmanager
    async def passing(self, verb: str, resource: str) -> AsyncIterator[None]:
        """Around one request. Raises TooManyRequests where it must not be sent now, with the time to wait."""
        kind = (verb, resource)
        gate = self._gates.get(kind)
        if gate:
            wait = gate.closed_until - asyncio.get_running_loop().time()
            if wait > 0 or gate.trying:
                raise TooManyRequests(
                    f"the API server asked to wait with {verb} {resource}",
                    reason="HeldBack",
                    retry_after=max(wait, PROBE_EVERY),
                )
            gate.trying = True
        try:
            yield
        except ApiError as refusal:
            if refusal.retry_after:
                until = asyncio.get_running_loop().time() + refusal.retry_after
                later = self._gates.get(kind)
                self._gates[kind] = _Gate(max(until, later.closed_until) if later else until)
            elif gate and self._gates.get(kind) is gate:
                del self._gates[kind]
            raise
        except BaseException:
            if gate:
                gate.trying = False
            raise
        else:
            if gate and self._gates.get(kind) is gate:
                del self._gates[kind]
