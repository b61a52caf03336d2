"""The weather of a run: what befalls each request and each watch, drawn as it comes, until it is calm."""

from random import Random
from typing import Final

from shared.kube.errors import Unavailable
from tests.simulation import plan
from tests.simulation.api import Api
from tests.simulation.calls import Call, Fate, Watch
from tests.simulation.loop import BEGINNING, Process, SeededLoop
from tests.simulation.store import Refusal

REFUSALS: Final = (
    Refusal(429, "TooManyRequests", "too many requests", 1),
    Refusal(429, "TooManyRequests", "too many requests"),
    Refusal(500, "InternalError", "etcdserver: leader changed"),
    Refusal(503, "ServiceUnavailable", "apiserver is shutting down", 1),
    Refusal(504, "Timeout", "request did not complete within the allotted timeout"),
)
CONFLICT: Final = Refusal(409, "Conflict", "the object has been modified")

TICK: Final = 0.5
"""Seconds between two draws of what befalls open watches."""


class Sky:
    """Draws from `random` what `weather` allows; nothing any more after `calm`."""

    def __init__(self, loop: SeededLoop, weather: plan.Weather, random: Random, connections: Random) -> None:
        self._loop, self._weather, self._random, self._connections = loop, weather, random, connections
        self.is_calm = False
        self._risk = weather.errors + weather.lost + weather.slow

    def over(self, api: Api) -> None:
        """Let it begin over that API server."""
        self._api = api
        if self._weather.cuts or self._weather.stalls:
            self._loop.world(TICK, self._strike)
        for at, length, _ in self._weather.behind:
            self._loop.world(at, self._reconnect)
            self._loop.world(at + length + 0.001, api.pump)
        for at, _ in self._weather.outages:
            self._loop.world(at, self._cut_all)

    def calm(self) -> None:
        """From now on nothing befalls anything; what was stalled goes on."""
        self.is_calm = True
        for watch in self._api.watches:
            watch.stalled = False
        self._api.pump()
        self._api.reset()

    # What the API asks

    def fate(self, call: Call) -> Fate:
        random = self._random.random
        there, back = (2 * self._weather.latency * random() for _ in range(2))
        if self.is_calm:
            return Fate(there, back)
        if self._in_outage():
            return Fate(there, back, arrives=False, hangs=random() < 0.1)
        draw = random()
        if draw < self._weather.errors:
            return self._error(call, there, back)
        if draw < self._weather.errors + self._weather.lost:
            return Fate(there, back, arrives=random() < 0.5, answered=False, hangs=random() < 0.3)
        return Fate(4.5 * random(), 4.5 * random()) if draw < self._risk else Fate(there, back)

    def _error(self, call: Call, there: float, back: float) -> Fate:
        if self._random.random() < 0.2:
            return Fate(there, back, after=Refusal(504, "Timeout", "it took too long"))
        conflicts = call.verb in ("patch", "update") and self._random.random() < 0.2
        return Fate(there, back, refusal=CONFLICT if conflicts else self._random.choice(REFUSALS))

    def connecting(self) -> float:
        if self.is_calm or self._connections.random() >= self._weather.slow:
            return 0.0
        return 2.5 * self._connections.random()

    def lag(self, watch: Watch) -> float:
        if self.is_calm:
            return 0.01 * self._random.random()
        return self._random.expovariate(1 / self._weather.lag)

    def opened(self, watch: Watch) -> None:
        if not self.is_calm:
            watch.stalled = watch.resource in self._weather.hidden

    def behind(self, process: Process) -> int:
        if self.is_calm:
            return 0
        now = self._loop.time() - BEGINNING
        return max((by for at, length, by in self._weather.behind if at <= now < at + length), default=0)

    # What happens by itself

    def _in_outage(self) -> bool:
        now = self._loop.time() - BEGINNING
        return any(at <= now < at + length for at, length in self._weather.outages)

    def _strike(self) -> None:
        if self.is_calm:
            return
        for watch in list(self._api.watches):
            draw = self._random.random() / TICK
            if draw < self._weather.cuts:
                self._cut(watch)
            elif draw < self._weather.cuts + self._weather.stalls:
                watch.stalled = not watch.stalled
                self._note(watch, "is stalled" if watch.stalled else "goes on")
        self._api.pump()
        self._loop.world(TICK, self._strike)

    def _cut(self, watch: Watch) -> None:
        draw = self._random.random()
        if draw < self._weather.expires:
            self._api.compacted = self._api.store.version
            self._note(watch, "is cut, and all is compacted")
            if draw < self._weather.expires / 2:
                self._api.expire(watch)
                return
        else:
            self._note(watch, "is cut")
        watch.end(_broken() if self._random.random() < 0.5 else None)

    def _cut_all(self) -> None:
        for watch in self._api.watches:
            watch.end(_broken())

    def _reconnect(self) -> None:
        """Front-ends that lag take over: whoever is connected has to connect anew."""
        for watch in self._api.watches:
            watch.end()

    def _note(self, watch: Watch, what: str) -> None:
        self._api.history.note(self._loop.time(), watch.process.name, f"its watch of {watch.resource} {what}")


def _broken() -> Unavailable:
    return Unavailable("the connection was reset", reason="ConnectionFailed")
