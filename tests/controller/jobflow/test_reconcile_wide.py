"""JobFlows that are wide: statuses that are written less often, and creates that wait for none."""

import asyncio

import pytest

from controller.jobflow.cluster import Stored
from shared.api.job import Job
from shared.api.meta import Key
from shared.kube.errors import Unavailable
from shared.kube.transport import Guard
from tests.support.world import a_world


async def test_progress_of_a_large_jobflow_is_written_less_often() -> None:
    flows = [f"step-{i:04}" for i in range(1000)]
    world = a_world(*flows, templates=tuple(flows))
    await world.settle(5)
    world.phase("etl-step-0000", "Running")
    await world.settle(5)
    before = len(world.writes)
    for i in range(1, 100):
        world.phase(f"etl-step-{i:04}", "Running")
        await world.settle(0.1)
    written = len(world.writes) - before
    assert 3 <= written <= 20


@pytest.mark.looptime
async def test_the_creates_of_a_wide_jobflow_go_on_while_its_status_is_being_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = [f"step-{i:03}" for i in range(300)]
    world = a_world(*flows, templates=tuple(flows))
    world.moment = asyncio.get_running_loop().time
    create, patch, release = world.create_job, world.patch_jobflow_status, asyncio.Event()
    created_when_written: list[int] = []

    async def slow_create(namespace: str, manifest: bytes, guard: Guard) -> Job:
        job = await create(namespace, manifest, guard)
        await asyncio.sleep(0.5)
        return job

    async def held_patch(key: Key, body: bytes) -> Stored:
        created_when_written.append(len(world.creates()))
        await release.wait()
        return await patch(key, body)

    monkeypatch.setattr(world, "create_job", slow_create)
    monkeypatch.setattr(world, "patch_jobflow_status", held_patch)
    turn = asyncio.ensure_future(world.turn(Key("ml", "etl")))
    await asyncio.sleep(30)
    assert 0 < created_when_written[0] < 300
    assert len(world.creates()) == 300
    release.set()
    await turn
    await world.settle(5)
    assert len(world.status()["jobStatusList"]) == len(world.creates()) == 300


@pytest.mark.looptime
async def test_a_status_that_cannot_be_written_cuts_no_create_short(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [f"step-{i:03}" for i in range(300)]
    world = a_world(*flows, templates=tuple(flows))
    world.moment = asyncio.get_running_loop().time
    create, begun = world.create_job, []

    async def slow_create(namespace: str, manifest: bytes, guard: Guard) -> Job:
        begun.append(manifest)
        job = await create(namespace, manifest, guard)
        await asyncio.sleep(0.5)
        return job

    monkeypatch.setattr(world, "create_job", slow_create)
    world.refusing["patch", "etl"] = lambda: Unavailable("down", status=503)
    await world.turn(Key("ml", "etl"))
    assert 0 < len(world.creates()) < 300
    assert len(begun) == len(world.creates())
