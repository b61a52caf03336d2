"""Every state of every graph of up to four entries: what must hold does, and what is broken would be seen."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller.jobflow import phase, plan, progress, status
from controller.jobflow.actions import DeleteJob
from shared.api.job import JobPhase
from shared.api.jobflow import Phase
from shared.flow.names import child_name
from tests.model.extents import EXTENTS, Extent
from tests.model.graphs import Graph, graphs_of
from tests.model.machine import EVERY_PHASE, FEWEST_PHASES
from tests.model.space import Broken

Patch = pytest.MonkeyPatch


def as_text(graph: Graph) -> str:
    return " ".join("abcd"[i] + (":" + "".join("abcd"[it] for it in on) if on else "") for i, on in enumerate(graph))


CASES = [pytest.param(extent, graph, id=as_text(graph)) for extent in EXTENTS for graph in extent.graphs]


@pytest.mark.parametrize(("extent", "graph"), CASES)
def test_in_every_state_the_invariants_hold_one_pass_is_enough_and_luck_leads_to_succeed(
    extent: Extent, graph: Graph
) -> None:
    states = extent.space(graph).explore()
    print(f"{states} states of {as_text(graph)}")
    assert states > 20


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 2), (3, 6), (4, 31)])
def test_every_graph_is_there_once(size: int, count: int) -> None:
    assert len(set(graphs_of(size))) == count


def test_every_phase_of_volcanos_is_there() -> None:
    assert set(EVERY_PHASE) == {"", *JobPhase}


# The model sees


def dependencies_do_not_matter(patch: Patch) -> None:
    patch.setattr(plan, "is_ready", lambda *_: True)


def one_dependency_is_enough(patch: Patch) -> None:
    patch.setattr(plan, "is_ready", lambda flow, known: not flow.targets or bool(known.completed & {*flow.targets}))


def finished_jobflows_start_jobs(patch: Patch) -> None:
    patch.setattr(plan, "FINISHED", frozenset())


def nothing_is_remembered(patch: Patch) -> None:
    patch.setattr(progress, "_state", lambda seen, name, _: seen.jobs[name].phase if name in seen.jobs else None)


def a_last_sight_does_not_count(patch: Patch) -> None:
    state = progress._state

    def without_departed(seen: Any, name: str, remembered: Any) -> str | None:
        return None if name in seen.departed and name not in remembered else state(seen, name, remembered)

    patch.setattr(progress, "_state", without_departed)


def a_later_job_proves_nothing(patch: Patch) -> None:
    patch.setattr(progress, "_proven_complete", lambda *_: ())


def nothing_is_ever_lost(patch: Patch) -> None:
    patch.setattr(progress, "unaccounted", lambda _: [])


def one_transition_in_a_pass(patch: Patch) -> None:
    patch.setattr(phase, "settle", lambda before, jobs: phase._next(phase._known(before), jobs) or phase._known(before))


def terminated_is_no_failure(patch: Patch) -> None:
    failed = ((lambda jobs: jobs.any(JobPhase.FAILED, progress.LOST)), Phase.FAILED)
    rows: dict[str, Any] = {
        **phase.TRANSITIONS,
        Phase.PENDING: (failed, phase.TRANSITIONS[Phase.PENDING][1]),
        Phase.RUNNING: (phase.TRANSITIONS[Phase.RUNNING][0], failed),
    }
    patch.setattr(phase, "TRANSITIONS", rows)


def completing_is_completed(patch: Patch) -> None:
    def all_done(jobs: progress.Tally) -> bool:
        return sum(jobs.counts.get(it, 0) for it in (JobPhase.COMPLETED, JobPhase.COMPLETING)) == jobs.total

    failed = phase.TRANSITIONS[Phase.RUNNING][1]
    patch.setattr(phase, "TRANSITIONS", {**phase.TRANSITIONS, Phase.RUNNING: ((all_done, Phase.SUCCEED), failed)})


def a_deletion_is_not_heeded(patch: Patch) -> None:
    patch.setattr(plan, "phase_of", lambda seen, known: phase.settle(seen.jobflow.phase, known.tally))


def jobs_go_before_succeed_is_stored(patch: Patch) -> None:
    def leftovers(seen: Any, stored: Any) -> Iterator[DeleteJob]:
        jobs = [seen.jobs.get(child_name(stored.name, flow.name)) for flow in stored.flows]
        if all(job and job.phase == JobPhase.COMPLETED for job in jobs):
            yield from (DeleteJob(job.name, job.uid, "") for job in jobs)

    patch.setattr(plan, "leftovers", leftovers)


def some_jobs_stay(patch: Patch) -> None:
    leftovers = plan.leftovers
    patch.setattr(plan, "leftovers", lambda *of: list(leftovers(*of))[1:])


def jobs_that_have_gone_leave_the_status(patch: Patch) -> None:
    known = status._known

    def only_those_that_exist(seen: Any, how_far: Any) -> Any:
        return {name: it for name, it in known(seen, how_far).items() if it.job}

    patch.setattr(status, "_known", only_those_that_exist)


def explore_some() -> None:
    for extent in (Extent(1, EVERY_PHASE, hands=True), *(Extent(size, FEWEST_PHASES, hands=True) for size in (2, 3))):
        for graph in reversed(extent.graphs):
            extent.space(graph).explore()


@pytest.mark.parametrize(
    ("switch", "rules"),
    [
        (dependencies_do_not_matter, ("I1",)),
        (one_dependency_is_enough, ("I1",)),
        (finished_jobflows_start_jobs, ("I3",)),
        (nothing_is_remembered, ("I2", "I9", "I12")),
        (a_last_sight_does_not_count, ("I2", "I12")),
        (a_later_job_proves_nothing, ("I5", "I12", "L1")),
        (nothing_is_ever_lost, ("I12", "L1")),
        (one_transition_in_a_pass, ("I4",)),
        (terminated_is_no_failure, ("I4",)),
        (completing_is_completed, ("I4", "I5")),
        (a_deletion_is_not_heeded, ("I3",)),
        (jobs_go_before_succeed_is_stored, ("I6",)),
        (some_jobs_stay, ("L1",)),
        (jobs_that_have_gone_leave_the_status, ("I9", "I12")),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_a_protection_that_is_switched_off_is_missed(
    switch: Callable[[Patch], None], rules: tuple[str, ...], monkeypatch: Patch
) -> None:
    switch(monkeypatch)
    with pytest.raises(Broken) as broken:
        explore_some()
    rule = str(broken.value).splitlines()[-1]
    assert rule.startswith(rules), broken.value
