"""Leader election in simulated time: a leader renews its Lease, and acts only while nobody else may claim it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from controller.runtime.leader import LeaseLost, NotLeading
from shared.kube.client import TIMEOUT
from tests.controller.runtime.candidates import (
    LEASE,
    TERMS,
    candidates,
    held_by_another,
    lease,
    now,
    put_lease,
)
from tests.shared.kube.fake_api import FakeApi, no_connection

pytestmark = pytest.mark.looptime


# Holding


async def test_the_leader_renews_at_its_period_with_one_request_each(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(1)
        api.seen.clear()
        await asyncio.sleep(60)
        assert a.leader.leads
        assert {seen.verb for seen in api.seen} == {"update"}
        assert 29 <= len(api.seen) <= 30
        assert lease(api)["spec"]["acquireTime"] < lease(api)["spec"]["renewTime"]
        assert lease(api)["spec"]["leaseTransitions"] == 0


async def test_without_an_api_server_the_leader_ends_when_its_deadline_has_come(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        api.when("*", "*", no_connection, times=1000)
        began = now()
        assert "not renewed for 10 s" in await a.lost(within=10.1)
        assert now() - began >= TERMS.renew_deadline - TERMS.retry_period - 0.1
        assert not a.leader.leads
        assert a.shown == 0


async def test_a_short_outage_is_survived(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        api.when("*", "*", no_connection, times=3)
        await asyncio.sleep(60)
        assert a.leader.leads
        a.leader.check()


async def test_with_answers_that_take_longer_than_a_request_may_the_leader_ends_in_time(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        a.answers_after = lambda: 8.0
        await a.lost(within=10.1)


async def test_a_renewal_whose_answer_is_lost_is_no_loss(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        lost = iter([True, False, True, False])
        a.loses_answer = lambda: next(lost, False)
        await asyncio.sleep(60)
        assert a.leader.leads


async def test_somebody_who_labels_the_lease_takes_nothing_away(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        for number in range(20):
            await asyncio.sleep(1.7)
            api.put("leases", LEASE.name, namespace=LEASE.namespace, metadata={"labels": {"n": str(number)}})
        assert a.leader.leads
        assert lease(api)["metadata"]["labels"] == {"n": "19"}


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        pytest.param(held_by_another, "it is held by rival", id="stolen"),
        pytest.param(put_lease, "it is held by nobody", id="emptied"),
        pytest.param(
            lambda api: api.delete("leases", LEASE.name, namespace=LEASE.namespace), "deleted it", id="deleted"
        ),
    ],
)
async def test_a_leader_whose_lease_is_gone_ends_at_its_next_renewal_and_leaves_it_alone(
    api: FakeApi, fate: Callable[[FakeApi], None], why: str
) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        fate(api)
        api.seen.clear()
        assert why in await a.lost(within=TERMS.retry_period + 0.1)
        with pytest.raises(NotLeading):
            a.leader.check()
        before = dict(api.objects["leases"])
        await a.leader.release()
        assert api.objects["leases"] == before


async def test_a_candidate_that_knew_the_holder_of_a_deleted_lease_leaves_it_a_whole_term(api: FakeApi) -> None:
    held_by_another(api)
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(5)
        api.delete("leases", LEASE.name, namespace=LEASE.namespace)
        await asyncio.sleep(TERMS.lease_duration - 0.1)
        assert not a.leader.leads, "its holder may have renewed it just before it was deleted"
        await asyncio.sleep(TERMS.retry_period + 0.2)
        assert a.leader.leads


# The guard


async def test_the_guard_counts_from_the_moment_at_which_the_renewal_was_sent(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(0.01)
        a.answers_after = lambda: 4.0
        await asyncio.sleep(5.99)
        assert [round(seen.at, 1) for seen in api.requests("update", "leases")] == [2.0]
        api.when("*", "*", no_connection, times=1000)
        await asyncio.sleep(5.9)
        a.leader.check()
        await asyncio.sleep(0.2)
        with pytest.raises(NotLeading):
            a.leader.check()
        with suppress(LeaseLost):
            await a.task


async def test_what_the_guard_lets_through_has_ended_before_another_may_claim(api: FakeApi) -> None:
    """A write may be sent up to the deadline, and is then on its way for as long as a request may take."""
    async with candidates(api, "a", "b") as [a, b]:
        await asyncio.sleep(30)
        leader, other = (a, b) if a.leader.leads else (b, a)
        leader.arrives_after = lambda: 1000.0
        last_write = now()
        while not other.leader.leads:
            await asyncio.sleep(0.01)
            if leader.leader.leads:
                last_write = now()
        assert last_write + TIMEOUT <= now()


async def test_after_a_long_stop_the_guard_refuses_and_the_leader_ends_without_a_request(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        api.seen.clear()
        a.slept += 20
        assert a.leader.has_run_out
        with pytest.raises(NotLeading):
            a.leader.check()
        await a.lost(within=TERMS.retry_period)
        assert not api.seen


async def test_a_stop_shorter_than_the_deadline_changes_nothing(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        a.slept += 7
        assert not a.leader.has_run_out
        await asyncio.sleep(30)
        assert a.leader.leads


async def test_liveness_fails_where_the_lease_has_run_out_and_nobody_acts(api: FakeApi) -> None:
    async with candidates(api, "a", "b") as [a, b]:
        await asyncio.sleep(11)
        leader, other = (a, b) if a.leader.leads else (b, a)
        leader.slept += 12
        assert leader.leader.trouble() is None
        leader.slept += 10
        assert leader.leader.trouble() is not None
        other.slept += 1000
        assert other.leader.trouble() is None
        leader.task.cancel()
