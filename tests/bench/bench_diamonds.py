"""How fast many small JobFlows run: diamonds of five Jobs, all from the same five templates, posted at once.

    python -m tests.bench.bench_diamonds [JOBFLOWS] [SECONDS-PER-JOB]

Beside it stands an ideal client, which knows the diamonds and does nothing but create each Job when its watch tells
that those before it have completed, and store one last status for each JobFlow; as many requests in flight, the same
player at work. The process ends with 1 if a goal is missed.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.client import MERGE_PATCH
from shared.kube.errors import Unavailable
from shared.kube.reflector import Reflector
from shared.kube.resources import JOBFLOWS, JOBS, Resource
from shared.kube.transport import Request
from tests.bench.bed import IN_FLIGHT, Bed, a_bed, a_bench_jobflow, a_plain_job, dumps, quantile, side_by_side, verdict

DIAMOND = ("get", "clean: get", "count: get", "split: get", "train: clean count split")
TARGETS = {flow.partition(":")[0]: flow.partition(":")[2].split() for flow in DIAMOND}


@dataclass
class Run:
    """How a crowd of JobFlows went. Times in seconds from the first post."""

    name: str
    seconds: float
    each: list[float]
    """From a JobFlow's first Job to its Succeed."""

    @property
    def a_minute(self) -> float:
        """JobFlows that came to their end in a minute."""
        return len(self.each) / self.seconds * 60


@dataclass
class Sights:
    """What two watches tell: of Jobs, and of JobFlows."""

    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    completed: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def job(self, old: Job | None, new: Job | None, /, *, initial: bool) -> None:
        if new and old is None:
            self.began.setdefault(new.name.rpartition("-")[0], time.monotonic())
        if new and new.phase == "Completed" and (old is None or old.phase != "Completed"):
            self.completed.put_nowait(new.name)

    def jobflow(self, old: JobFlow | None, new: JobFlow | None, /, *, initial: bool) -> None:
        if new and new.phase == "Succeed":
            self.ended.setdefault(new.name, time.monotonic())
            self.news.set()

    async def until(self, ended: int, within: float) -> None:
        async with asyncio.timeout(within):
            while len(self.ended) < ended:
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def watching(bed: Bed, namespace: str) -> AsyncIterator[Sights]:
    sights = Sights()
    reflectors = [
        Reflector(bed.client, JOBS, Cache[Job](), Random(0), sights.job, namespace=namespace),
        Reflector(bed.client, JOBFLOWS, Cache[JobFlow](), Random(0), sights.jobflow, namespace=namespace),
    ]
    tasks = [asyncio.create_task(reflector.run()) for reflector in reflectors]
    for reflector in reflectors:
        await reflector.synced.wait()
    try:
        yield sights
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def measure(jobflows: int, seconds: float) -> int:
    names = [f"d{i:05}" for i in range(jobflows)]
    async with a_bed() as bed:
        with bed.player(f"--delay={seconds}"):
            await ideal_client(bed, "warm-up", names[:50])
            before = await ideal_client(bed, "before", names)
            ours = await controller(bed, names)
            after = await ideal_client(bed, "after", names) if jobflows <= 1000 else before
    ideal = (before.a_minute + after.a_minute) / 2
    print(f"{jobflows} diamonds of 5 Jobs of {seconds:g} s, posted at once: JobFlows a minute")
    apart = f"({before.a_minute:.0f} before, {after.a_minute:.0f} after)"
    print(f"  ideal client, {IN_FLIGHT} in flight  {ideal:6.0f}   {apart}")
    print(f"  controller                  {ours.a_minute:6.0f}   ratio {ours.a_minute / ideal:.2f}")
    print(f"  a JobFlow took {quantile(ours.each, 0.5):.1f} s in the median, all of them {ours.seconds:.1f} s")
    missed = verdict("70 % of the ideal client's rate", ours.a_minute >= 0.7 * ideal)
    return missed + verdict(
        "half of them take half the time of all or less", quantile(ours.each, 0.5) < ours.seconds / 2
    )


async def ideal_client(bed: Bed, namespace: str, names: list[str]) -> Run:
    await bed.namespace(namespace)
    slots = asyncio.Semaphore(IN_FLIGHT)
    done: dict[str, set[str]] = {name: set() for name in names}
    work: set[asyncio.Task[None]] = set()

    async def create(jobflow: str, flow: str) -> None:
        async with slots:
            await bed.client.create(JOBS, namespace, a_plain_job(f"{jobflow}-{flow}", namespace))

    async def end(jobflow: str) -> None:
        patch = dumps({"status": {"state": {"phase": "Succeed"}, "completedJobs": sorted(TARGETS)}})
        async with slots:
            key = Key(namespace, jobflow)
            await bed.client.patch(JOBFLOWS, key, patch, content_type=MERGE_PATCH, subresource="status")

    def begin(coroutine: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.ensure_future(coroutine)
        work.add(task)
        task.add_done_callback(work.discard)

    async def follow(sights: Sights) -> None:
        while True:
            jobflow, _, flow = (await sights.completed.get()).rpartition("-")
            done[jobflow].add(flow)
            if len(done[jobflow]) == len(TARGETS):
                begin(end(jobflow))
            for name, targets in TARGETS.items():
                if flow in targets and done[jobflow].issuperset(targets):
                    begin(create(jobflow, name))

    async def post(name: str) -> None:
        await bed.jobflow(a_bench_jobflow(namespace, *DIAMOND, name=name))
        begin(create(name, "get"))

    async with watching(bed, namespace) as sights:
        following = asyncio.create_task(follow(sights))
        start = time.monotonic()
        await side_by_side(post(name) for name in names)
        await sights.until(len(names), 900)
        following.cancel()
    for resource in (JOBFLOWS, JOBS):  # which the controller would else find, and put right
        await delete_all(bed, resource, namespace)
    return run_of(namespace, sights, start, names)


async def delete_all(bed: Bed, resource: Resource[Any], namespace: str) -> None:
    """Delete all objects of a kind, which takes longer than a request may where they are thousands."""
    while True:
        with suppress(Unavailable):
            await bed.client.write("deletecollection", resource, Request("DELETE", resource.path(namespace)))
            return


async def controller(bed: Bed, names: list[str]) -> Run:
    namespace = await bed.namespace("ours")
    for flow in TARGETS:
        await bed.template(flow, namespace)
    with bed.controller():
        async with watching(bed, namespace) as sights:
            start = time.monotonic()
            await side_by_side(bed.jobflow(a_bench_jobflow(namespace, *DIAMOND, name=name)) for name in names)
            await sights.until(len(names), 1800)
        jobs = len(names) * len(DIAMOND)
        cpu = bed.metric("process_cpu_seconds_total") * 1000 / len(names)
        print(f"  controller: {bed.writes() / jobs:.2f} writes for each Job, {cpu:.1f} ms of CPU for each JobFlow")
        verdict("2 writes for each Job at most", bed.writes() / jobs <= 2)
        verdict("15 ms of CPU for each JobFlow at most, its start included", cpu <= 15)
    return run_of("controller", sights, start, names)


def run_of(name: str, sights: Sights, start: float, names: list[str]) -> Run:
    return Run(name, max(sights.ended.values()) - start, [sights.ended[it] - sights.began[it] for it in names])


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(
        asyncio.run(measure(int(arguments[0]) if arguments else 1000, float(arguments[1]) if arguments[1:] else 0.0))
    )
