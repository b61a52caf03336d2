"""The judge of this folder is no rubber stamp: a controller that does wrong is seen to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shared.api.meta import Key
from shared.kube.client import JSON_PATCH, KubeClient, Limits
from shared.kube.errors import ApiError
from shared.kube.resources import JOBFLOWS, JOBS
from tests.faults.bed import JOBFLOWS as STORED_JOBFLOWS
from tests.faults.bed import Bed, bed
from tests.support.workspace import a_job, jobflow, jobtemplates

ETL = Key("ns", "etl")


@asynccontextmanager
async def rogue(directory: Path) -> AsyncIterator[tuple[Bed, KubeClient]]:
    """A bed with a JobFlow, and a controller that can be made to do anything."""
    async with bed(directory, play=None) as it:
        kubeconfig = it.server.kubeconfig(directory / "rogue", it.server.controller("rogue"))
        client = await KubeClient.connect("rogue", kubeconfig=str(kubeconfig), limits=Limits())
        await it.post("ns", *jobtemplates("a", "b"), jobflow("etl", "a", "b: a"))
        try:
            yield it, client
        finally:
            await client.close()


def job(it: Bed, name: str) -> bytes:
    """A Job as a controller makes it."""
    flow = it.get(STORED_JOBFLOWS, "ns", "etl")
    owner = {"apiVersion": flow["apiVersion"], "kind": "JobFlow", "name": "etl", "controller": True}
    return msgspec.json.encode(a_job(name, namespace="ns", ownerReferences=[{**owner, "uid": flow["metadata"]["uid"]}]))


def rules(it: Bed) -> set[str]:
    return {violation.partition(" ")[0] for violation in it.server.judge.violations}


async def status(it: Bed, client: KubeClient, value: dict[str, Any], *, guarded: bool = True) -> None:
    version = it.get(STORED_JOBFLOWS, "ns", "etl")["metadata"]["resourceVersion"]
    guard = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}] if guarded else []
    patch = msgspec.json.encode([*guard, {"op": "add", "path": "/status", "value": value}])
    await client.patch(JOBFLOWS, ETL, patch, content_type=JSON_PATCH, subresource="status")


async def test_a_job_that_comes_before_its_targets_have_completed_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.get(JOBFLOWS, ETL)
        await client.create(JOBS, "ns", job(it, "etl-b"))
        assert rules(it) == {"I1"}


async def test_a_second_create_of_an_entry_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.get(JOBFLOWS, ETL)
        await client.create(JOBS, "ns", job(it, "etl-a"))
        await it.delete("jobs.batch.volcano.sh", "ns", "etl-a")
        await client.create(JOBS, "ns", job(it, "etl-a"))
        assert rules(it) == {"I2"}


async def test_a_create_without_a_live_look_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.create(JOBS, "ns", job(it, "etl-a"))
        assert rules(it) == {"I3"}


async def test_a_succeed_that_is_not_true_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await status(it, client, {"state": {"phase": "Succeed"}})
        assert rules(it) == {"I5"}


async def test_a_status_write_without_a_guard_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await status(it, client, {"state": {"phase": "Pending"}}, guarded=False)
        assert rules(it) == {"I10"}


async def test_a_list_that_is_no_partition_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.get(JOBFLOWS, ETL)
        await client.create(JOBS, "ns", job(it, "etl-a"))
        await status(it, client, {"state": {"phase": "Pending"}, "pendingJobs": ["etl-a", "etl-a"]})
        assert rules(it) == {"I12"}


async def test_a_delete_of_a_job_that_runs_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.get(JOBFLOWS, ETL)
        created = await client.create(JOBS, "ns", job(it, "etl-a"))
        await client.delete(JOBS, Key("ns", "etl-a"), uid=created.metadata.uid)
        assert rules(it) == {"I6"}


async def test_a_write_while_another_holds_the_lease_is_seen(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        lease = {"holderIdentity": "somebody", "leaseDurationSeconds": 15}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": lease}
        it.server.judge._stolen_at = float("-inf")
        await it.post("ns", body)
        it.server.judge._stolen_at = float("-inf")
        await status(it, client, {"state": {"phase": "Pending"}})
        assert rules(it) == {"I13"}


async def test_a_write_that_is_refused_changes_nothing_and_is_counted(tmp_path: Path):
    async with rogue(tmp_path) as (it, client):
        await client.get(JOBFLOWS, ETL)
        await client.create(JOBS, "ns", job(it, "etl-a"))
        with pytest.raises(ApiError):
            await client.create(JOBS, "ns", job(it, "etl-a"))
        first, second = it.server.writes("rogue")
        assert (first.code, first.committed, second.code, second.committed) == (201, True, 409, False)
