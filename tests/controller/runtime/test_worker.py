"""Workers: every key that fails is tried again, nobody waits for it, and a stop lets the pass in hand end."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.metrics import QueueMetrics, RuntimeMetrics, WorkMetrics
from controller.runtime.worker import Workers
from controller.runtime.workqueue import Priority, WorkQueue
from shared.kube.errors import Conflict, TooManyRequests, Unavailable
from shared.ops.logs import JsonLines

pytestmark = pytest.mark.looptime

Reconcile = Callable[[str], Awaitable[float | None]]


class Bench:
    """Workers at work on a queue, and when each pass began."""

    def __init__(self, reconcile: Reconcile, number: int = 1) -> None:
        self.registry = CollectorRegistry()
        metrics = RuntimeMetrics(self.registry)
        self.queue: WorkQueue[str] = WorkQueue(Random(5), QueueMetrics(metrics, "jobflow"))
        self.passes: list[tuple[str, float]] = []
        self.reconcile = reconcile
        self.workers = Workers("jobflow", self.queue, self.run, WorkMetrics(metrics, "jobflow"), number)

    async def run(self, key: str) -> float | None:
        self.passes.append((key, asyncio.get_running_loop().time()))
        return await self.reconcile(key)

    def moments(self, key: str) -> list[float]:
        return [at for each, at in self.passes if each == key]

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, {"controller": "jobflow", **labels})


@asynccontextmanager
async def at_work(reconcile: Reconcile, number: int = 1) -> AsyncIterator[Bench]:
    bench = Bench(reconcile, number)
    task = asyncio.create_task(bench.workers.run())
    await asyncio.sleep(0)
    try:
        yield bench
    finally:
        await bench.workers.stop()
        await task


def raising(error: Exception, times: int = 1_000_000) -> Reconcile:
    left = [times]

    async def reconcile(key: str) -> None:
        if key == "bad" and left[0]:
            left[0] -= 1
            raise error

    return reconcile


async def test_a_pass_that_fails_is_tried_again_after_growing_pauses_for_ever() -> None:
    async with at_work(raising(Unavailable("down"))) as bench:
        bench.queue.add("bad")
        await asyncio.sleep(600)
        moments = bench.moments("bad")
        assert moments[1] - moments[0] <= 0.02
        assert 45 <= len(moments) <= 100
        assert max(later - sooner for sooner, later in pairwise(moments)) <= 15.1


async def test_one_that_does_well_again_starts_from_the_shortest_pause() -> None:
    async with at_work(raising(Unavailable("down"), times=10)) as bench:
        bench.queue.add("bad")
        await asyncio.sleep(60)
        assert len(bench.passes) == 11
        assert bench.queue.failures("bad") == 0


async def test_the_time_that_the_server_asks_for_is_waited_out() -> None:
    async with at_work(raising(TooManyRequests("busy", status=429, retry_after=20), times=1)) as bench:
        bench.queue.add("bad")
        await asyncio.sleep(60)
        first, second = bench.moments("bad")
        assert 20 <= second - first <= 22.5


@pytest.mark.parametrize("error", [RuntimeError("a fault"), Unavailable("down")])
async def test_a_key_that_always_fails_delays_no_other(error: Exception) -> None:
    async with at_work(raising(error)) as bench:
        bench.queue.add("bad", Priority.STARTED)
        for number in range(1000):
            bench.queue.add(f"good-{number}")
        await asyncio.sleep(1)
        assert len({key for key, _ in bench.passes}) == 1001
        assert len(bench.moments("bad")) <= 10


async def test_a_pass_may_ask_to_be_run_again() -> None:
    waits = iter([5.0, 0.0, None])

    async def reconcile(_: str) -> float | None:
        return next(waits)

    async with at_work(reconcile) as bench:
        began = asyncio.get_running_loop().time()
        bench.queue.add("a")
        await asyncio.sleep(60)
        assert [round(at - began, 2) for at in bench.moments("a")] == [0, 5, 5]


async def test_one_that_asks_to_be_run_again_at_once_lets_others_go_first() -> None:
    waits = {"wide": 3}

    async def reconcile(key: str) -> float | None:
        waits[key] = waits.get(key, 0) - 1
        return 0.0 if waits[key] > 0 else None

    async with at_work(reconcile) as bench:
        bench.queue.add("wide")
        bench.queue.add("b")
        bench.queue.add("c")
        await asyncio.sleep(1)
        assert [key for key, _ in bench.passes] == ["wide", "b", "c", "wide", "wide"]


async def test_a_change_during_a_pass_brings_another_pass_and_never_two_at_once() -> None:
    running: set[str] = set()

    async def reconcile(key: str) -> None:
        assert key not in running
        running.add(key)
        await asyncio.sleep(2)
        running.remove(key)

    async with at_work(reconcile, number=4) as bench:
        began = asyncio.get_running_loop().time()
        bench.queue.add("a")
        await asyncio.sleep(1)
        bench.queue.add("a")
        await asyncio.sleep(10)
        assert [round(at - began, 2) for at in bench.moments("a")] == [0, 2]


async def test_several_workers_work_on_several_keys() -> None:
    async def reconcile(_: str) -> None:
        await asyncio.sleep(10)

    async with at_work(reconcile, number=3) as bench:
        for key in "abcd":
            bench.queue.add(key)
        await asyncio.sleep(1)
        assert bench.value("controller_runtime_active_workers") == 3
        assert bench.value("controller_runtime_max_concurrent_reconciles") == 3
        assert [key for key, _ in bench.passes] == ["a", "b", "c"]


async def test_a_stop_lets_the_pass_in_hand_end_and_begins_no_other() -> None:
    ended: list[str] = []

    async def reconcile(key: str) -> None:
        await asyncio.sleep(5)
        ended.append(key)

    async with at_work(reconcile) as bench:
        bench.queue.add("a")
        bench.queue.add("b")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await bench.workers.stop()
        assert asyncio.get_running_loop().time() - began == pytest.approx(4)
    assert ended == ["a"]


async def test_a_pass_that_does_not_end_is_cancelled_in_time_to_end_within_ten_seconds() -> None:
    cancelled: list[str] = []

    async def reconcile(key: str) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(key)
            raise

    async with at_work(reconcile) as bench:
        bench.queue.add("a")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await bench.workers.stop()
        assert asyncio.get_running_loop().time() - began < 9.5
    assert cancelled == ["a"]


async def test_a_pass_that_hangs_for_a_quarter_of_an_hour_is_told_to_health(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reconcile(_: str) -> None:
        await asyncio.sleep(3600)

    async with at_work(reconcile) as bench:
        bench.queue.add("a")
        await asyncio.sleep(1)
        assert bench.workers.stuck() is None
        monkeypatch.setattr("controller.runtime.worker.STUCK", -1.0)
        assert "a pass has taken" in (bench.workers.stuck() or "")


async def test_failures_are_logged_once_with_their_key_and_faults_with_their_stack(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines: list[dict[str, object]] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonLines().format(record)))

    caplog.set_level(logging.INFO)
    logging.getLogger().addHandler(keeper := Keeper())
    try:
        for error in (RuntimeError("a fault"), Unavailable("down", reason="Timeout"), Conflict("old", status=409)):
            async with at_work(raising(error, times=1)) as bench:
                bench.queue.add("bad")
                await asyncio.sleep(1)
    finally:
        logging.getLogger().removeHandler(keeper)
    fault, failure = lines
    assert fault["level"] == "error"
    assert "raise error" in str(fault["stack"])
    assert failure["level"] == "warning"
    assert failure["error"] == "Unavailable: Timeout: down"
    assert {line["key"] for line in lines} == {"bad"}


async def test_an_outage_that_every_key_meets_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(_: str) -> None:
        raise Unavailable("down")

    async with at_work(reconcile) as bench:
        for number in range(300):
            bench.queue.add(f"{number}")
        await asyncio.sleep(20)
    assert len(bench.passes) > 3000
    assert 100 <= len(caplog.records) <= 210
    told = sum(getattr(record, "not_logged", 0) for record in caplog.records)
    assert told + len(caplog.records) == pytest.approx(len(bench.passes), abs=200)


async def test_passes_are_counted_under_controller_runtimes_names() -> None:
    async def reconcile(key: str) -> float | None:
        if key == "bad":
            raise Unavailable("down")
        if key == "worse":
            raise ZeroDivisionError
        return 1000.0 if key == "later" else None

    async with at_work(reconcile) as bench:
        for key in ("good", "later"):
            bench.queue.add(key)
        await asyncio.sleep(1)
        bench.queue.add("bad")
        await asyncio.sleep(0.001)
        bench.queue.add("worse")
        await asyncio.sleep(0.001)
        assert bench.value("controller_runtime_reconcile_total", result="success") == 1
        assert bench.value("controller_runtime_reconcile_total", result="requeue_after") == 1
        assert bench.value("controller_runtime_reconcile_total", result="error") == 2
        assert bench.value("controller_runtime_reconcile_errors_total") == 2
        assert bench.value("controller_runtime_reconcile_panics_total") == 1
        assert bench.value("controller_runtime_reconcile_time_seconds_count") == 4
        assert bench.registry.get_sample_value("workqueue_work_duration_seconds_count", {"name": "jobflow"}) == 4
