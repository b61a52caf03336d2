import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.jobflow.phase import TRANSITIONS, phase_of, settle
from controller.jobflow.progress import LOST, Tally, progress_of
from shared.api.job import JobPhase
from tests.support.builders import a_jobflow
from tests.support.seeing import seeing

STATES = ["", *JobPhase, LOST, "NoPhaseOfVolcanos"]


def tally(*states: str, waiting: int = 0) -> Tally:
    return Tally({state: states.count(state) for state in states}, len(states) + waiting)


@pytest.mark.parametrize(
    ("before", "jobs", "after"),
    [
        pytest.param("", tally(waiting=2), "Pending", id="nothing has begun"),
        pytest.param("", tally("Pending", ""), "Pending", id="Jobs that only wait change nothing"),
        pytest.param("Pending", tally("Running", waiting=1), "Running", id="a Job runs"),
        pytest.param("Pending", tally("Completing", waiting=1), "Running", id="a Job is completing"),
        pytest.param("Pending", tally("Restarting"), "Running", id="a Job restarts"),
        pytest.param("Pending", tally("Completed", waiting=1), "Running", id="one of two has completed"),
        pytest.param("Pending", tally("Completed"), "Succeed", id="all finished before anyone looked"),
        pytest.param("Pending", tally("Terminated", "Running"), "Failed", id="a Terminated Job fails at once"),
        pytest.param("Pending", tally(LOST, "Running"), "Failed", id="a lost Job fails"),
        pytest.param("Running", tally("Completed", "Failed"), "Failed", id="a Job failed"),
        pytest.param("Running", tally("Completed", "Completing"), "Running", id="Completing is not Completed"),
        pytest.param("Running", tally("Aborted"), "Running", id="a suspended Job may be resumed"),
        pytest.param("Pending", tally("Aborting"), "Pending", id="a Job that is being suspended begins nothing"),
        pytest.param("Running", tally("Pending"), "Running", id="a Job that went back to Pending takes nothing back"),
        pytest.param("Succeed", tally("Failed"), "Succeed", id="what has succeeded stays"),
        pytest.param("Failed", tally("Completed"), "Failed", id="what has failed stays"),
        pytest.param("nonsense", tally("Running"), "Running", id="a phase that is none counts as Pending"),
    ],
)
def test_a_phase_follows_the_table_until_no_row_fits(before: str, jobs: Tally, after: str) -> None:
    assert settle(before, jobs) == after


@given(st.sampled_from(["", *TRANSITIONS]), st.lists(st.sampled_from(STATES), min_size=1, max_size=6))
def test_a_settled_phase_is_settled(before: str, states: list[str]) -> None:
    once = settle(before, tally(*states))
    assert settle(once, tally(*states)) == once


@given(st.lists(st.lists(st.sampled_from(STATES), min_size=2, max_size=2), max_size=12))
def test_whatever_the_jobs_do_a_phase_never_goes_back(history: list[list[str]]) -> None:
    order = ["", "Pending", "Running", "Succeed", "Failed"]
    phase = ""
    for states in history:
        after = settle(phase, tally(*states))
        assert order.index(after) >= order.index(phase)
        assert phase not in ("Succeed", "Failed") or after == phase
        phase = after


@pytest.mark.parametrize("before", ["", "Pending", "Running", "Succeed", "Failed"])
def test_a_jobflow_that_is_being_deleted_is_terminating_from_every_phase(before: str) -> None:
    deleting = {"deletionTimestamp": "2026-03-01T11:59:00Z"}
    seen = seeing(a_jobflow("get", phase=before, metadata=deleting), get="Completed")
    assert phase_of(seen, progress_of(seen)) == "Terminating"


def test_a_spec_that_cannot_be_run_keeps_its_phase() -> None:
    seen = seeing(a_jobflow("get", "clean", phase="Running"), get="Failed", faults=("spec.flows: broken",))
    assert phase_of(seen, progress_of(seen)) == "Running"
