"""Offers a reflector at work on an API server in memory, in simulated time: a test that waits two minutes takes none.

running(api, "a", "b")
async with following(api) as follower:
    await follower.reflector.synced.wait()
    assert follower.holds_what_is_there()
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from shared.api.job import Job
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import JOBS
from tests.shared.kube.fake_api import FakeApi

Told = list[tuple[Job | None, Job | None]]


class Follower:
    """A reflector at work, its cache, and what it told."""

    def __init__(self, api: FakeApi, pages: int = 500) -> None:
        self.api = api
        self.cache: Cache[Job] = Cache({"owner": lambda job: [job.owner_uid] if job.owner_uid else []})
        self.told: Told = []
        self.first: list[bool] = []
        self.client = KubeClient(api)
        self.reflector = Reflector(self.client, JOBS, self.cache, Random(7), self.hear, page=pages)

    def hear(self, old: Job | None, new: Job | None, /, *, initial: bool) -> None:
        if new:
            assert self.cache.get(new.key) is new, "told before the cache held it"
        elif old:
            assert self.cache.get(old.key) is None or self.cache.get(old.key).uid != old.uid  # type: ignore[union-attr]
        self.told.append((old, new))
        self.first.append(initial)

    def news(self) -> list[str]:
        """What was told since the last time, in words."""
        told, self.told = self.told, []
        return [f"{phase(old)} -> {phase(new)}" for old, new in told]

    def holds_what_is_there(self) -> bool:
        there = {
            key: (o["metadata"]["uid"], o["metadata"]["resourceVersion"]) for key, o in self.api.objects["jobs"].items()
        }
        return there == {job.key: (job.uid, job.metadata.resource_version) for job in self.cache}


def phase(job: Job | None) -> str:
    return f"{job.name} {job.phase}" if job else "nothing"


@asynccontextmanager
async def following(api: FakeApi, pages: int = 500) -> AsyncIterator[Follower]:
    follower = Follower(api, pages)
    task = asyncio.create_task(follower.reflector.run())
    try:
        yield follower
    finally:
        assert not task.done(), "the reflector has ended"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not api.watches, "a watch was left open"


def running(api: FakeApi, *names: str) -> None:
    for name in names:
        api.put("jobs", name, status={"state": {"phase": "Running"}})


def to(phase: str) -> dict[str, object]:
    return {"state": {"phase": phase}}
