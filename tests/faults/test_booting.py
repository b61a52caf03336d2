"""C27: a controller that starts before its CRDs, or while they cannot be served, stays up unready, and recovers."""

import asyncio
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from devcluster.up import install_crds
from tests.faults.bed import ALONE, Bed, bed
from tests.faults.crashing import diamond, judge
from tests.support.replicas import Replica

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


async def unready(it: Bed, controller: Replica) -> None:
    """Wait until it has been refused, and see that it lives and says that it is not ready."""
    await it.until(lambda: "list or watch failed" in controller.tail(100_000), "it was refused")
    assert controller.runs
    assert await asyncio.to_thread(code, f"{controller.health}/readyz") == 503
    assert await asyncio.to_thread(code, f"{controller.health}/healthz") == 200


def code(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


async def works(it: Bed, controller: Replica) -> None:
    await it.until(lambda: controller._is_ready, "it is ready")
    await it.post("ns", *diamond())
    await it.until(lambda: it.finished("ns", "etl"), "it has succeeded")
    judge(it, "ns")


async def test_a_controller_waits_for_crds_that_come_later(tmp_path: Path):
    async with bed(tmp_path, crds=False) as it:
        controller = it.new("first", ALONE)
        controller.launch()
        await unready(it, controller)
        await install_crds(it.server)
        await works(it, controller)


@pytest.mark.parametrize("resource", ["jobflows", "jobtemplates", "jobs"])
async def test_a_controller_waits_while_a_kind_cannot_be_converted(tmp_path: Path, resource: str):
    async with bed(tmp_path) as it:
        controller = it.new("first", ALONE)
        message = "conversion webhook for flow.volcano.sh/v1alpha1 failed: connection refused"
        it.plan(
            [{"match": {"verb": "list", "resource": resource}, "do": {"status": 500, "message": message}}], controller
        )
        controller.launch()
        await unready(it, controller)
        it.no_faults()
        await works(it, controller)
