"""An informer wakes keys by what changes, and a resync wakes all of them, evenly."""

import asyncio
from collections.abc import Iterable
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.informer import Informer
from controller.runtime.metrics import QueueMetrics, RuntimeMetrics
from controller.runtime.resync import resync
from controller.runtime.workqueue import Priority, WorkQueue
from shared.api.job import Job
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.resources import JOBS
from tests.shared.kube.fake_api import FakeApi

pytestmark = pytest.mark.looptime


def a_queue() -> WorkQueue[Key]:
    return WorkQueue(Random(3), QueueMetrics(RuntimeMetrics(CollectorRegistry()), "jobflow"))


def wakes_itself(old: Job | None, new: Job | None) -> Iterable[tuple[Key, Priority]]:
    job = new or old
    if job:
        yield job.key, Priority.STARTED


async def drain(queue: WorkQueue[Key]) -> list[tuple[str, Priority]]:
    served = []
    while len(queue):
        key, priority = await queue.get()
        queue.done(key)
        served.append((key.name, priority))
    return served


async def test_the_first_list_wakes_in_the_background_and_what_happens_later_with_its_own_priority() -> None:
    api, queue = FakeApi(), a_queue()
    api.put("jobs", "a")
    informer = Informer(KubeClient(api), JOBS, Random(1))
    informer.wake(queue, wakes_itself)
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    assert await drain(queue) == [("a", Priority.BACKGROUND)]
    assert [job.name for job in informer.cache] == ["a"]
    api.put("jobs", "b")
    api.delete("jobs", "a")
    await asyncio.sleep(0.1)
    assert await drain(queue) == [("b", Priority.STARTED), ("a", Priority.STARTED)]
    running.cancel()


async def test_of_some_namespaces_it_knows_those_and_no_others() -> None:
    api = FakeApi()
    for namespace in ("red", "blue", "green"):
        api.put("jobs", "before", namespace=namespace)
    informer = Informer(KubeClient(api), JOBS, Random(1), namespaces=("red", "blue"))
    assert informer.trouble()
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    assert informer.trouble() is None
    for namespace in ("red", "blue", "green"):
        api.put("jobs", "after", namespace=namespace)
    api.delete("jobs", "before", namespace="blue")
    await asyncio.sleep(0.1)
    assert {str(job.key) for job in informer.cache} == {"red/before", "red/after", "blue/after"}
    running.cancel()


async def test_a_handler_that_fails_keeps_no_other_from_hearing_and_no_later_change() -> None:
    api, queue = FakeApi(), a_queue()

    def fails(old: Job | None, new: Job | None) -> Iterable[tuple[Key, Priority]]:
        raise ZeroDivisionError

    informer = Informer(KubeClient(api), JOBS, Random(1))
    informer.wake(queue, fails)
    informer.wake(queue, wakes_itself)
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()
    for name in "ab":
        api.put("jobs", name)
    await asyncio.sleep(0.1)
    assert [name for name, _ in await drain(queue)] == ["a", "b"]
    assert not running.done()
    running.cancel()


async def test_a_resync_wakes_everything_once_a_period_and_never_all_at_one_moment() -> None:
    api, queue = FakeApi(), a_queue()
    cache: Cache[Job] = Cache()
    for number in range(1500):
        cache.put(JOBS.decode(str(api.put("jobs", f"job-{number}")).replace("'", '"').encode()))
    running = asyncio.create_task(resync(cache, queue, period=600))
    woken: list[str] = []
    largest = 0
    for _ in range(600):
        await asyncio.sleep(1)
        served = await drain(queue)
        assert all(priority is Priority.BACKGROUND for _, priority in served)
        largest = max(largest, len(served))
        woken += [name for name, _ in served]
    assert len(woken) == len(set(woken)) == 1500
    assert largest <= 6
    await asyncio.sleep(600)
    assert len(await drain(queue)) == 1500
    running.cancel()


async def test_a_resync_of_nothing_waits() -> None:
    queue = a_queue()
    running = asyncio.create_task(resync(Cache[Job](), queue, period=600))
    await asyncio.sleep(6000)
    assert len(queue) == 0
    assert not running.done()
    running.cancel()
