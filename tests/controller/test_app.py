"""The controller put together, against an API server in memory and in simulated time."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.app import Controller
from controller.settings import ControllerSettings
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import Unavailable
from shared.ops.health import Health
from tests.shared.kube.fake_api import FakeApi, no_connection
from tests.support.builders import a_flow

pytestmark = pytest.mark.looptime

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
TEMPLATE: dict[str, Any] = {"tasks": [{"name": "main", "replicas": 1, "template": {"spec": {}}}]}


class Running:
    """A controller at work."""

    def __init__(self, api: FakeApi, settings: ControllerSettings) -> None:
        self.api = api
        self.stop = asyncio.Event()
        self.registry = CollectorRegistry()
        self.health = Health()
        loop = asyncio.get_running_loop()
        self.controller = Controller(
            KubeClient(api),
            settings,
            self.registry,
            random=Random(11),
            clock=lambda: BEGINNING + timedelta(seconds=loop.time()),
            monotonic=loop.time,
        )
        self.controller.report_to(self.health)
        self.task = asyncio.create_task(self.controller.run(self.stop))

    def phase(self, name: str = "etl") -> str:
        status = self.api.objects["jobflows"][Key("ml", name)].get("status", {})
        return str(status.get("state", {}).get("phase"))

    def jobs(self) -> list[str]:
        return sorted(key.name for key in self.api.objects["jobs"])

    def complete(self, *names: str) -> None:
        for name in names:
            self.api.put("jobs", name, status={"state": {"phase": "Completed"}})


@asynccontextmanager
async def controlling(api: FakeApi, **settings: Any) -> AsyncIterator[Running]:
    running = Running(api, ControllerSettings(**settings))
    try:
        yield running
    finally:
        running.stop.set()
        await asyncio.wait_for(running.task, 10)
        assert not api.watches


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    for name in ("get", "clean", "train"):
        api.put("jobtemplates", name, spec=TEMPLATE)
    return api


def post(api: FakeApi, *flows: str, name: str = "etl") -> None:
    metadata = {"generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    api.put("jobflows", name, metadata=metadata, spec={"flows": [a_flow(flow) for flow in flows]}, status={})


async def test_a_jobflow_runs_from_its_first_job_to_succeed(api: FakeApi) -> None:
    async with controlling(api) as running:
        await asyncio.sleep(1)
        assert not running.health.failures_of_readiness()
        post(api, "get", "clean: get", "train: clean")
        for number, job in enumerate(("etl-get", "etl-clean", "etl-train"), 1):
            await asyncio.sleep(0.1)
            assert len(running.jobs()) == number
            assert job in running.jobs()
            running.complete(job)
        await asyncio.sleep(2)
        assert running.phase() == "Succeed"


async def test_every_kind_of_change_wakes_alone_with_resync_off(api: FakeApi) -> None:
    api.objects["jobtemplates"].clear()
    api.put("jobs", "etl-get", uid="a-strangers")
    async with controlling(api, resync_period=0) as running:
        await asyncio.sleep(1)
        post(api, "get")  # a JobFlow that comes
        await asyncio.sleep(60)
        assert running.jobs() == ["etl-get"]
        api.put("jobtemplates", "get", spec=TEMPLATE)  # a JobTemplate that comes
        await asyncio.sleep(60)
        api.delete("jobs", "etl-get")  # a stranger's Job that goes
        await asyncio.sleep(1)
        assert running.jobs() == ["etl-get"]
        running.complete("etl-get")  # a Job that changes
        await asyncio.sleep(2)
        assert running.phase() == "Succeed"


async def test_the_arrival_of_a_template_starts_within_a_second_what_waited_for_it(api: FakeApi) -> None:
    del api.objects["jobtemplates"][Key("ml", "get")]
    async with controlling(api, resync_period=0) as running:
        post(api, "get")
        await asyncio.sleep(600)
        assert running.jobs() == []
        api.put("jobtemplates", "get", spec=TEMPLATE)
        await asyncio.sleep(1)
        assert running.jobs() == ["etl-get"]


async def test_a_template_says_which_jobs_exist_from_it_whoever_changed_that(api: FakeApi) -> None:
    def told() -> Any:
        return api.objects["jobtemplates"][Key("ml", "get")].get("status", {}).get("jobDependsOnList", [])

    async with controlling(api, resync_period=0) as running:
        post(api, "get")
        post(api, "get", name="other")
        await asyncio.sleep(10)
        assert told() == running.jobs() == ["etl-get", "other-get"]
        api.delete("jobs", "other-get")  # a Job that goes
        await asyncio.sleep(10)
        assert told() == ["etl-get"]
        api.put("jobtemplates", "get", status={"jobDependsOnList": ["a-lie"]})  # somebody who writes
        await asyncio.sleep(10)
        assert told() == ["etl-get"]


async def test_it_stays_up_and_unready_without_an_api_server_and_begins_once_there_is_one(api: FakeApi) -> None:
    post(api, "get")
    api.when("*", "*", no_connection, times=100_000)
    async with controlling(api) as running:
        await asyncio.sleep(300)
        assert not running.task.done()
        assert set(running.health.failures_of_readiness()) == {"jobflows known", "jobtemplates known", "jobs known"}
        assert not running.health.failures_of_liveness()
        api.scripts.clear()
        await asyncio.sleep(31)
        assert not running.health.failures_of_readiness()
        assert running.jobs() == ["etl-get"]


@pytest.mark.parametrize("missing", ["jobflows", "jobtemplates", "jobs"])
async def test_it_does_nothing_until_every_kind_is_known(api: FakeApi, missing: str) -> None:
    post(api, "get")
    api.missing.add(missing)
    async with controlling(api) as running:
        await asyncio.sleep(300)
        assert set(running.health.failures_of_readiness()) == {f"{missing} known"}
        assert not [seen for seen in api.seen if seen.verb not in ("list", "watch")]
        api.missing.clear()
        await asyncio.sleep(31)
        assert running.jobs() == ["etl-get"]


async def test_after_an_outage_it_catches_up_and_asks_gently(api: FakeApi) -> None:
    async with controlling(api) as running:
        await asyncio.sleep(1)
        for number in range(40):
            post(api, "get", "clean: get", name=f"flow-{number}")
        await asyncio.sleep(60)
        assert len(running.jobs()) == 40
        api.when("*", "*", no_connection, times=100_000)
        for watch in list(api.watches):
            watch.end(Unavailable("connection reset", reason="ConnectionFailed"))
        for number in range(40):
            running.complete(f"flow-{number}-get")
        await asyncio.sleep(120)
        api.scripts.clear()
        back = asyncio.get_running_loop().time()
        await asyncio.sleep(30)
        assert len(running.jobs()) == 80
        first_second = [seen for seen in api.seen if back <= seen.at < back + 1]
        assert len(first_second) <= 3 + 40 * 6


async def test_what_the_server_asks_for_after_429_is_waited_out_by_every_create(api: FakeApi) -> None:
    async with controlling(api) as running:
        await asyncio.sleep(1)
        api.fail("create", "jobs", 429, Retry_After="9")
        for number in range(20):
            post(api, "get", name=f"flow-{number}")
        await asyncio.sleep(60)
        assert len(running.jobs()) == 20
        refused, *others = api.requests("create", "jobs")
        assert len(others) == 20
        assert min(seen.at for seen in others) - refused.at >= 9


async def test_finished_jobflows_cost_no_write_at_the_start_and_none_at_rest(api: FakeApi) -> None:
    async with controlling(api) as running:
        post(api, "get")
        await asyncio.sleep(1)
        running.complete("etl-get")
        await asyncio.sleep(30)
        assert running.phase() == "Succeed"
    api.seen.clear()
    async with controlling(api, resync_period=60):
        await asyncio.sleep(1200)
    assert not [seen for seen in api.seen if seen.request.method != "GET"]


async def test_a_stop_lets_the_write_in_hand_end_and_begins_no_other(api: FakeApi) -> None:
    async with controlling(api, workers=1) as running:
        await asyncio.sleep(1)
        for number in range(10):
            post(api, "get", name=f"flow-{number}")
        api.when("create", "jobs", lambda _: running.stop.set())
        await asyncio.wait_for(running.task, 10)
        assert len(api.requests("create", "jobs")) == 1
        assert len(running.jobs()) == 1
        assert len(api.requests("patch", "jobflows")) == 1, "the status of the pass in hand is stored as well"


async def test_if_a_loop_dies_the_program_ends_with_its_error(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(api, ControllerSettings())
    await asyncio.sleep(1)
    monkeypatch.setattr("shared.kube.reflector.Reflector._take", lambda *_: 1 / 0)
    post(api, "get")
    with pytest.raises(BaseExceptionGroup) as raised:
        await asyncio.wait_for(running.task, 10)
    assert raised.group_contains(ZeroDivisionError)


async def test_metrics_are_there_under_the_names_that_dashboards_know(api: FakeApi) -> None:
    async with controlling(api) as running:
        post(api, "get")
        await asyncio.sleep(1)
        running.complete("etl-get")
        await asyncio.sleep(2)
        names = {sample.name for metric in running.registry.collect() for sample in metric.samples}
    assert {
        "volcano_jobflow_succeed_phase_count",
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_retries_total",
        "controller_runtime_reconcile_total",
        "controller_runtime_reconcile_time_seconds_sum",
    } <= names
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
