"""What people are told of JobFlows, and of who else writes their status."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.jobflow.writers import VOLCANOS
from controller.narration import APART, SETTLED, EventNarrator, StatusWriters
from controller.own_writes import OwnWrites
from controller.runtime.events import EventMetrics, Events
from controller.runtime.telling import Told
from shared.api.event import WARNING
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.errors import Conflict, Refused, Unavailable
from shared.kube.resources import JOBFLOWS, JOBS
from tests.shared.kube.fake_api import FakeApi, Object, no_connection, whole

pytestmark = pytest.mark.looptime

OURS = "jobflow-controller"


class Telling:
    """A narrator, and who watches the writers, on an API server in memory."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.cache = Cache[Any]()
        client, loop = KubeClient(self.api), asyncio.get_running_loop()
        self.events = Events(
            client.apart(),
            controller=OURS,
            instance="host_1",
            random=Random(7),
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=loop.time()),
            monotonic=loop.time,
            metrics=EventMetrics(CollectorRegistry()),
        )
        self.narrator = EventNarrator(self.events)
        self.own = OwnWrites()
        self.writers = StatusWriters(client, self.own, self.narrator, OURS, loop.time)

    def jobflow(self, name: str, phase: str = "", **managers: int) -> Object:
        """A JobFlow whose status was written by `managers`, each in its minute; whoever watches hears of it."""
        fields = [
            {"manager": manager.replace("_", "-"), "subresource": "status", "time": f"2026-01-01T12:{minute:02}:00Z"}
            for manager, minute in managers.items()
        ]
        status = {"state": {"phase": phase}}
        obj = self.api.put("jobflows", name, metadata={"managedFields": fields}, spec={"flows": []}, status=status)
        for change in self.cache.put(JOBFLOWS.decode(whole(obj).body)):
            self.writers.on_jobflow(change.old, change.new)
        return obj

    def notes(self) -> list[str]:
        return [event["note"] for event in self.api.objects["events"].values()]


async def run_for(telling: Telling, seconds: float) -> None:
    tasks = [asyncio.create_task(telling.events.run()), asyncio.create_task(telling.writers.run())]
    await asyncio.sleep(seconds)
    for task in tasks:
        assert not task.done()
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_story_becomes_events_of_its_jobflow() -> None:
    telling = Telling()
    jobflow = JOBFLOWS.decode(whole(telling.jobflow("etl")).body)
    telling.narrator.tell(jobflow, [Told(WARNING, "JobRefused", "CreateJob", "no")])
    await run_for(telling, 1)
    (event,) = telling.api.objects["events"].values()
    assert event["regarding"] == {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "namespace": "ml",
        "name": "etl",
        "uid": jobflow.uid,
    }


async def test_a_fault_in_the_story_fails_nobody(caplog: pytest.LogCaptureFixture) -> None:
    telling = Telling()

    def story() -> Iterator[Told]:
        yield Told(WARNING, "JobRefused", "CreateJob", "no")
        raise ZeroDivisionError

    telling.narrator.tell(JOBFLOWS.decode(whole(telling.jobflow("etl")).body), story())
    await run_for(telling, 1)
    assert telling.notes() == ["no"]
    assert "story not told" in caplog.text


FIGHTING = {"jobflow_controller": 2, "vc_controller_manager": 3}


async def test_volcanos_own_controller_beside_ours_is_told_loudly_and_once(caplog: pytest.LogCaptureFixture) -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    running = asyncio.create_task(run_for(telling, 320))
    for number in range(300):
        telling.jobflow("etl", phase=f"{number}", **FIGHTING)
        await asyncio.sleep(1)
    await running
    (note,) = telling.notes()
    assert VOLCANOS in note
    assert [record.levelno for record in caplog.records if VOLCANOS in record.getMessage()] == [logging.ERROR]
    assert len(telling.api.requests("get", "jobflows")) <= 300 / APART + 1


async def test_where_it_is_not_to_be_seen_who_it_was_somebody_else_is_told_of() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    running = asyncio.create_task(run_for(telling, 60))
    await asyncio.sleep(SETTLED + 1)
    for number in range(20):
        telling.jobflow("etl", phase=f"{number}", jobflow_controller=2)
        await asyncio.sleep(1)
    await running
    assert [note.partition(" writes")[0] for note in telling.notes()] == ["Somebody else"]


async def test_a_persons_one_edit_is_no_fight() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    running = asyncio.create_task(run_for(telling, 900))
    await asyncio.sleep(SETTLED + 1)
    telling.jobflow("etl", phase="Pending", jobflow_controller=2, kubectl_edit=3)
    await running
    assert not telling.notes()


async def test_our_own_writes_are_no_reason_to_ask_whether_answered_under_way_or_lost() -> None:
    telling = Telling()
    jobflow = telling.jobflow("etl", jobflow_controller=2)
    key = Key("ml", jobflow["metadata"]["name"])
    running = asyncio.create_task(run_for(telling, 100))
    await asyncio.sleep(SETTLED + 1)
    with telling.own.writing(key) as attempt:
        attempt.version = telling.jobflow("etl", phase="1")["metadata"]["resourceVersion"]
    await asyncio.sleep(10)
    telling.api.when("get", "jobs", no_connection)
    with pytest.raises(Unavailable), telling.own.writing(key):
        await KubeClient(telling.api).get(JOBS, key)
    telling.jobflow("etl", phase="2")
    telling.jobflow("etl", phase="3")  # that write, shown late
    await running
    assert not telling.api.requests("get", "jobflows")


async def test_after_a_refusal_a_change_is_somebody_elses() -> None:
    own, key = OwnWrites(), Key("ml", "etl")
    for refusal in (Conflict("it is another"), Refused("no")):
        with pytest.raises(type(refusal)), own.writing(key):
            raise refusal
    assert not own.may_include(key, "7")


async def test_what_others_change_besides_the_status_is_no_reason_to_ask() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    running = asyncio.create_task(run_for(telling, 60))
    await asyncio.sleep(SETTLED + 1)
    telling.jobflow("etl", jobflow_controller=2, kubectl=3)
    await running
    assert not telling.api.seen


async def test_what_the_leader_before_wrote_and_is_shown_late_is_no_reason_to_ask() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    running = asyncio.create_task(run_for(telling, 60))
    await asyncio.sleep(SETTLED - 1)
    telling.jobflow("etl", phase="1", jobflow_controller=3)
    await running
    assert not telling.api.seen


async def test_an_api_server_that_does_not_answer_is_asked_again_later() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2)
    telling.api.when("get", "jobflows", no_connection, times=2)
    running = asyncio.create_task(run_for(telling, 100))
    for number in range(60):
        telling.jobflow("etl", phase=f"{number}", **FIGHTING)
        await asyncio.sleep(1)
    await running
    assert len(telling.notes()) == 1
