"""Leader election in simulated time: a Lease is given back at once, and no two lead at the same time."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looptime import new_event_loop

from tests.controller.runtime.candidates import (
    LEASE,
    TERMS,
    Candidate,
    candidates,
    held_by_another,
    lease,
    lease_is_there,
    put_lease,
)
from tests.shared.kube.fake_api import FakeApi

pytestmark = pytest.mark.looptime


# Giving it back


async def test_a_lease_that_was_given_back_is_taken_over_within_the_retry_period(api: FakeApi) -> None:
    async with candidates(api, "a", "b") as [a, b]:
        await asyncio.sleep(30)
        leader, other = (a, b) if a.leader.leads else (b, a)
        await leader.end()
        await leader.leader.release()
        assert not leader.leader.leads
        assert (lease(api)["spec"]["holderIdentity"], lease(api)["spec"]["leaseDurationSeconds"]) == ("", 1)
        await asyncio.sleep(TERMS.retry_period + 0.1)
        assert other.leader.leads
        assert lease(api)["spec"]["leaseTransitions"] == 1


async def test_a_renewal_that_was_on_its_way_does_not_keep_the_lease_from_being_given_back(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        await a.end()
        put_lease(api, **{**lease(api)["spec"], "renewTime": "2026-01-01T00:00:59.000000Z"})
        await a.leader.release()
        assert lease(api)["spec"]["holderIdentity"] == ""


async def test_what_is_not_ours_is_not_given_back(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        await a.end()
        held_by_another(api)
        await a.leader.release()
        assert lease(api)["spec"]["holderIdentity"] == "rival"


async def test_giving_it_back_takes_no_longer_than_a_second(api: FakeApi) -> None:
    async with candidates(api, "a") as [a]:
        await asyncio.sleep(11)
        await a.end()
        a.answers_after = lambda: 60.0
        await asyncio.wait_for(a.leader.release(), 1.1)


# All together


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), number=st.integers(2, 4), deleted=st.booleans())
def test_no_two_lead_at_the_same_time_whatever_becomes_of_requests_leases_and_processes(
    seed: int, number: int, deleted: bool
) -> None:
    """Either the Lease is deleted now and then, or processes come: one that comes just then cannot know better.

    For the same reason it is deleted only once all of them know who holds it.
    """
    simulated(no_two_lead(Random(seed), number, deleted=deleted))


async def no_two_lead(random: Random, number: int, *, deleted: bool) -> None:
    api = FakeApi()
    everybody = [unlucky(api, str(name), random) for name in range(number)]
    gone: list[Candidate] = []
    led = set[str]()
    for _ in range(200):
        await asyncio.sleep(random.choice([0.01, 0.1, 1.0, 3.0]))
        leading = [each for each in everybody if each.leader.leads]
        assert len(leading) <= 1, [each.name for each in leading]
        led.update(each.name for each in leading)
        if deleted and random.random() < 0.02 and lease_is_there(api) and all_know_the_holder(everybody, api):
            api.delete("leases", LEASE.name, namespace=LEASE.namespace)
        for at, each in enumerate(everybody):
            if not deleted and (each.task.done() or random.random() < 0.01):
                await each.end()
                if random.random() < 0.5:
                    await each.leader.release()
                gone.append(each)
                everybody[at] = unlucky(api, f"{each.name}'", random)
    assert led, "nobody ever led"
    for each in [*gone, *everybody]:
        await each.end()
        await each.nothing_is_on_its_way()


def all_know_the_holder(everybody: list[Candidate], api: FakeApi) -> bool:
    holder = lease(api)["spec"].get("holderIdentity")
    known = [each.leader._sight.record for each in everybody]
    return all(record is not None and record.holder_identity == holder for record in known)


def unlucky(api: FakeApi, name: str, random: Random) -> Candidate:
    """A candidate whose clock is wrong, and whose requests and answers are late or lost."""
    candidate = Candidate(api, name, skew=random.uniform(-3600, 3600))
    candidate.arrives_after = lambda: random.choice([0.0, 0.0, 0.0, 0.3, 4.0, 8.0])
    candidate.answers_after = lambda: random.choice([0.0, 0.0, 0.0, 0.5, 3.0, 6.0])
    candidate.loses_answer = lambda: random.random() < 0.1
    return candidate


def simulated(work: Coroutine[Any, Any, None]) -> None:
    loop = new_event_loop(start=0.0, end=None)
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
