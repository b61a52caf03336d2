"""Look at everything again now and then, in case that a change was missed."""

import asyncio
import math
from typing import Final, NoReturn

from controller.runtime.workqueue import Priority, WorkQueue
from shared.api.meta import Key
from shared.kube.cache import Reader
from shared.kube.resources import T

SLICE: Final = 1.0
"""Seconds between two portions."""


async def resync(reader: Reader[T], queue: WorkQueue[Key], period: float) -> NoReturn:
    """Add every object's key once in `period` seconds, in the background and evenly: never all at one moment."""
    while True:
        keys = [obj.key for obj in reader]
        portion = max(1, math.ceil(len(keys) * SLICE / period))
        rounds = 0
        for start in range(0, len(keys), portion):
            await asyncio.sleep(SLICE)
            rounds += 1
            for key in keys[start : start + portion]:
                queue.add(key, Priority.BACKGROUND)
        await asyncio.sleep(max(SLICE, period - rounds * SLICE))
