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
from controller.narration import LOOK_EVERY, EventNarrator, StatusWriters
from controller.runtime.events import EventMetrics, Events
from controller.runtime.telling import Told
from shared.api.event import WARNING
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.resources import JOBFLOWS
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
        self.writers = StatusWriters(client, self.cache, self.narrator, OURS, loop.time)

    def jobflow(self, name: str, **managers: int) -> Object:
        """A JobFlow whose status was written by `managers`, each in its minute."""
        fields = [
            {"manager": manager.replace("_", "-"), "subresource": "status", "time": f"2026-01-01T12:{minute:02}:00Z"}
            for manager, minute in managers.items()
        ]
        obj = self.api.put("jobflows", name, metadata={"managedFields": fields}, spec={"flows": []})
        list(self.cache.put(JOBFLOWS.decode(whole(obj).body)))
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


async def test_volcanos_own_controller_beside_ours_is_told_loudly(caplog: pytest.LogCaptureFixture) -> None:
    telling = Telling()
    telling.jobflow("quiet", jobflow_controller=1)
    telling.jobflow("etl", jobflow_controller=2, vc_controller_manager=3)
    await run_for(telling, LOOK_EVERY + 1)
    (note,) = telling.notes()
    assert VOLCANOS in note
    assert [record.levelno for record in caplog.records if VOLCANOS in record.getMessage()] == [logging.ERROR]


async def test_where_nothing_changes_nobody_is_asked_who_wrote() -> None:
    telling = Telling()
    await run_for(telling, 10 * LOOK_EVERY)
    assert not telling.api.seen
    telling.jobflow("etl", jobflow_controller=2)
    await run_for(telling, 10 * LOOK_EVERY)
    assert len(telling.api.seen) == 1
    assert not telling.notes()


async def test_an_api_server_that_does_not_answer_is_asked_again_later() -> None:
    telling = Telling()
    telling.jobflow("etl", jobflow_controller=2, vc_controller_manager=3)
    telling.api.when("get", "jobflows", no_connection)
    await run_for(telling, LOOK_EVERY + 1)
    telling.jobflow("etl", jobflow_controller=4, vc_controller_manager=5)
    await run_for(telling, LOOK_EVERY + 1)
    assert len(telling.notes()) == 1
