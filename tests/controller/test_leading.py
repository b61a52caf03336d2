"""The controller put together with the election: it stands by, works, and ends, in simulated time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.app import Controller
from controller.runtime.election import Terms
from controller.runtime.leader import Leader, LeaseLost
from controller.runtime.telling import Told
from controller.settings import ControllerSettings
from shared.api.event import WARNING
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.resources import JOBFLOWS
from shared.kube.transport import Answer, Guard, Request
from shared.ops.health import Health
from tests.shared.kube.fake_api import FakeApi, no_connection, whole
from tests.support.builders import a_flow

pytestmark = pytest.mark.looptime

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = Key("jobs-system", "jobflow-controller")
TEMPLATE: dict[str, Any] = {"tasks": [{"name": "main", "replicas": 1, "template": {"spec": {}}}]}


class Replica:
    """A whole controller with its own way to the API server, on which its writes are counted."""

    def __init__(self, api: FakeApi, name: str) -> None:
        self.api = api
        self.writes: list[tuple[str, str]] = []
        self.requests: list[Request] = []
        self.takes = 0.0
        self.cut_off = False
        self.slept = 0.0
        self.stop = asyncio.Event()
        self.health = Health()
        loop = asyncio.get_running_loop()
        client, random = KubeClient(self), Random(name)
        self.leader = Leader(
            client.apart(),
            LEASE,
            name,
            Terms(),
            random=random,
            clock=self.clock,
            monotonic=lambda: loop.time() + self.slept,
        )
        self.controller = Controller(
            client,
            ControllerSettings(),
            CollectorRegistry(),
            random=random,
            clock=self.clock,
            monotonic=loop.time,
            leader=self.leader,
        )
        self.controller.report_to(self.health)
        self.task = asyncio.create_task(self.controller.run(self.stop))

    @staticmethod
    def clock() -> datetime:
        return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        self.requests.append(request)
        if self.cut_off:
            no_connection(request)
        if request.method != "GET" and "/leases" not in request.path and "/events" not in request.path:
            self.writes.append((request.method, request.path.rpartition("/")[2]))
            await asyncio.sleep(self.takes)
        return await self.api.send(request)

    def stream(self, request: Request) -> Any:
        return self.api.stream(request)

    async def close(self) -> None:
        pass

    async def end(self) -> None:
        self.stop.set()
        with suppress(LeaseLost):
            await asyncio.wait_for(self.task, 10)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    for name in ("get", "clean"):
        api.put("jobtemplates", name, spec=TEMPLATE)
    yield api
    assert not api.watches, "whoever ends leaves no watch behind"


def post(api: FakeApi, name: str, *flows: str) -> None:
    metadata = {"generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    api.put("jobflows", name, metadata=metadata, spec={"flows": [a_flow(flow) for flow in flows]}, status={})


def jobs(api: FakeApi) -> list[str]:
    return sorted(key.name for key in api.objects["jobs"])


async def test_whoever_stands_by_knows_everything_is_ready_and_takes_over_with_no_list_of_its_own(
    api: FakeApi,
) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1)
    second = Replica(api, "second")
    post(api, "etl", "get", "clean: get")
    await asyncio.sleep(30)
    assert jobs(api) == ["etl-get"]
    assert not second.health.failures_of_readiness()
    assert not second.health.failures_of_liveness()
    assert not second.writes
    looks = [it.path for it in second.requests if not it.path.endswith(("/jobs", "/jobflows", "/jobtemplates"))]
    assert set(looks) == {"/apis/coordination.k8s.io/v1/namespaces/jobs-system/leases/jobflow-controller"}
    await first.end()
    api.seen.clear()
    api.put("jobs", "etl-get", status={"state": {"phase": "Completed"}})
    await asyncio.sleep(2.5)
    assert jobs(api) == ["etl-clean", "etl-get"]
    assert not api.requests("list", "jobs")
    await second.end()


async def test_the_lease_is_given_back_only_when_the_last_write_has_ended(api: FakeApi) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1)
    first.takes = 3.0
    post(api, "etl", "get")
    await asyncio.sleep(0.5)
    assert first.writes
    first.stop.set()
    await asyncio.sleep(2)
    assert api.objects["leases"][LEASE]["spec"]["holderIdentity"] == "first"
    await first.end()
    assert jobs(api) == ["etl-get"]
    assert api.objects["leases"][LEASE]["spec"]["holderIdentity"] == ""


async def test_whoever_loses_the_lease_ends_with_that_alone_and_sends_nothing_more(api: FakeApi) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1)
    api.put("leases", LEASE.name, namespace=LEASE.namespace, spec={"holderIdentity": "rival"})
    with pytest.raises(LeaseLost, match="held by rival"):
        await asyncio.wait_for(first.task, 3)
    post(api, "etl", "get")
    await asyncio.sleep(60)
    assert not first.writes


async def test_without_an_api_server_a_leader_ends_within_ten_seconds_and_one_that_stands_by_does_not(
    api: FakeApi,
) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1)
    second = Replica(api, "second")
    await asyncio.sleep(10)
    first.cut_off = second.cut_off = True
    with pytest.raises(LeaseLost):
        await asyncio.wait_for(first.task, 10.1)
    await asyncio.sleep(120)
    assert not second.task.done()
    second.cut_off = False
    post(api, "etl", "get")
    await asyncio.sleep(20)
    assert jobs(api) == ["etl-get"]
    await second.end()


async def test_after_a_long_stop_not_one_write_is_sent_whatever_there_is_to_do(api: FakeApi) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1.5)
    first.slept += 20
    for number in range(50):
        post(api, f"flow-{number}", "get")
    with pytest.raises(LeaseLost, match="not renewed"):
        await asyncio.wait_for(first.task, 3)
    assert not first.writes
    assert not jobs(api)


async def test_after_a_long_stop_not_one_event_is_sent_either(api: FakeApi) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1.5)
    post(api, "etl", "nowhere")
    await asyncio.sleep(0)
    first.slept += 20
    jobflow = JOBFLOWS.decode(whole(api.objects["jobflows"][Key("ml", "etl")]).body)
    first.controller.narrator.tell(jobflow, [Told(WARNING, "JobRefused", "CreateJob", "no")])
    with pytest.raises(LeaseLost):
        await asyncio.wait_for(first.task, 3)
    assert not api.objects["events"]


async def test_the_end_of_the_story_is_told_though_the_program_is_stopped_at_once(api: FakeApi) -> None:
    first = Replica(api, "first")
    post(api, "etl", "get")
    await asyncio.sleep(1)
    api.put("jobs", "etl-get", status={"state": {"phase": "Completed"}})
    await asyncio.sleep(0.2)
    assert api.objects["jobflows"][Key("ml", "etl")]["status"]["state"]["phase"] == "Succeed"
    before = asyncio.get_running_loop().time()
    await first.end()
    assert asyncio.get_running_loop().time() - before < 2
    assert "JobFlowSucceeded" in {event["reason"] for event in api.objects["events"].values()}


async def test_a_stop_while_standing_by_ends_it_and_leaves_the_lease_alone(api: FakeApi) -> None:
    first = Replica(api, "first")
    await asyncio.sleep(1)
    second = Replica(api, "second")
    await asyncio.sleep(5)
    await second.end()
    assert not second.task.exception()
    assert api.objects["leases"][LEASE]["spec"]["holderIdentity"] == "first"
    await first.end()
