"""C14, C16 and R09: of two controllers one writes at a time, whatever befalls the one that leads or its Lease."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from devcluster.player import Rules
from tests.faults.bed import Bed, bed
from tests.faults.crashing import FEWEST, MOST, diamond, happened, judge, judge_all
from tests.faults.plan import Plan
from tests.support.replicas import Replica
from tests.support.workspace import jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

LEASE = ("leases.coordination.k8s.io", "default", "jobflow-controller")
HASTY = (
    "--leader-elect-resource-namespace=default",
    "--leader-elect-lease-duration=8s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=300ms",
)
"""About the shortest terms there are: a Lease has to outlast the five seconds that a write may be on its way."""
USUAL = ("--leader-elect-resource-namespace=default",)


async def pair(it: Bed, flags: tuple[str, ...]) -> tuple[Replica, Replica]:
    """Start two, and return the one that leads and the one that stands by."""
    leader = await it.start("first", *flags)
    await it.until(lambda: holder(it) == "first", "the first leads")
    return leader, await it.start("second", *flags)


def holder(it: Bed) -> str:
    """Return which controller holds the Lease."""
    stored = it.server.store.get(*LEASE)
    identity = stored.decode()["spec"].get("holderIdentity", "") if stored else ""
    return it.server.judge.holders.get(identity, identity)


@pytest.mark.campaign
@pytest.mark.parametrize("policy", ["retain", "delete"])
async def test_a_leader_that_was_stopped_before_any_write_sends_none_once_another_leads(tmp_path: Path, policy: str):
    async with bed(tmp_path) as it:
        leader, other = await pair(it, HASTY)
        for k in range(1, MOST + 1):
            namespace = f"{policy}-{k}"
            # The write itself is on its way already: it is done. What would come next is what must not come.
            plan: Plan = [{"match": {"verb": "write", "namespace": namespace, "nth": k}, "do": "stop"}]
            faults = it.plan(plan, leader)
            await it.post(namespace, *diamond(policy))
            if not await happened(it, faults, namespace):
                if k <= FEWEST:
                    it.fail(f"just {k - 1} writes")
                it.no_faults()
                break
            it.no_faults()
            await it.until(lambda: holder(it) == other.name, f"{other.name} leads")  # noqa: B023
            await continued_too_late(it, leader)
            await it.until(lambda: it.finished(namespace, "etl"), f"{namespace} has succeeded")  # noqa: B023
            judge(it, namespace)
            await it.restart(leader)
            leader, other = other, leader
        await judge_all(it)


async def continued_too_late(it: Bed, leader: Replica) -> None:
    """Continue a leader whose Lease is another's: it ends within a second, and sends nothing before."""
    process = leader._process
    assert process
    sent = len(it.server.writes(leader.name))
    os.kill(process.pid, signal.SIGCONT)
    took = await it.until(lambda: process.poll() is not None, "the old leader has ended")
    late = it.server.writes(leader.name)[sent:]
    if process.returncode != 1 or took > 1 or late:
        it.fail(f"the old leader ended with {process.returncode} after {took:.1f} s and has sent {late}")
    leader.kill()


async def test_a_leader_that_was_stopped_for_less_than_its_lease_goes_on(tmp_path: Path):
    async with bed(tmp_path, play=Rules(run_seconds=0.2)) as it:
        leader, other = await pair(it, USUAL)
        await it.post("ns", *jobtemplates("a", "b"), *(jobflow(f"f{n}", "a", "b: a") for n in range(20)))
        faults = it.plan([{"match": {"verb": "write", "nth": 15}, "do": "stop"}], leader)
        await it.until(lambda: faults[0].seen >= 15, "it is stopped")
        it.no_faults()
        await asyncio.sleep(3)
        assert leader._process
        os.kill(leader._process.pid, signal.SIGCONT)
        await it.until(lambda: all(it.finished("ns", f"f{n}") for n in range(20)), "all have succeeded")
        assert holder(it) == leader.name
        assert not it.server.writes(other.name)
        it.check()


@pytest.mark.parametrize("what", ["deleted", "stolen", "slow to renew"])
async def test_at_most_one_writes_though_the_lease_is(tmp_path: Path, what: str):
    async with bed(tmp_path, play=Rules(run_seconds=0.2)) as it:
        leader, other = await pair(it, USUAL)
        await it.post("ns", *jobtemplates("a"), *(jobflow(f"f{n}", "a") for n in range(20)))
        await it.until(lambda: len(it.server.writes(leader.name)) > 10, "it is at work")
        match what:
            case "deleted":
                await it.delete(*LEASE)
            case "stolen":
                await it.change(*LEASE, lambda lease: lease["spec"].update(holderIdentity="a-thief"))
            case "slow to renew":
                it.plan([{"match": {"verb": "update", "resource": "leases"}, "do": {"delay": 8}}], leader)
        process = leader._process
        assert process
        more = asyncio.create_task(keeps_coming(it))
        took = await it.until(lambda: process.poll() is not None, "the leader has ended")
        assert (process.returncode, took < 10.5) == (1, True), f"it has ended after {took:.1f} s"
        leader.kill()
        ended = it.server.clock.time()
        it.no_faults()
        await it.until(lambda: it.server.writes(other.name), "the other writes")
        await more
        await it.until(lambda: all(phase == "Succeed" for phase in phases(it)), "all have succeeded")
        it.check()
        assert not [sent for sent in it.server.writes(leader.name) if sent.at > ended]


async def keeps_coming(it: Bed) -> None:
    """Post JobFlows for a while: whoever leads always has something to write."""
    for number in range(40):
        await it.post("ns", jobflow(f"g{number}", "a"))
        await asyncio.sleep(0.3)


def phases(it: Bed) -> list[str]:
    return [flow.get("status", {}).get("state", {}).get("phase", "") for flow in it.all("jobflows.flow.volcano.sh")]


@pytest.mark.campaign
@pytest.mark.parametrize("policy", ["retain", "delete"])
async def test_a_controller_that_is_replaced_at_any_write_is_followed_within_3_seconds(tmp_path: Path, policy: str):
    """Another one, perhaps of another version, stands by while the one that leads is asked to end."""
    async with bed(tmp_path) as it:
        leader, other = await pair(it, USUAL)
        for k in range(1, MOST + 1):
            namespace = f"{policy}-{k}"
            plan: Plan = [{"match": {"verb": "write", "namespace": namespace, "nth": k}, "do": "term"}]
            faults = it.plan(plan, leader)
            await it.post(namespace, *diamond(policy))
            if not await happened(it, faults, namespace):
                if k <= FEWEST:
                    it.fail(f"just {k - 1} writes")
                it.no_faults()
                break
            it.no_faults()
            process = leader._process
            assert process
            await it.until(lambda: process.poll() is not None, "it has ended")  # noqa: B023
            assert process.returncode == 0
            leader.kill()
            took = await it.until(lambda: holder(it) == other.name, f"{other.name} leads")  # noqa: B023
            if took > 3:
                it.fail(f"nobody led for {took:.1f} s")
            await it.until(lambda: it.finished(namespace, "etl"), f"{namespace} has succeeded")  # noqa: B023
            judge(it, namespace)
            await it.restart(leader)
            leader, other = other, leader
        await judge_all(it)
