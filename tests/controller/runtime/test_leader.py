"""Leader election against an API server in memory, in simulated time."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looptime import new_event_loop
from prometheus_client import CollectorRegistry

from controller.runtime.election import Terms
from controller.runtime.leader import Leader, LeaderMetrics, LeaseLost, NotLeading
from shared.api.meta import Key
from shared.kube.client import TIMEOUT, KubeClient
from shared.kube.transport import Answer, Request
from tests.shared.kube.fake_api import FakeApi, no_connection

pytestmark = pytest.mark.looptime

LEASE = Key("jobs-system", "jobflow-controller")
TERMS = Terms()
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Candidate:
    """A replica that takes part: it has a way of its own to the API server, and a clock that may jump."""

    def __init__(self, api: FakeApi, name: str = "a", *, skew: float = 0.0, known: bool = True) -> None:
        self.api = api
        self.name = name
        self.slept = 0.0
        self.arrives_after: Callable[[], float] = lambda: 0.0
        self.answers_after: Callable[[], float] = lambda: 0.0
        self.loses_answer: Callable[[], bool] = lambda: False
        self.on_the_way: set[asyncio.Task[Answer]] = set()
        self.known = asyncio.Event()
        if known:
            self.known.set()
        self.registry = CollectorRegistry()
        self.loop = asyncio.get_running_loop()
        self.leader = Leader(
            KubeClient(self),
            LEASE,
            name,
            TERMS,
            random=Random(name),
            clock=lambda: BEGINNING + timedelta(seconds=self.loop.time() + skew),
            monotonic=lambda: self.loop.time() + self.slept,
            metrics=LeaderMetrics(self.registry, LEASE),
        )
        self.acquired_at: float | None = None
        self.task = asyncio.create_task(self.take_part())

    async def take_part(self) -> None:
        await self.leader.acquire(self.known)
        self.acquired_at = self.loop.time()
        await self.leader.hold()

    async def end(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError, LeaseLost):
            await self.task

    async def nothing_is_on_its_way(self) -> None:
        if self.on_the_way:
            await asyncio.wait(self.on_the_way)

    async def lost(self, within: float) -> str:
        """Why it has ended, which it has to do by itself."""
        with pytest.raises(LeaseLost) as lost:
            await asyncio.wait_for(self.task, within)
        return str(lost.value)

    @property
    def shown(self) -> float | None:
        return self.registry.get_sample_value("leader_election_master_status", {"name": LEASE.name})

    # The transport

    async def send(self, request: Request) -> Answer:
        # What was sent arrives, though nobody may wait for the answer any more.
        request_on_its_way = asyncio.create_task(self.arrive(request))
        self.on_the_way.add(request_on_its_way)
        request_on_its_way.add_done_callback(self.on_the_way.discard)
        answer = await asyncio.shield(request_on_its_way)
        await asyncio.sleep(self.answers_after())
        return no_connection(request) if self.loses_answer() else answer

    async def arrive(self, request: Request) -> Answer:
        await asyncio.sleep(self.arrives_after())
        return await self.api.send(request)

    def stream(self, request: Request) -> Any:
        raise AssertionError("the Lease is not watched")

    async def close(self) -> None:
        pass


@asynccontextmanager
async def candidates(api: FakeApi, *names: str) -> AsyncIterator[list[Candidate]]:
    taking_part = [Candidate(api, name) for name in names]
    try:
        yield taking_part
    finally:
        for each in taking_part:
            await each.end()
            await each.nothing_is_on_its_way()


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def lease(api: FakeApi) -> dict[str, Any]:
    return api.objects["leases"][LEASE]


def put_lease(api: FakeApi, **spec: Any) -> None:
    api.put("leases", LEASE.name, namespace=LEASE.namespace, spec=spec)


def held_by_another(api: FakeApi, **more: Any) -> None:
    put_lease(
        api,
        **{
            "holderIdentity": "rival",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 4,
            **more,
        },
    )


def now() -> float:
    return asyncio.get_running_loop().time()


# Claiming


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


def lease_is_there(api: FakeApi) -> bool:
    return LEASE in api.objects["leases"]


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
                everybody[at] = unlucky(api, f"{each.name}'", random)
    assert led, "nobody ever led"
    for each in everybody:
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
