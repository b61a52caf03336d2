"""The queue: each key once, one worker at a time, urgent ones first, retries after growing pauses."""

import asyncio
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.metrics import QueueMetrics, RuntimeMetrics
from controller.runtime.workqueue import Priority, ShutDown, WorkQueue

STARTED, NEW, BACKGROUND = Priority

pytestmark = pytest.mark.looptime


def a_queue(registry: CollectorRegistry | None = None) -> WorkQueue[str]:
    metrics = RuntimeMetrics(registry or CollectorRegistry())
    return WorkQueue(Random(3), QueueMetrics(metrics, "jobflow"))


async def served(queue: WorkQueue[str]) -> list[str]:
    """All keys that have a turn now, in order; the work on each ends at once."""
    keys = []
    while len(queue):
        key, _ = await queue.get()
        queue.done(key)
        keys.append(key)
    return keys


async def test_a_key_that_waits_is_there_once() -> None:
    queue = a_queue()
    for key in "abab":
        queue.add(key)
    assert await served(queue) == ["a", "b"]


async def test_what_was_started_comes_before_what_is_new_and_both_before_the_background() -> None:
    queue = a_queue()
    for key, priority in (("b1", BACKGROUND), ("n1", NEW), ("s1", STARTED), ("n2", NEW), ("s2", STARTED)):
        queue.add(key, priority)
    assert await served(queue) == ["s1", "s2", "n1", "n2", "b1"]


async def test_a_key_that_waits_is_raised_by_a_more_urgent_reason_and_never_lowered() -> None:
    queue = a_queue()
    queue.add("a", BACKGROUND)
    queue.add("b", NEW)
    queue.add("a", STARTED)
    queue.add("a", BACKGROUND)
    assert await served(queue) == ["a", "b"]


async def test_the_background_has_one_turn_in_sixteen_however_urgent_the_rest_is() -> None:
    queue = a_queue()
    queue.add("background", BACKGROUND)
    turns = []
    for _ in range(40):
        queue.add("urgent", STARTED)
        key, _ = await queue.get()
        queue.done(key)
        turns.append(key)
    assert turns.index("background") == 15
    assert turns.count("urgent") == 39


async def test_what_is_new_never_comes_before_what_was_started() -> None:
    queue = a_queue()
    queue.add("new", NEW)
    for _ in range(40):
        queue.add("started", STARTED)
        key, _ = await queue.get()
        queue.done(key)
        assert key == "started"


async def test_a_key_in_work_is_given_to_nobody_else_and_has_another_turn_afterwards() -> None:
    queue = a_queue()
    queue.add("a")
    key, _ = await queue.get()
    queue.add("a", BACKGROUND)
    queue.add("a", STARTED)
    queue.add("b", NEW)
    assert (await queue.get())[0] == "b"
    assert len(queue) == 0
    queue.done(key)
    assert await queue.get() == ("a", STARTED)


async def test_a_key_is_added_after_its_delay_and_the_soonest_counts() -> None:
    queue, clock = a_queue(), asyncio.get_running_loop().time
    began = clock()
    queue.add_after("a", 20, STARTED)
    queue.add_after("a", 5, NEW)
    queue.add_after("a", 10, BACKGROUND)
    queue.add_after("b", 7)
    assert await queue.get() == ("a", STARTED)
    assert clock() - began == pytest.approx(5)
    assert (await queue.get())[0] == "b"
    assert clock() - began == pytest.approx(7)
    queue.done("a")
    await asyncio.sleep(60)
    assert len(queue) == 0, "the later times have lapsed"


async def test_a_delay_too_short_for_a_timer_is_not_over_before_its_time() -> None:
    queue, clock = a_queue(), asyncio.get_running_loop().time
    at = clock() + 1e-9
    queue.add_after("a", 1e-9)
    await queue.get()
    assert clock() >= at


async def test_no_delay_is_at_once() -> None:
    queue = a_queue()
    queue.add_after("a", 0)
    assert len(queue) == 1


async def test_retries_pause_longer_each_time_to_a_bound_with_chance_in_it() -> None:
    queue, clock = a_queue(), asyncio.get_running_loop().time
    pauses = []
    for _ in range(16):
        began = clock()
        told = queue.retry("a")
        await queue.get()
        queue.done("a")
        pauses.append(clock() - began)
        assert pauses[-1] == pytest.approx(told, abs=0.002)
    bounds = [min(15, 0.005 * 2**n) for n in range(16)]
    assert all(bound / 2 - 0.001 <= pause <= bound + 0.001 for pause, bound in zip(pauses, bounds, strict=True))
    assert queue.failures("a") == 16


async def test_a_key_that_did_well_starts_from_the_shortest_pause_again() -> None:
    queue = a_queue()
    for _ in range(12):
        queue.retry("a")
    queue.forget("a")
    assert queue.retry("a") <= 0.005


async def test_a_retry_waits_at_least_as_long_as_the_server_asked() -> None:
    queue = a_queue()
    pauses = {queue.retry(f"{n}", at_least=30) for n in range(10)}
    assert all(30 <= pause <= 33 for pause in pauses)
    assert len(pauses) == 10, "those that were refused together must not come back together"


async def test_those_who_wait_for_a_key_get_one_each() -> None:
    queue = a_queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(1)
    for key in "abc":
        queue.add(key)
    assert {key for key, _ in await asyncio.gather(*workers)} == {"a", "b", "c"}


async def test_a_key_is_not_lost_with_a_worker_that_was_cancelled_as_it_came() -> None:
    queue = a_queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("a")
    first.cancel()
    assert (await asyncio.wait_for(second, 5))[0] == "a"


async def test_after_the_shut_down_nothing_is_given_out() -> None:
    queue = a_queue()
    queue.add("a")
    queue.add_after("b", 5)
    waiting = a_queue()
    worker = asyncio.create_task(waiting.get())
    await asyncio.sleep(1)
    for each in (queue, waiting):
        each.shut_down()
        each.add("c")
    with pytest.raises(ShutDown):
        await queue.get()
    with pytest.raises(ShutDown):
        await worker


async def test_depth_adds_retries_and_waiting_are_counted_under_client_gos_names() -> None:
    registry = CollectorRegistry()
    queue = a_queue(registry)
    queue.add("a")
    queue.add("a")
    queue.add("b")

    def value(name: str) -> float | None:
        return registry.get_sample_value(name, {"name": "jobflow"})

    assert (value("workqueue_depth"), value("workqueue_adds_total")) == (2, 2)
    await asyncio.sleep(3)
    await served(queue)
    assert value("workqueue_depth") == 0
    assert value("workqueue_queue_duration_seconds_count") == 2
    assert value("workqueue_queue_duration_seconds_sum") == pytest.approx(6, abs=0.1)
    queue.retry("a")
    assert value("workqueue_retries_total") == 1
