"""Leader election in simulated time: when a Lease is claimed, and by whom."""

import asyncio
import json
import re
from typing import Any

import pytest

from controller.runtime.leader import NotLeading
from tests.controller.runtime.candidates import (
    LEASE,
    TERMS,
    Candidate,
    candidates,
    held_by_another,
    lease,
    lease_is_there,
    now,
    put_lease,
)
from tests.shared.kube.fake_api import FakeApi

pytestmark = pytest.mark.looptime

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


async def test_a_lease_that_is_not_there_is_made_and_held_at_once(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(0.01)
        assert a.leader.leads
        assert a.shown == 1
        a.leader.check()
    spec = lease(api)["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 15, 0)
    assert MICRO_TIME.fullmatch(spec["acquireTime"])
    assert MICRO_TIME.fullmatch(spec["renewTime"])


@pytest.mark.parametrize(
    "before",
    [
        pytest.param({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4}, id="given back"),
        pytest.param({"holderIdentity": None, "leaseTransitions": 4}, id="without a holder"),
    ],
)
async def test_a_lease_that_nobody_holds_is_taken_over_at_once_and_the_change_is_counted(
    api: FakeApi, before: dict[str, Any]
) -> None:
    put_lease(api, **before)
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(0.01)
        assert a.leader.leads
    assert lease(api)["spec"]["leaseTransitions"] == 5


async def test_fields_that_the_program_does_not_know_stay(api: FakeApi) -> None:
    put_lease(api, holderIdentity="", strategy="OldestEmulationVersion")
    api.put("leases", LEASE.name, namespace=LEASE.namespace, metadata={"labels": {"team": "ml"}})
    async with candidates(api, "a"):
        await asyncio.sleep(5)
        assert lease(api)["spec"]["strategy"] == "OldestEmulationVersion"
        assert lease(api)["metadata"]["labels"] == {"team": "ml"}


@pytest.mark.parametrize("renewed", ["1970-01-01T00:00:00.000000Z", "2126-01-01T00:00:00.000000Z", None])
@pytest.mark.parametrize("duration", [15, 40])
async def test_a_held_lease_is_claimed_once_it_has_not_changed_for_its_duration_whatever_times_are_in_it(
    api: FakeApi, renewed: str | None, duration: int
) -> None:
    held_by_another(api, renewTime=renewed, leaseDurationSeconds=duration)
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(duration - 0.1)
        assert not a.leader.leads
        assert a.shown == 0
        with pytest.raises(NotLeading):
            a.leader.check()
        await asyncio.sleep(0.2)
        assert a.leader.leads
    assert lease(api)["spec"]["leaseTransitions"] == 5


async def test_each_renewal_by_its_holder_makes_the_others_wait_anew(api: FakeApi) -> None:
    held_by_another(api)
    async with candidates(api, "a") as [a]:
        for second in range(10, 60, 10):
            await asyncio.sleep(10)
            held_by_another(api, renewTime=f"2026-01-01T00:00:{second}.000000Z")
        assert not a.leader.leads
        changed_at = now()
        await asyncio.sleep(14.9)
        assert not a.leader.leads
        await asyncio.sleep(4)
        assert a.leader.leads
        assert a.acquired_at is not None
        assert 15 <= a.acquired_at - changed_at <= 15 + TERMS.retry_period + 0.1


async def test_a_lease_is_not_claimed_before_all_is_known_and_then_at_once(api: FakeApi) -> None:
    a = Candidate(api, known=False)
    await asyncio.sleep(300)
    assert not lease_is_there(api)
    a.known.set()
    await asyncio.sleep(0.01)
    assert a.leader.leads
    await a.end()


async def test_the_wait_for_a_killed_leader_runs_while_the_caches_fill(api: FakeApi) -> None:
    held_by_another(api)
    a = Candidate(api, known=False)
    await asyncio.sleep(20)
    a.known.set()
    await asyncio.sleep(0.01)
    assert a.leader.leads
    await a.end()


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_a_lease_that_cannot_be_had_is_told_again_every_minute_and_tried_for_ever(
    api: FakeApi, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    api.fail("create", "leases", status, times=1000)
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(601)
        told = [record for record in caplog.records if record.getMessage() == "lease cannot be had for now"]
        assert 9 <= len(told) <= 11
        api.scripts.clear()
        await asyncio.sleep(TERMS.retry_period)
        assert a.leader.leads


async def test_of_many_candidates_one_leads_and_the_others_only_read(api: FakeApi) -> None:
    async with candidates(api, *"abcde") as everybody:
        await asyncio.sleep(60)
        assert sum(each.leader.leads for each in everybody) == 1
        api.seen.clear()
        await asyncio.sleep(60)
        holder = lease(api)["spec"]["holderIdentity"]
        writers = {json.loads(seen.request.body or b"")["spec"]["holderIdentity"] for seen in api.seen if writes(seen)}
        assert writers == {holder}
        assert len(api.requests("get", "leases")) <= 4 * 60 / (TERMS.retry_period / 2)


def writes(seen: Any) -> bool:
    return bool(seen.verb not in ("get", "list", "watch"))


async def test_a_claim_counts_from_the_moment_at_which_it_was_sent(api: FakeApi) -> None:
    a = Candidate(api, known=False)
    await asyncio.sleep(1)
    a.answers_after = lambda: 2.0
    a.known.set()
    await asyncio.sleep(4.01)  # a look, and the claim, which was sent two seconds ago
    assert a.leader.leads
    a.arrives_after = lambda: 1000.0
    await asyncio.sleep(7.9)
    assert a.leader.leads
    await asyncio.sleep(0.2)
    assert not a.leader.leads
    await a.end()
    for request in a.on_the_way:
        request.cancel()
