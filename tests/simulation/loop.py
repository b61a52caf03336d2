"""An event loop in simulated time whose every choice comes from a seed, and programs on it that can freeze or die.

Nothing waits: when no callback is ready, time jumps to the next timer. Which of the ready callbacks runs next is drawn
by a seeded generator, within what asyncio promises: what waits for one future hears of it in the order of asking.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final, TypeVar

T = TypeVar("T")

BEGINNING: Final = 1_000.0
"""Where the loop's clock begins: as on any machine, not at zero."""

A_STEP: Final = 1e-6
"""Seconds that a callback takes: a clock never stands still."""

MOST_AT_ONCE: Final = 5_000
"""Callbacks in a row with no time passing, which no program needs that waits for anything."""


MOST: Final = 50_000
"""Callbacks of a whole run; a thousand are usual."""


class BusyLoopError(Exception):
    """Somebody works without end and waits for nothing."""


class Process:
    """A program: all callbacks that were begun by it. Frozen (SIGSTOP) or killed, none of them runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.held: list[asyncio.Handle] | None = None
        """What would be ready while the program is frozen; None while it runs."""

    def freeze(self) -> None:
        """Stop, as by SIGSTOP. The world goes on, and so does the clock."""
        if self.held is None:
            self.held = []

    def kill(self) -> None:
        """Stop for good. What is on its way to the API server arrives there."""
        self.freeze()
        self.dead = True


_running_in: Final[ContextVar[Process | None]] = ContextVar("process", default=None)


class SeededTask(asyncio.Task[T]):
    """A task that is hashed by its number: sets of tasks, as asyncio keeps them, then have the same order each time."""

    number: int

    def __new__(cls, *_: Any, loop: "SeededLoop", **__: Any) -> "SeededTask[T]":
        self = super().__new__(cls)
        self.number = loop.number()
        loop.tasks.append(self)
        return self

    def __hash__(self) -> int:
        return self.number


class SeededLoop(asyncio.AbstractEventLoop):
    """As much of an event loop as programs without sockets and threads need."""

    def __init__(self, random: Random, *, shuffled: bool = True) -> None:
        self._chance = random.random
        self._shuffled = shuffled
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._now = BEGINNING
        self._world = Context()
        self._closed = False
        self.steps = 0
        self._most = MOST_AT_ONCE
        self.tasks: list[SeededTask[Any]] = []
        """Every task there ever was."""
        self.faults: list[str] = []
        """What asyncio calls the exception handler for: callbacks that raised, tasks that nobody asked for theirs."""

    # What a simulation does with it

    def program(self, process: Process, main: Coroutine[Any, Any, T]) -> SeededTask[T]:
        """Run `main`, and all that it begins, as `process`."""
        context = copy_context()
        context.run(_running_in.set, process)
        return SeededTask(main, loop=self, context=context, name=process.name)

    def number(self) -> int:
        """A number that was not given before."""
        return next(self._numbers)

    def world(self, delay: float, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds, as no program's doing."""
        return self.call_at(self._now + delay, callback, *args, context=self._world)

    def thaw(self, process: Process) -> None:
        """Let a frozen process go on. All that became due meanwhile is ready now."""
        held, process.held = process.held, None
        self._ready.extend(held or ())

    def run_until_time(self, until: float) -> None:
        """Run all that happens up to that time."""
        asyncio._set_running_loop(self)
        try:
            while True:
                self._run_ready()
                if not self._timers or self._timers[0][0] > until:
                    break
                self._now = max(self._now, self._timers[0][0])
                self._most = self.steps + MOST_AT_ONCE
                while self._timers and self._timers[0][0] <= self._now:
                    self._ready.append(heappop(self._timers)[2])
            self._now = max(self._now, until)
        finally:
            asyncio._set_running_loop(None)

    def _run_ready(self) -> None:
        ready, chance, shuffled = self._ready, self._chance, self._shuffled
        while ready:
            handle = ready.pop(self._pick(int(chance() * len(ready))) if shuffled and len(ready) > 1 else 0)
            if handle._cancelled:
                continue
            process = handle._context.get(_running_in)  # type: ignore[attr-defined]
            if process is not None and process.held is not None:
                process.held.append(handle)
                continue
            self.steps += 1
            self._now += A_STEP
            if self.steps > min(self._most, MOST):
                raise BusyLoopError(f"{self.steps} callbacks, too many in all or with no time passing: {handle!r}")
            handle._run()

    def _pick(self, at: int) -> int:
        """The one at `at`, or the first before it that waits for the same future."""
        args = self._ready[at]._args
        if args and isinstance(args[0], asyncio.Future):
            future = args[0]
            for earlier in range(at):
                others = self._ready[earlier]._args
                if others and others[0] is future:
                    return earlier
        return at

    # What asyncio asks of it

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing: it is passed over when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> asyncio.Task[Any]:
        return SeededTask(coro, loop=self, name=str(name) if name else None, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.faults.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
