"""The queue on uvloop, whose timers differ from asyncio's own."""

import asyncio
from random import Random

import uvloop
from prometheus_client import CollectorRegistry

from controller.runtime.metrics import QueueMetrics, RuntimeMetrics
from controller.runtime.workqueue import Priority, WorkQueue


def test_keys_may_be_added_while_others_are_due_within_the_millisecond() -> None:
    """For what is due that soon uvloop makes a bare handle, which does not know when it rings."""
    keys = [f"key-{number}" for number in range(300)]

    async def run() -> set[str]:
        queue: WorkQueue[str] = WorkQueue(Random(3), QueueMetrics(RuntimeMetrics(CollectorRegistry()), "jobflow"))
        for number, key in enumerate(keys):
            queue.add_after(key, 0.001 + number % 7 / 10_000, Priority.NEW)
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            return {(await queue.get())[0] for _ in keys}

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == set(keys)
