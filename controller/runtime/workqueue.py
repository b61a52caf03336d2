"""A queue of keys to work on: each key once, each with one worker at a time, the urgent ones first.

After client-go's workqueue: a key that is added while it waits is there once; one that is added while somebody works
on it waits until that is done and then has another turn, so no change is missed and no two workers hold the same key.
"""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from random import Random
from typing import Final, Generic, TypeVar

from controller.runtime.metrics import QueueMetrics

K = TypeVar("K", bound=Hashable)

FIRST_RETRY: Final = 0.005
LAST_RETRY: Final = 15.0
"""Seconds from a failure to the next attempt: at first, and after many."""

SHORTEST_DELAY: Final = 0.001
"""Seconds. Timers are no finer: a key whose time is a microsecond off would come too early again and again."""

BACKGROUND_SHARE: Final = 16
"""One turn in so many goes to the background even while there is nothing but urgent work, for it must end some day."""


class Priority(IntEnum):
    """Who has the next turn. Within one priority the first that came is the first that goes."""

    STARTED = 0
    """What has begun is ended before anything else begins."""
    NEW = 1
    BACKGROUND = 2
    """The first list and resyncs: most probably there is nothing to do."""


class ShutDown(Exception):
    """The queue gives out no more keys."""


@dataclass(slots=True)
class _Waiting:
    priority: Priority
    since: float


class WorkQueue(Generic[K]):
    """Keys that wait, keys in work, and keys that wait for their time. To be used inside one event loop."""

    def __init__(self, random: Random, metrics: QueueMetrics) -> None:
        self._random = random
        self._metrics = metrics
        self._lines: dict[Priority, OrderedDict[K, float]] = {priority: OrderedDict() for priority in Priority}
        self._processing: dict[K, Priority] = {}
        self._again: dict[K, _Waiting] = {}
        """Keys that were added while in work."""
        self._failures: dict[K, int] = {}
        self._getters: OrderedDict[asyncio.Future[None], None] = OrderedDict()
        self._turns = 0
        self._shut_down = False
        self._due: dict[K, tuple[float, Priority]] = {}
        self._schedule: list[tuple[float, int, K]] = []
        self._order = count()
        self._timer: asyncio.Handle | None = None
        self._rings_at = 0.0
        """Kept here, for uvloop's handles do not tell it where it is no moment away."""

    def __len__(self) -> int:
        """Keys that could be given out now."""
        return sum(len(line) for line in self._lines.values())

    def add(self, key: K, priority: Priority = Priority.NEW) -> None:
        """Let the key have a turn. If it waits already, the more urgent of both priorities counts."""
        if self._shut_down:
            return
        now = asyncio.get_running_loop().time()
        if key in self._processing:
            waiting = self._again.get(key)
            if waiting is None:
                self._again[key] = _Waiting(priority, now)
                self._metrics.added()
            else:
                waiting.priority = min(waiting.priority, priority)
            return
        held = self._held_at(key)
        if held is None:
            self._metrics.added()
            self._line_up(key, priority, now)
        elif priority < held:
            self._line_up(key, priority, self._lines[held].pop(key))

    def add_after(self, key: K, delay: float, priority: Priority = Priority.NEW) -> None:
        """Let the key have a turn after `delay` seconds, or sooner if it was to have one sooner."""
        if delay <= 0:
            self.add(key, priority)
            return
        if self._shut_down:
            return
        at = asyncio.get_running_loop().time() + max(delay, SHORTEST_DELAY)
        earlier = self._due.get(key)
        if earlier:
            priority = min(priority, earlier[1])
        if earlier and earlier[0] <= at:
            self._due[key] = (earlier[0], priority)
            return
        self._due[key] = (at, priority)
        heapq.heappush(self._schedule, (at, next(self._order), key))
        self._set_timer()

    def retry(self, key: K, priority: Priority = Priority.NEW, at_least: float = 0.0) -> float:
        """Let the key have a turn after a pause that grows with each failure. Returns the pause."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause = min(LAST_RETRY, FIRST_RETRY * (1 << min(failures, 30)))
        # Keys that failed together must not come back together.
        pause = max(pause * self._random.uniform(0.5, 1), at_least * self._random.uniform(1, 1.1))
        self._metrics.retried()
        self.add_after(key, pause, priority)
        return pause

    def forget(self, key: K) -> None:
        """The key did well: its next failure is a first one."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often in a row the key has failed."""
        return self._failures.get(key, 0)

    async def get(self) -> tuple[K, Priority]:
        """The next key, once there is one, and the priority that it had. Whoever gets it calls `done`.

        Raises ShutDown.
        """
        while not self._shut_down:
            line = self._next_line()
            if line is not None:
                key, since = self._lines[line].popitem(last=False)
                self._processing[key] = line
                self._metrics.got(asyncio.get_running_loop().time() - since)
                self._metrics.depth(len(self))
                return key, line
            await self._something_new()
        raise ShutDown

    def done(self, key: K) -> None:
        """The work on the key has ended. If it was added meanwhile, it waits for another turn now."""
        del self._processing[key]
        again = self._again.pop(key, None)
        if again and not self._shut_down:
            self._line_up(key, again.priority, again.since)

    def shut_down(self) -> None:
        """Give out nothing more. Work that has begun may end."""
        self._shut_down = True
        if self._timer:
            self._timer.cancel()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)

    def _held_at(self, key: K) -> Priority | None:
        return next((priority for priority, line in self._lines.items() if key in line), None)

    def _line_up(self, key: K, priority: Priority, since: float) -> None:
        self._lines[priority][key] = since
        self._metrics.depth(len(self))
        self._wake_one()

    def _next_line(self) -> Priority | None:
        first = next((priority for priority, line in self._lines.items() if line), None)
        if first is None:
            return None
        self._turns += 1
        its_turn = self._turns % BACKGROUND_SHARE == 0 and self._lines[Priority.BACKGROUND]
        return Priority.BACKGROUND if its_turn else first

    async def _something_new(self) -> None:
        getter = asyncio.get_running_loop().create_future()
        self._getters[getter] = None
        try:
            await getter
        except asyncio.CancelledError:
            # The one that was woken takes nothing: somebody else may.
            if getter.done() and not getter.cancelled() and len(self):
                self._wake_one(besides=getter)
            raise
        finally:
            del self._getters[getter]

    def _wake_one(self, besides: "asyncio.Future[None] | None" = None) -> None:
        for getter in self._getters:
            if getter is not besides and not getter.done():
                getter.set_result(None)
                return

    def _set_timer(self) -> None:
        """See to it that a timer rings at the first moment of the schedule. One that rings too early does no harm."""
        if not self._schedule or (self._timer and self._rings_at <= self._schedule[0][0]):
            return
        if self._timer:
            self._timer.cancel()
        self._rings_at = self._schedule[0][0]
        self._timer = asyncio.get_running_loop().call_at(self._rings_at, self._add_what_is_due)

    def _add_what_is_due(self) -> None:
        # The loop's clock may be a hair behind the moment that the timer was set for: what it was set for is due.
        now = max(asyncio.get_running_loop().time(), self._rings_at)
        self._timer = None
        while self._schedule and self._schedule[0][0] <= now:
            at, _, key = heapq.heappop(self._schedule)
            due = self._due.get(key)
            if due and due[0] == at:
                del self._due[key]
                self.add(key, due[1])
        self._set_timer()
