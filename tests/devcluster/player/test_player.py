import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from devcluster.faults import Answer, Drop, Fault, Hold, Match, expire, garble
from devcluster.player import PLAYED_JOBS, Player, Rules
from devcluster.server import ApiServer
from devcluster.up import install_crds
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import NotFound

NAMESPACE = "default"
STATUS_WRITE = Match("patch", "jobs.batch.volcano.sh", subresource="status")
AT_ONCE = Rules()


@pytest.fixture
async def server(tmp_path) -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        await install_crds(server)
        server.kubeconfig(tmp_path / "kubeconfig")
        yield server


@pytest.fixture
async def client(server, tmp_path) -> AsyncIterator[KubeClient]:
    client = await KubeClient.connect("test", kubeconfig=str(tmp_path / "kubeconfig"))
    yield client
    await client.close()


@asynccontextmanager
async def playing(client, rules=AT_ONCE, namespace=None):
    task = asyncio.create_task(Player(client, rules, namespace=namespace).run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def a_job(client, name="j", *, command=("true",), namespace=NAMESPACE, task="t", **spec):
    tasks = [
        {"name": task, "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "command": list(command)}]}}}
    ]
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "tasks": tasks, **spec},
    }
    return await client.create(PLAYED_JOBS, namespace, json.dumps(body).encode())


async def seen(client, holds, name="j", namespace=NAMESPACE):
    """The Job, as soon as the claim holds for it."""
    async with asyncio.timeout(20):
        while True:
            job = await client.get(PLAYED_JOBS, Key(namespace, name))
            if holds(job):
                return job
            await asyncio.sleep(0.01)


async def until(claim):
    async with asyncio.timeout(20):
        while True:
            if claim():
                return
            await asyncio.sleep(0.01)


def is_settled(job):
    return "runningDuration" in job.status


def conditions(job):
    return [entry["status"] for entry in job.status["conditions"]]


async def test_jobs_that_were_there_and_jobs_that_come_are_played_to_their_end(client):
    await a_job(client, "early")
    async with playing(client):
        await a_job(client, "late", command=["false"])
        early = await seen(client, is_settled, "early")
        late = await seen(client, is_settled, "late")

    assert conditions(early) == ["Pending", "Running", "Completed"]
    assert conditions(late) == ["Pending", "Running", "Failed"]


async def test_a_job_runs_as_long_as_its_command_says(client):
    async with playing(client):
        await a_job(client, command=["sleep", "infinity"])
        await seen(client, lambda job: job.phase == "Running")
        await a_job(client, "other", command=["sleep", "0.1"])
        await seen(client, is_settled, "other")
        job = await client.get(PLAYED_JOBS, Key(NAMESPACE, "j"))

    assert job.phase == "Running"


async def test_another_player_goes_on_where_one_has_stopped(client):
    await a_job(client)
    async with playing(client, Rules(run_seconds=1000)):
        await seen(client, lambda job: job.phase == "Running")

    async with playing(client):
        job = await seen(client, is_settled)

    assert conditions(job) == ["Pending", "Running", "Completed"]


async def test_a_finished_job_is_deleted_when_its_time_to_live_is_over(client):
    async with playing(client):
        await a_job(client, ttlSecondsAfterFinished=0)

        async with asyncio.timeout(20):
            with pytest.raises(NotFound):
                await seen(client, lambda _: False)


async def test_only_the_jobs_of_its_namespace_are_played(client):
    async with playing(client, namespace="kube-public"):
        await a_job(client)
        await a_job(client, "other", namespace="kube-public")
        await seen(client, is_settled, "other", "kube-public")
        untouched = await client.get(PLAYED_JOBS, Key(NAMESPACE, "j"))

    assert untouched.status == {}


async def test_the_status_of_a_job_never_gets_into_its_successor_of_the_same_name(client, server, caplog):
    stale, later = Fault(STATUS_WRITE, Hold(), nth=1), Fault(STATUS_WRITE, Hold(), nth=2)
    for fault in (stale, later):
        server.faults.add(fault)
    first = await a_job(client)
    async with playing(client):
        await until(lambda: stale.seen)
        await client.delete(PLAYED_JOBS, first.key, uid=first.metadata.uid)
        second = await a_job(client, task="another")
        await until(lambda: later.seen == 2)
        stale.action.release.set()
        await until(lambda: "refused" in caplog.text)
        untouched = await client.get(PLAYED_JOBS, second.key)
        later.action.release.set()
        job = await seen(client, is_settled)

    assert untouched.status == {}
    assert list(job.status["taskStatusCount"]) == ["another"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(STATUS_WRITE, Answer(503), nth=2), id="an error"),
        pytest.param(Fault(STATUS_WRITE, Answer(429, retry_after=0), nth=1), id="too many requests"),
        pytest.param(Fault(STATUS_WRITE, Drop(committed=True), nth=1), id="a lost answer"),
        pytest.param(Fault(Match("list", "jobs.batch.volcano.sh"), Answer(500), nth=1), id="no list"),
        pytest.param(Fault(Match("watch", "jobs.batch.volcano.sh"), expire(), nth=1), id="a watch that has expired"),
        pytest.param(
            Fault(Match("watch", "jobs.batch.volcano.sh"), garble(), nth=1), id="a watch that brings no events"
        ),
    ],
)
async def test_failures_of_the_api_server_are_waited_out(client, server, fault):
    server.faults.add(fault)
    async with playing(client):
        await a_job(client)
        job = await seen(client, is_settled)

    assert job.phase == "Completed"


async def test_brief_is_one_write_for_a_job_that_takes_no_time(client, server):
    async with playing(client, Rules(brief=True)):
        created = await a_job(client)
        job = await seen(client, is_settled)

    assert int(job.metadata.resource_version) == int(created.metadata.resource_version) + 1
    assert conditions(job) == ["Pending", "Running", "Completed"]
