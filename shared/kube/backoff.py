"""How long to wait after a failure: longer each time, never in step with others."""

from random import Random


class Backoff:
    """Waits that grow from `first` to `longest` seconds by doubling, and shrink back after `healthy` quiet seconds."""

    def __init__(self, random: Random, *, first: float = 0.8, longest: float = 30.0, healthy: float = 120.0) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._healthy = healthy
        self._next = first
        self._failed_at = float("-inf")

    def after_failure(self, now: float) -> float:
        """Seconds to wait, at `now` on a monotonic clock: between half and all of what it has come to."""
        if now - self._failed_at > self._healthy + self._next:
            self._next = self._first
        self._failed_at = now
        wait = self._next
        self._next = min(self._longest, wait * 2)
        return wait * self._random.uniform(0.5, 1)
