"""What is not done although the cache still allows it."""

import pytest

from shared.api.meta import Key
from shared.kube.errors import Unavailable
from shared.kube.transport import Guard
from tests.support.builders import a_jobflow_object
from tests.support.world import World


async def a_world_whose_deletes_fail() -> World:
    """Succeed is stored and its Job is still there."""
    world = World()
    world.template("get")
    world.apply(a_jobflow_object("get", policy="delete"))
    await world.settle(1)
    world.refusing["delete", "*"] = lambda: Unavailable("down", status=503)
    world.phase("etl-get", "Completed")
    await world.settle(5)
    assert world.status()["state"]["phase"] == "Succeed"
    return world


async def test_a_job_that_was_changed_since_it_was_seen_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await a_world_whose_deletes_fail()
    delete = world.delete_job

    async def as_kubernetes_does(key: Key, uid: str, version: str, guard: Guard) -> None:
        """Without a resourceVersion that is no precondition."""
        await delete(key, uid, version or world.get("Job", key.name)["metadata"]["resourceVersion"], guard)

    monkeypatch.setattr(world, "delete_job", as_kubernetes_does)
    world.lagging = {"Job"}
    job = world.get("Job", "etl-get")
    world.apply({**job, "metadata": {**job["metadata"], "ownerReferences": []}})
    world.refusing.clear()
    await world.settle(10)
    assert world.jobs_of("etl") == ["etl-get"]


async def test_no_job_is_deleted_once_the_jobflow_wants_to_retain_them() -> None:
    world = await a_world_whose_deletes_fail()
    world.lagging = {"JobFlow"}
    jobflow = world.get("JobFlow", "etl")
    spec = {**jobflow["spec"], "jobRetainPolicy": "retain"}
    world.apply({**jobflow, "spec": spec, "metadata": {**jobflow["metadata"], "generation": 2}})
    world.refusing.clear()
    world.now += 5
    await world.settle(10)
    assert world.jobs_of("etl") == ["etl-get"]


async def test_no_job_is_deleted_for_a_jobflow_that_was_deleted_unseen() -> None:
    world = await a_world_whose_deletes_fail()
    world.lagging = {"JobFlow"}
    world.remove("JobFlow", "etl")
    world.refusing.clear()
    world.now += 5
    await world.settle(10)
    assert ("delete", "etl-get") not in world.writes


async def test_nothing_is_created_for_a_jobflow_whose_deletion_is_unseen() -> None:
    world = World()
    world.template("get", "clean")
    world.apply(a_jobflow_object("get", "clean: get"))
    await world.settle(1)
    world.lagging = {"JobFlow"}
    jobflow = world.get("JobFlow", "etl")
    world.apply({**jobflow, "metadata": {**jobflow["metadata"], "deletionTimestamp": "2026-03-01T12:00:01Z"}})
    world.now += 5
    world.phase("etl-get", "Completed")
    await world.settle(10)
    assert world.creates() == ["etl-get"]
