"""Whether a request fails while the replicas of the webhook are replaced, and when one crashes.

    python -m tests.bench.bench_admission_replicas

Three replicas stand behind a balancer that goes on sending connections to one that leaves for five seconds; each is
replaced under a steady 200 requests a second, half of them on connections that stay. Then one is killed. A replica that
leaves at once is the control. The process ends with 1 if a goal is missed.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bed import verdict
from tests.webhook.replicas import Load, fleet

LAG = 5.0
RATE = 200
CLIENTS = 16
REQUESTS = 10_000


async def measure() -> int:
    """Measure, print, and return how many goals were missed."""
    missed = 0
    for part in (rollout, crash, control):
        with tempfile.TemporaryDirectory() as directory:
            missed += await part(Path(directory))
    return missed


async def rollout(directory: Path) -> int:
    """All three replicas are replaced, with the settings that the webhook has by default."""
    async with fleet(directory, 3) as replicas, Load(replicas.port, CLIENTS, RATE) as load:
        for _ in range(3):
            await replicas.add()
            await replicas.retire(LAG)
        while load.answered < REQUESTS:  # noqa: ASYNC110 - a load has no event for this
            await asyncio.sleep(0.1)
    print(f"three replicas replaced: {load.answered} requests answered, {len(load.failed)} failed")
    return verdict(f"none of {REQUESTS} and more fails", not load.failed and load.answered >= REQUESTS)


async def crash(directory: Path) -> int:
    """One of two is killed."""
    async with fleet(directory, 2) as replicas, Load(replicas.port, CLIENTS, RATE) as load:
        await asyncio.sleep(2)
        replicas.crash()
        crashed = time.monotonic()
        await asyncio.sleep(3)
    last = max((when for when, _ in load.failed), default=crashed) - crashed
    print(f"one of two killed: {len(load.failed)} failed, the last of them {last:.2f} s later")
    return verdict("each client at most once, within 1 s", last <= 1 and len(load.failed) <= CLIENTS)


async def control(directory: Path) -> int:
    """The only replica leaves at once, which the balancer does not know."""
    async with fleet(directory, 1, "--shutdown-delay=0s") as replicas, Load(replicas.port, CLIENTS, RATE) as load:
        await asyncio.sleep(0.5)
        await replicas.retire(1)
    print(f"control, a replica that leaves at once: {len(load.failed)} failed")
    return verdict("the failures are seen", bool(load.failed))


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(measure()) else 0)
