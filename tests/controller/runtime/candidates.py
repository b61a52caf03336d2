"""Offers replicas that take part in the election of a leader, and the Lease that they want, in simulated time.

async with candidates(api, "a", "b") as [a, b]:
    await asyncio.sleep(30)
    ...                              # one of them leads
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.election import Terms
from controller.runtime.leader import Leader, LeaderMetrics, LeaseLost
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.transport import Answer, Guard, Request
from tests.shared.kube.fake_api import FakeApi, no_connection

LEASE = Key("jobs-system", "jobflow-controller")
TERMS = Terms()
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class Candidate:
    """A replica that takes part: it has a way of its own to the API server, and a clock that may jump."""

    def __init__(self, api: FakeApi, name: str = "a", *, skew: float = 0.0, known: bool = True) -> None:
        self.api = api
        self.name = name
        self.slept = 0.0
        self.arrives_after: Callable[[], float] = lambda: 0.0
        self.answers_after: Callable[[], float] = lambda: 0.0
        self.loses_answer: Callable[[], bool] = lambda: False
        self.on_the_way: set[asyncio.Task[Answer]] = set()
        self.known = asyncio.Event()
        if known:
            self.known.set()
        self.registry = CollectorRegistry()
        self.loop = asyncio.get_running_loop()
        self.leader = Leader(
            KubeClient(self),
            LEASE,
            name,
            TERMS,
            random=Random(name),
            clock=lambda: BEGINNING + timedelta(seconds=self.loop.time() + skew),
            monotonic=lambda: self.loop.time() + self.slept,
            metrics=LeaderMetrics(self.registry, LEASE),
        )
        self.acquired_at: float | None = None
        self.task = asyncio.create_task(self.take_part())

    async def take_part(self) -> None:
        await self.leader.acquire(self.known)
        self.acquired_at = self.loop.time()
        await self.leader.hold()

    async def end(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError, LeaseLost):
            await self.task

    async def nothing_is_on_its_way(self) -> None:
        if self.on_the_way:
            await asyncio.wait(self.on_the_way)

    async def lost(self, within: float) -> str:
        """Why it has ended, which it has to do by itself."""
        with pytest.raises(LeaseLost) as lost:
            await asyncio.wait_for(self.task, within)
        return str(lost.value)

    @property
    def shown(self) -> float | None:
        return self.registry.get_sample_value("leader_election_master_status", {"name": LEASE.name})

    # The transport

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        # What was sent arrives, though nobody may wait for the answer any more.
        request_on_its_way = asyncio.create_task(self.arrive(request))
        self.on_the_way.add(request_on_its_way)
        request_on_its_way.add_done_callback(self.on_the_way.discard)
        answer = await asyncio.shield(request_on_its_way)
        await asyncio.sleep(self.answers_after())
        return no_connection(request) if self.loses_answer() else answer

    async def arrive(self, request: Request) -> Answer:
        await asyncio.sleep(self.arrives_after())
        return await self.api.send(request)

    def stream(self, request: Request) -> Any:
        raise AssertionError("the Lease is not watched")

    async def close(self) -> None:
        pass


@asynccontextmanager
async def candidates(api: FakeApi, *names: str) -> AsyncIterator[list[Candidate]]:
    taking_part = [Candidate(api, name) for name in names]
    try:
        yield taking_part
    finally:
        for each in taking_part:
            await each.end()
            await each.nothing_is_on_its_way()


def lease(api: FakeApi) -> dict[str, Any]:
    return api.objects["leases"][LEASE]


def lease_is_there(api: FakeApi) -> bool:
    return LEASE in api.objects["leases"]


def put_lease(api: FakeApi, **spec: Any) -> None:
    api.put("leases", LEASE.name, namespace=LEASE.namespace, spec=spec)


def held_by_another(api: FakeApi, **more: Any) -> None:
    put_lease(
        api,
        **{
            "holderIdentity": "rival",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 4,
            **more,
        },
    )


def now() -> float:
    return asyncio.get_running_loop().time()
