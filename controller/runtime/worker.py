"""Workers: take a key, run one pass over it, and see to it that it has another turn where it needs one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic

from controller.runtime.metrics import WorkMetrics
from controller.runtime.workqueue import K, Priority, ShutDown, WorkQueue
from shared.kube.errors import ApiError, Conflict
from shared.ops import logs

log = logging.getLogger(__name__)

GRACE: Final = 8.0
"""Seconds that passes in work have to end by themselves when the program stops; a request takes 5 at most."""

STUCK: Final = 900.0
"""Seconds after which a pass hangs for a reason that only a restart mends: each of its requests takes 5 at most."""

LINES_A_SECOND: Final = 10

Reconcile = Callable[[K], Awaitable[float | None]]
"""One pass. It returns the seconds after which it wants to be run again, None where it waits for a change."""


class Workers(Generic[K]):
    """`number` workers on one queue.

    A pass that raises is logged once, counted, and tried again after a pause that grows, for ever; others go on
    meanwhile. A pass of a key never runs twice at the same time.
    """

    def __init__(
        self, name: str, queue: WorkQueue[K], reconcile: Reconcile[K], metrics: WorkMetrics, number: int = 1
    ) -> None:
        self._name = name
        self._queue = queue
        self._reconcile = reconcile
        self._metrics = metrics
        self._number = number
        self._tasks: set[asyncio.Task[None]] = set()
        self._second = self._lines = self._not_logged = 0

    def stuck(self) -> str | None:
        """Which pass takes longer than any should, None if none does: what health asks."""
        longest = self._metrics.longest()
        return f"a pass has taken {longest:.0f} s" if longest > STUCK else None

    async def run(self) -> None:
        """Work until `stop`. Raises only what is a fault of this very file."""
        self._metrics.workers(self._number)
        async with asyncio.TaskGroup() as group:
            for number in range(self._number):
                task = group.create_task(self._work(), name=f"{self._name} worker {number}")
                self._tasks.add(task)

    async def stop(self, grace: float = GRACE) -> None:
        """Take no more keys, let the passes in work end, and cancel what has not ended after `grace` seconds."""
        self._queue.shut_down()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=grace)
        for task in late:
            log.warning("pass cancelled, it did not end in time", extra={"worker": task.get_name()})
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _work(self) -> None:
        while True:
            try:
                key, priority = await self._queue.get()
            except ShutDown:
                return
            try:
                with logs.fields(controller=self._name, key=str(key)), self._metrics.working(key):
                    await self._turn(key, priority)
            finally:
                self._queue.done(key)

    async def _turn(self, key: K, priority: Priority) -> None:
        try:
            again = await self._reconcile(key)
        except ApiError as error:
            self._metrics.failed(unforeseen=False)
            pause = self._queue.retry(key, priority, error.retry_after or 0.0)
            self._log_failure(error, pause)
        except Exception as fault:
            self._metrics.failed(unforeseen=True)
            pause = self._queue.retry(key, priority)
            log.exception("pass failed in a way that was not foreseen", extra={"error": fault, "retry_in": pause})
        else:
            self._queue.forget(key)
            self._metrics.ended("success" if again is None else "requeue_after")
            if again is not None:
                self._queue.add_after(key, again, priority)

    def _log_failure(self, error: ApiError, pause: float) -> None:
        """A line for each, but in an outage, which all keys meet, no more than a person can read."""
        second = int(asyncio.get_running_loop().time())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines > LINES_A_SECOND:
            self._not_logged += 1
            return
        # Somebody else has written meanwhile: that is daily life, and the next pass sees what they wrote.
        level = logging.DEBUG if isinstance(error, Conflict) else logging.WARNING
        told = {"not_logged": self._not_logged} if self._not_logged else {}
        log.log(level, "pass failed", extra={"error": error, "retry_in": pause, **told})
        self._not_logged = 0
