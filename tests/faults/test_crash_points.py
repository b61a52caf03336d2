"""C01, C02, C26: whatever befalls the controller at any of its writes, each Job is created once and all succeeds."""

from pathlib import Path

import pytest

from devcluster.player import Rules
from tests.faults.bed import ALONE, Bed, bed
from tests.faults.crashing import at_every_write, judge_all
from tests.support.replicas import Replica

POLICIES = pytest.mark.parametrize("policy", ["retain", "delete"])
SLOWLY = Rules(run_seconds=0.05)
"""Each Job is Pending, Running, Completed, and written once more: there are more moments to crash at."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


@POLICIES
async def test_a_controller_that_is_killed_after_any_write_is_taken_up_where_it_was(tmp_path: Path, policy: str):
    async with bed(tmp_path, play=SLOWLY) as it:
        controller = await it.start("first", ALONE)
        await at_every_write(it, controller, "kill", policy, it.restart)
        await judge_all(it)


@POLICIES
async def test_a_controller_that_is_killed_before_any_write_is_taken_up_where_it_was(tmp_path: Path, policy: str):
    async with bed(tmp_path, play=SLOWLY) as it:
        controller = await it.start("first", ALONE)
        await at_every_write(it, controller, "kill_before", policy, it.restart)
        await judge_all(it)


@POLICIES
@pytest.mark.parametrize("do", ["drop_before", "drop_response_after_commit"])
async def test_a_write_whose_answer_is_lost_has_the_same_end_whether_it_was_done_or_not(
    tmp_path: Path, do: str, policy: str
):
    async with bed(tmp_path, play=SLOWLY) as it:
        controller = await it.start("first", ALONE)
        await at_every_write(it, controller, do, policy, nothing)
        await judge_all(it)


@POLICIES
async def test_a_controller_that_is_asked_to_end_at_any_write_ends_with_0_and_its_lease_free(
    tmp_path: Path, policy: str
):
    async with bed(tmp_path, play=SLOWLY) as it:
        controller = await it.start("first", "--leader-elect-resource-namespace=default")

        async def ended(replica: Replica) -> None:
            await ends_well(it, replica)
            await it.restart(replica)

        await at_every_write(it, controller, "term", policy, ended)
        await judge_all(it)


async def nothing(_: Replica) -> None:
    """Nobody does anything about it."""


async def ends_well(it: Bed, replica: Replica) -> None:
    """Wait for the end of a controller: within 10 s, with 0, the Lease given back as its last write."""
    process = replica._process
    assert process
    took = await it.until(lambda: process.poll() is not None, "the controller has ended")
    if process.returncode != 0 or took > 10:
        it.fail(f"it ended with {process.returncode} after {took:.1f} s")
    (lease,) = it.all("leases.coordination.k8s.io")
    if lease["spec"].get("holderIdentity"):
        it.fail(f"the Lease is still held: {lease['spec']}")
    mine = [sent for sent in it.server.sent if sent.who == replica.name and sent.verb not in ("get", "list", "watch")]
    if mine[-1].resource != "leases":
        it.fail(f"after the Lease was given back it sent {mine[-1]}")
