"""`python -m devcluster up`: a server in a process of its own, until it is told to stop."""

import asyncio
import base64
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.devcluster.api.client import Api
from tests.devcluster.api.conftest import until

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {"tasks": [{"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}]},
}


@asynccontextmanager
async def up(folder: Path, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run the command; yields the process and the line that it says when it is ready."""
    command = [sys.executable, "-m", "devcluster", "up", "--dir", str(folder), *arguments]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    assert process.stdout
    try:
        yield process, (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def reached(folder: Path) -> AsyncIterator[Api]:
    """Reach the server by what its kubeconfig says."""
    config = yaml.safe_load((folder / "kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    async with aiohttp.ClientSession() as session:
        yield Api(session, cluster["server"], user["token"], ssl.create_default_context(cadata=authority), "default")


async def definitions(api: Api) -> set[str]:
    answer = await api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    return {item["metadata"]["name"] for item in answer.body["items"]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_where_it_serves_and_that_nothing_is_kept_and_ends_when_told(tmp_path: Path, number: int):
    async with up(tmp_path, "--no-player") as (process, said):
        process.send_signal(number)
        code = await asyncio.wait_for(process.wait(), 10)

    assert f"export KUBECONFIG={tmp_path}/kubeconfig\n" in said
    assert "data in memory only" in said
    assert code == 0


async def test_its_kubeconfig_is_for_its_owner_alone_and_lets_in(tmp_path: Path):
    async with up(tmp_path, "--no-player"), reached(tmp_path) as api:
        assert (tmp_path / "kubeconfig").stat().st_mode & 0o77 == 0
        kinds = {"jobflows.flow.volcano.sh", "jobs.batch.volcano.sh", "jobtemplates.flow.volcano.sh"}
        assert await definitions(api) == kinds


async def test_it_can_begin_without_definitions(tmp_path: Path):
    async with up(tmp_path, "--no-player", "--no-crds"), reached(tmp_path) as api:
        assert await definitions(api) == set()


async def test_its_player_takes_jobs_through_their_phases(tmp_path: Path):
    async with up(tmp_path), reached(tmp_path) as api:
        assert (await api.post(JOBS, JOB)).code == 201

        async def is_completed() -> bool:
            job = (await api.get(f"{JOBS}/a")).body
            return bool(job.get("status", {}).get("state", {}).get("phase") == "Completed")

        await until(is_completed)


async def test_its_jobs_are_checked_as_volcano_defines_them(tmp_path: Path):
    async with up(tmp_path, "--no-player"), reached(tmp_path) as api:
        created = await api.post(JOBS, JOB)
        refused = await api.post(JOBS, JOB | {"metadata": {"name": "b"}, "spec": {"tasks": [], "minSuccess": 0}})

    assert (created.body["spec"]["queue"], created.body["spec"]["maxRetry"]) == ("default", 3)
    assert created.body["spec"]["tasks"][0]["template"] == JOB["spec"]["tasks"][0]["template"]  # type: ignore[index]
    assert {field for field, _ in refused.causes} == {"spec.tasks", "spec.minSuccess"}


async def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path):
    async with up(tmp_path / "first", "--no-player"), reached(tmp_path / "first") as api:
        port = api.url.rpartition(":")[2]
        async with up(tmp_path / "second", "--no-player", "--port", port) as (process, _):
            _, err = await process.communicate()

    assert process.returncode == 1
    assert err.decode().startswith("devcluster up: ")
    assert "address already in use" in err.decode()
