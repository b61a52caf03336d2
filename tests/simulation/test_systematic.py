"""Faults at every place where they can be, one place after the other: what is enumerated is not left to chance."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import pytest

from tests.simulation.judging import all_right, creates, phases, writes
from tests.simulation.plan import FlowPlan, Plan, Script, Step, Weather
from tests.simulation.run import run

IN_CI = bool(os.environ.get("CI"))

CHAIN = (("a", ()), ("b", ("a",)), ("c", ("b",)))
DIAMOND = (("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c")))
SIX = (("a", ()), ("b", ()), ("c", ("a", "b")), ("d", ("c",)), ("e", ("c",)), ("f", ("d", "e")))
QUICK: Script = ((0.05, "Running"), (0.1, "Completed"))


def a_flow(entries: tuple[tuple[str, tuple[str, ...]], ...], policy: str | None = "delete", **changes: Any) -> Plan:
    """One JobFlow whose Jobs are quick, with nothing wrong."""
    names = [name for name, _ in entries]
    plan = Plan(
        1,
        "systematic",
        (FlowPlan("etl", entries, policy, at=0.05),),
        tuple((name, None) for name in names),
        {f"etl-{name}": (QUICK,) for name in names},
        calm_at=8.0,
        weather=Weather(restart=0.2),
    )
    return plan.but(**changes)


def under(plan: Plan, **weather: Any) -> Plan:
    """The same under other weather."""
    return plan.but(weather=replace(plan.weather, **weather))


class TestCrashes:
    """Killed before or after a write, the controller that starts again goes on as if nothing had been (C01 to C03)."""

    @pytest.mark.parametrize("policy", ["retain", "delete"])
    @pytest.mark.parametrize("entries", [CHAIN, DIAMOND, SIX], ids=["chain", "diamond", "six"])
    def test_at_every_write(self, entries: tuple[tuple[str, tuple[str, ...]], ...], policy: str) -> None:
        plan = a_flow(entries, policy)
        (reference,) = all_right([plan])
        crashes = product(range(1, writes(reference) + 1), ("before", "after"))
        results = all_right(under(plan, crashes=(crash,)) for crash in crashes)
        assert {phases(result)["etl"] for result in results} == {"Succeed"}
        assert {creates(result, f"etl-{name}") for result in results for name, _ in entries} == {1}

    @pytest.mark.parametrize("kinds", list(product(("before", "after"), repeat=2)), ids="-".join)
    @pytest.mark.parametrize("policy", ["retain", "delete"] if IN_CI else ["delete"])
    @pytest.mark.parametrize("entries", [DIAMOND, SIX] if IN_CI else [CHAIN], ids=len)
    def test_at_every_two_writes(
        self, entries: tuple[tuple[str, tuple[str, ...]], ...], policy: str, kinds: tuple[str, str]
    ) -> None:
        plan = a_flow(entries, policy)
        (reference,) = all_right([plan])
        places = range(1, writes(reference) + 6)  # what recovery itself writes comes on top
        pairs = combinations_with_replacement(places, 2)
        all_right(under(plan, crashes=tuple(zip(pair, kinds, strict=True))) for pair in pairs)

    def test_and_the_jobs_are_gone_at_once(self) -> None:
        """With TTL 0, where only the known window excuses a second create."""
        plan = a_flow(DIAMOND).but(templates=tuple((name, 0) for name, _ in DIAMOND))
        for place in product(range(1, 20), ("before", "after")):
            all_right([under(plan, crashes=(place,)), under(plan, crashes=(place,), restart=2.0)])

    def test_while_a_standby_takes_over(self) -> None:
        """With a lease: whoever is killed, the other goes on, and writes only once the lease is its own."""
        plan = a_flow(CHAIN, controllers=2, lease=True, calm_at=5.0)
        for place in product(range(1, 12), ("before", "after")):
            all_right([under(plan, crashes=(place,), restart=60.0).but(calm_at=70.0)])


class TestTimeTravel:
    """Connected to a front-end that lags, the controller does nothing twice and nothing too soon (C08, C09)."""

    @pytest.mark.parametrize("ttl", [None, 0])
    def test_by_any_number_of_events(self, ttl: int | None) -> None:
        plan = a_flow(DIAMOND).but(templates=tuple((name, ttl) for name, _ in DIAMOND))
        for lag in range(1, 31):
            for kills in ((), (0.4,), (0.7,), (1.1,)):
                all_right([under(plan, behind=((0.3, 3.0, lag),), kills=kills, restart=0.05)])

    def test_a_new_controller_that_is_shown_no_jobs_creates_none_twice(self) -> None:
        for at in (0.2, 0.35, 0.5, 0.7, 0.9, 1.2):
            weather: dict[str, Any] = {"hidden": ("jobs",), "behind": ((0.0, 7.0, 60),), "kills": (at,), "restart": 0.1}
            (result,) = all_right([under(a_flow(DIAMOND, "retain"), **weather)])
            assert {creates(result, f"etl-{name}") for name, _ in DIAMOND} == {1}


class TestUnobserved:
    """What came and went while nobody watched is told by a list alone (C10)."""

    @pytest.mark.parametrize("hand", ["", "!delete", "!disown", "!mark"])
    def test_whatever_happens_while_a_watch_is_cut_and_compacted(self, hand: str) -> None:
        script: Script = ((0.02, "Running"), *(((0.05, hand),) if hand else ()), (0.1, "Completed"))
        plan = a_flow(CHAIN).but(scripts={"etl-b": (script,), "etl-a": (QUICK,)})
        for seed in range(40):
            all_right([under(plan, cuts=1.0, expires=1.0, lag=0.1).but(seed=seed)])

    def test_a_jobflow_that_is_deleted_and_created_again(self) -> None:
        """At any moment, its old Jobs still there, Completed (C12)."""
        flow = a_flow(DIAMOND, "retain").flows[0]
        for moment, propagation in product(range(1, 26), ("Background", "Orphan", "Foreground")):
            at = moment * 0.05
            again = [Step(at + pause, "create", (flow,)) for pause in (0.0, 0.02, 4.0)]
            steps = (Step(at, "delete", ("etl", propagation)), *again)
            plan = a_flow(DIAMOND, "retain", steps=steps, garbage=0.5)
            all_right([plan, under(plan, lag=0.2)])


class TestStops:
    """A leader that was stopped for a while, and the clock of whose wall steps (C14, C15)."""

    @pytest.mark.parametrize("seconds", [5, 20, 60])
    def test_writes_nothing_once_the_lease_is_anothers(self, seconds: int) -> None:
        plan = a_flow(CHAIN, controllers=2, lease=True)
        for nth in range(1, 14):
            all_right([under(plan, stills=((nth, float(seconds)),)).but(calm_at=seconds + 10.0)])

    def test_a_wall_clock_that_steps_changes_nothing(self) -> None:
        plan = a_flow(DIAMOND, controllers=2, lease=True)
        for seed, step in product(range(15), (3600.0, -3600.0, -600.0)):
            results = all_right([under(plan, clock=((0.4, step), (1.0, -step))).but(seed=seed)])
            assert {creates(result, f"etl-{name}") for result in results for name, _ in DIAMOND} == {1}


class TestJobsThatGo:
    """Before it was seen to end a Job is lost, afterwards it is done for good (C18)."""

    WAY = ("Pending", "Running", "Completing", "Completed")

    @pytest.mark.parametrize("hand", ["!delete", "!mark", "!disown"])
    @pytest.mark.parametrize("place", range(5))
    def test_in_each_phase(self, place: int, hand: str) -> None:
        phases_ = [(0.1, phase) for phase in self.WAY]
        script = (*phases_[:place], (0.05, hand), *phases_[place:])
        plan = a_flow(CHAIN, "retain").but(scripts={"etl-a": (script,)})
        (result,) = all_right([plan])
        assert phases(result)["etl"] == ("Succeed" if place == len(self.WAY) else "Failed")

    def test_between_completion_and_its_being_seen(self) -> None:
        """Removed at once, and heard of late: the last sight tells."""
        plan = a_flow(CHAIN).but(templates=tuple((name, 0) for name, _ in CHAIN))
        for seed in range(20):
            (result,) = all_right([under(plan, lag=0.3).but(seed=seed)])
            assert phases(result)["etl"] == "Succeed"


class TestAFaultOfTheProgram:
    """An error that nobody foresaw, in any request of a pass: the key is tried again, others go on (C24)."""

    def test_at_every_request(self) -> None:
        two = (*a_flow(CHAIN).flows, FlowPlan("other", (("a", ()),), None, 0.05))
        plan = a_flow(CHAIN, flows=two)
        for nth in range(1, 30):
            (result,) = all_right([under(plan, raises=(nth,))])
            assert phases(result) == {"etl": "Succeed", "other": "Succeed"}
            if nth <= 12:
                labels = [{"controller": name} for name in ("jobflow", "jobtemplate")]
                registry = result.replicas[0].registries[0]
                panics = [registry.get_sample_value("controller_runtime_reconcile_panics_total", it) for it in labels]
                assert sum(panic or 0 for panic in panics) == 1


class TestMending:
    """A cause that is watched is mended within a second, any other within its back-off, with no restart (L4)."""

    @staticmethod
    def created_after(plan: Plan, job: str, at: float) -> float:
        (result,) = all_right([plan])
        for call, refusal in result.oracle.writes:
            if call.verb == "create" and call.key.name == job and refusal is None:
                return call.at - 1_000.0 - at
        raise AssertionError(f"{job} was never created")

    @pytest.mark.parametrize("at", [1.0, 3.7, 6.1])
    def test_a_template_that_arrives(self, at: float) -> None:
        plan = a_flow(CHAIN, templates=(("b", None), ("c", None)), steps=(Step(at, "template", ("a", None)),))
        assert self.created_after(plan, "etl-a", at) <= 1.0

    @pytest.mark.parametrize("at", [1.0, 3.7, 6.1])
    def test_a_strangers_job_that_goes(self, at: float) -> None:
        steps = (Step(0.0, "stranger", ("etl-a", "Completed")), Step(at, "unstrange", ("etl-a",)))
        assert self.created_after(a_flow(CHAIN, steps=steps), "etl-a", at) <= 1.0

    @pytest.mark.parametrize("at", [1.0, 3.7, 6.1])
    def test_a_spec_that_is_mended(self, at: float) -> None:
        wrong = (("a", ("c",)), *CHAIN[1:])
        plan = a_flow(wrong, steps=(Step(at, "edit", ("etl", CHAIN)),))
        assert self.created_after(plan, "etl-a", at) <= 1.0

    @pytest.mark.parametrize("at", [1.0, 20.0, 50.0])
    def test_a_refusal_that_ends(self, at: float) -> None:
        steps = (Step(0.0, "refuse", ("etl-a", 403, "exceeded quota")), Step(at, "allow", ("etl-a",)))
        assert self.created_after(a_flow(CHAIN, steps=steps, calm_at=60.0), "etl-a", at) <= 20.0


class TestWrites:
    """No more is written than there is to tell (I9)."""

    @staticmethod
    def calm_plans() -> Iterator[Plan]:
        for entries, policy in product((CHAIN, DIAMOND, SIX), ("retain", "delete")):
            yield a_flow(entries, policy)

    def test_as_many_creates_as_entries_and_few_statuses(self) -> None:
        for plan in self.calm_plans():
            (result,) = all_right([plan])
            n = len(plan.flows[0].entries)
            created = [call for call, _ in result.oracle.writes if call.verb == "create"]
            statuses = [call for call, _ in result.oracle.writes if call.resource == "jobflows"]
            changes = 3 * n + (n if plan.flows[0].policy == "delete" else 0)
            assert len(created) == n
            assert len(statuses) <= max(4 * n + 2, changes + n + 2)

    def test_a_create_that_is_always_refused_is_tried_ever_more_rarely_and_holds_up_nobody(self) -> None:
        two = (*a_flow(CHAIN).flows, FlowPlan("other", CHAIN, None, 0.05))
        plan = a_flow(CHAIN, flows=two, steps=(Step(0.0, "refuse", ("etl-a", 422, "no")),), calm_at=300.0)
        alone = run(a_flow(CHAIN)).settled_at
        result = run(plan)
        assert not result.violations, result.report()
        tried = [call.at for call, _ in result.oracle.writes if call.verb == "create" and call.key.name == "etl-a"]
        assert 10 <= len(tried) <= 300 / 15 + 6
        assert all(later - sooner >= 5 for sooner, later in pairwise(tried[6:]))
        last = max(call.at for call, _ in result.oracle.writes if call.key.name == "other")
        assert last - 1_000.0 <= alone * 1.1
