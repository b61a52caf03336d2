"""Replicas that come, leave and crash behind a balancer: who asks is answered, whichever of them is left."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.webhook.replicas import Load, fleet
from tests.webhook.serving import until

LAG = 0.6
"""Seconds until nobody is sent to a replica any more that is leaving. In a cluster it may be five, as in
`tests/bench/bench_admission_replicas.py`."""


@pytest.mark.timeout(300)
async def test_replacing_all_replicas_fails_no_request(tmp_path: Path) -> None:
    async with fleet(tmp_path, 3, f"--shutdown-delay={2 * LAG}s") as replicas, Load(replicas.port, 8, 200) as load:
        for _ in range(3):
            await replicas.add()
            assert await replicas.retire(LAG) == 0
        assert load.answered > 500
    assert load.failed == []


async def test_a_replica_that_leaves_before_everybody_knows_fails_requests(tmp_path: Path) -> None:
    """The control of the test above: it can fail."""
    async with fleet(tmp_path, 1, "--shutdown-delay=0s") as replicas, Load(replicas.port, 8, 200) as load:
        await asyncio.sleep(0.2)
        await replicas.retire(LAG)
    assert load.failed


async def test_a_crash_fails_no_more_than_what_was_under_way(tmp_path: Path) -> None:
    clients = 16
    async with fleet(tmp_path, 2) as replicas, Load(replicas.port, clients, 400) as load:
        await until(lambda: load.answered > 200, 30)
        assert load.failed == []
        replicas.crash()
        crashed, answered = time.monotonic(), load.answered
        await until(lambda: load.answered > answered + 400, 30)
    assert len(load.failed) <= clients, "each at most once"
    assert all(when < crashed + 1 for when, _ in load.failed)
