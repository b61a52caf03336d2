"""Events on their way to an API server in memory, in simulated time."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.events import A_SECOND, BURST, EventMetrics, Events
from controller.runtime.leader import NotLeading
from controller.runtime.telling import FOLDED, REPEATED, ROOM, Regarding, Told
from shared.api.event import NORMAL, WARNING
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import Unavailable
from shared.kube.transport import Answer, Request
from tests.shared.kube.fake_api import FakeApi, failure, no_connection

pytestmark = pytest.mark.looptime

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class Teller:
    """Who tells, and what the API server has heard of it."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.registry = CollectorRegistry()
        self.leads = True
        loop = asyncio.get_running_loop()
        self.events = Events(
            KubeClient(self.api),
            controller="jobflow-controller",
            instance="host_1",
            random=Random(7),
            clock=lambda: BEGINNING + timedelta(seconds=loop.time()),
            monotonic=loop.time,
            metrics=EventMetrics(self.registry),
            guard=self.guard,
        )
        self.task = asyncio.create_task(self.events.run())

    def guard(self) -> None:
        if not self.leads:
            raise NotLeading

    def warn(self, words: str, name: str = "etl") -> None:
        told = Told(WARNING, "JobRefused", "CreateJob", words, apart=60.0)
        self.events.tell(Regarding("flow.volcano.sh/v1alpha1", "JobFlow", "ml", name, f"uid-of-{name}"), told)

    def cheer(self, name: str = "etl") -> None:
        told = Told(NORMAL, "JobFlowSucceeded", "Finish", "All 3 Jobs have completed")
        self.events.tell(Regarding("flow.volcano.sh/v1alpha1", "JobFlow", "ml", name, f"uid-of-{name}"), told)

    def heard(self) -> list[dict[str, Any]]:
        return [event for _, event in sorted(self.api.objects["events"].items())]

    def notes(self) -> list[str]:
        return [event["note"] for event in self.heard()]

    def counted(self, kind: str, outcome: str) -> float:
        return self.registry.get_sample_value("jobflow_events_total", {"type": kind, "outcome": outcome}) or 0.0


@pytest.fixture
async def teller() -> AsyncIterator[Teller]:
    teller = Teller()
    yield teller
    assert not teller.task.done(), "nothing may end it"
    teller.task.cancel()
    with suppress(asyncio.CancelledError):
        await teller.task


async def test_an_event_has_all_that_the_api_server_requires(teller: Teller) -> None:
    teller.warn("no such queue")
    await asyncio.sleep(0.1)
    (event,) = teller.heard()
    assert event["apiVersion"] == "events.k8s.io/v1"
    assert re.fullmatch(r"2026-01-01T00:00:00\.\d{6}Z", event["eventTime"])
    assert event["reportingController"] == "jobflow-controller"
    assert event["reportingInstance"] == "host_1"
    assert (event["type"], event["reason"], event["action"]) == (WARNING, "JobRefused", "CreateJob")
    assert event["note"] == "no such queue"
    assert event["metadata"]["namespace"] == event["regarding"]["namespace"] == "ml"
    assert event["regarding"]["uid"] == "uid-of-etl"
    assert re.fullmatch(r"etl\.[0-9a-f]{16}", event["metadata"]["name"])


async def test_the_longest_name_of_an_object_makes_no_longer_one_than_kubernetes_takes(teller: Teller) -> None:
    teller.warn("no", name="-".join(["x" * 62] * 4))
    await asyncio.sleep(0.1)
    (event,) = teller.heard()
    assert len(event["metadata"]["name"]) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[0-9a-f]{16}", event["metadata"]["name"])


async def test_sorted_by_name_they_are_in_the_order_in_which_they_were_told(teller: Teller) -> None:
    for number in range(9):
        teller.warn(f"{number}")
        await asyncio.sleep(61)
    assert teller.notes() == [f"{number}" for number in range(9)]


async def test_no_more_go_out_than_ten_a_second_after_a_burst_and_warnings_go_first(teller: Teller) -> None:
    for number in range(300):
        teller.cheer(f"n{number}")
    for number in range(300):
        teller.warn("no", f"w{number}")
    await asyncio.sleep(0.55)
    assert len(teller.heard()) == BURST + 5
    assert {event["type"] for event in teller.heard()} == {WARNING}
    await asyncio.sleep(10)
    assert len(teller.heard()) == BURST + 5 + 10 * A_SECOND
    await asyncio.sleep(60)
    assert len(teller.heard()) == 600


async def test_what_there_is_no_room_for_is_dropped_and_counted(teller: Teller) -> None:
    for number in range(ROOM + 50):
        teller.cheer(f"n{number}")
    for number in range(20):
        teller.warn("no", f"w{number}")
    assert teller.counted(NORMAL, "dropped") == 70
    await asyncio.sleep(200)
    assert teller.counted(NORMAL, "written") == ROOM - 20
    assert teller.counted(WARNING, "written") == 20
    assert len(teller.heard()) == ROOM


async def test_what_is_told_again_is_counted_in_the_event_that_is_there(teller: Teller) -> None:
    for _ in range(40):
        teller.warn("no such queue")
        await asyncio.sleep(20)
    (event,) = teller.heard()
    assert event["series"]["count"] == 2 * REPEATED / 20 + 1
    assert event["series"]["lastObservedTime"] == "2026-01-01T00:12:00.000000Z"
    assert len(teller.api.requests("create", "events")) == 1
    assert len(teller.api.requests("patch", "events")) == 2
    assert teller.counted(WARNING, "folded") == 37


async def test_an_event_that_is_no_longer_there_is_written_anew(teller: Teller) -> None:
    teller.warn("no such queue")
    await asyncio.sleep(1)
    teller.api.delete("events", teller.heard()[0]["metadata"]["name"])
    await asyncio.sleep(REPEATED)
    teller.warn("no such queue")
    await asyncio.sleep(1)
    assert teller.notes() == ["no such queue"]


async def test_an_outage_loses_nothing_and_makes_nothing_twice(teller: Teller) -> None:
    teller.api.when("*", "events", no_connection, times=4)
    for number in range(5):
        teller.warn("no", f"w{number}")
    await asyncio.sleep(60)
    assert len(teller.heard()) == 5
    assert len(teller.api.requests("create", "events")) == 9


async def test_an_event_whose_answer_was_lost_is_not_written_twice(teller: Teller) -> None:
    def committed(request: Request) -> Answer:
        teller.api._answer("create", "events", request)
        raise Unavailable("reset", reason="ConnectionFailed")

    teller.api.when("create", "events", committed)
    teller.warn("no")
    await asyncio.sleep(10)
    assert teller.notes() == ["no"]
    assert len(teller.api.requests("create", "events")) == 2
    teller.warn("no")  # and it is known by its name
    await asyncio.sleep(REPEATED)
    teller.warn("no")
    await asyncio.sleep(10)
    assert teller.heard()[0]["series"]["count"] == 3


async def test_a_namespace_that_is_going_or_a_missing_right_costs_only_that_event(teller: Teller) -> None:
    teller.api.fail("create", "events", 403, times=2)
    for number in range(4):
        teller.warn("no", f"w{number}")
    await asyncio.sleep(1)
    assert len(teller.heard()) == 2
    assert teller.counted(WARNING, "refused") == 2


async def test_the_api_server_is_not_asked_before_the_time_that_it_asked_for(teller: Teller) -> None:
    teller.api.fail("create", "events", 429, Retry_After="20")
    teller.warn("no")
    await asyncio.sleep(19)
    assert len(teller.api.requests("create", "events")) == 1
    await asyncio.sleep(15)
    assert teller.notes() == ["no"]


async def test_whoever_does_not_lead_writes_none(teller: Teller) -> None:
    teller.leads = False
    teller.warn("no")
    teller.cheer()
    await asyncio.sleep(60)
    assert not teller.api.seen


async def test_telling_waits_for_nothing_while_the_api_server_hangs(teller: Teller) -> None:
    def refused(_: Request) -> Answer:
        return failure(500)

    teller.api.when("*", "events", refused, times=10_000)
    before = asyncio.get_running_loop().time()
    for number in range(5 * ROOM):
        teller.warn("no", f"w{number}")
    assert asyncio.get_running_loop().time() == before
    await asyncio.sleep(600)
    assert len(teller.api.seen) <= 600 / 15
    assert teller.counted(WARNING, "dropped") == 4 * ROOM


async def test_a_fault_in_what_is_told_ends_nothing(teller: Teller) -> None:
    told = Told(NORMAL, "JobsCreated", "CreateJobs", "{nothing}", "", ("a",))
    teller.events.tell(Regarding("v1", "JobFlow", "ml", "etl", "u"), told)
    teller.cheer("other")
    await asyncio.sleep(FOLDED + 1)
    assert teller.notes() == ["All 3 Jobs have completed"]


async def test_events_lie_beside_their_object(teller: Teller) -> None:
    teller.cheer()
    await asyncio.sleep(FOLDED + 0.1)
    (request,) = teller.api.requests("create", "events")
    assert request.request.path == "/apis/events.k8s.io/v1/namespaces/ml/events"
    assert {key.namespace for key in teller.api.objects["events"]} == {"ml"}
    assert json.loads(request.request.body or b"")["regarding"]["kind"] == "JobFlow"
    assert Key("ml", teller.heard()[0]["metadata"]["name"]) in teller.api.objects["events"]


async def test_at_the_end_what_waits_is_written_and_no_longer_than_may_be(teller: Teller) -> None:
    teller.cheer()
    await asyncio.sleep(0.1)
    teller.task.cancel()
    before = asyncio.get_running_loop().time()
    await teller.events.finish(0.5)
    assert asyncio.get_running_loop().time() - before < 0.1
    assert teller.notes() == ["All 3 Jobs have completed"]
    teller.api.when("*", "events", no_connection, times=100)
    teller.warn("no")
    await teller.events.finish(0.5)
    assert asyncio.get_running_loop().time() - before < 0.7
    teller.api.scripts.clear()
    teller.task = asyncio.create_task(teller.events.run())


async def test_an_event_that_was_on_its_way_when_its_writer_was_stopped_is_written_at_the_end(teller: Teller) -> None:
    teller.api.when("create", "events", lambda _: teller.task.cancel() and None)
    teller.warn("no")
    await asyncio.wait([teller.task])
    await teller.events.finish(0.5)
    assert teller.notes() == ["no"]
    teller.task = asyncio.create_task(teller.events.run())
