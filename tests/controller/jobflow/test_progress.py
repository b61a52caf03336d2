import pytest

from controller.jobflow.progress import LOST, progress_of, unaccounted
from shared.api.jobflow import JobFlow
from tests.support.builders import a_jobflow
from tests.support.seeing import a_job, seeing


def remembering(*flows: str, deleting: bool = False, **states: str) -> JobFlow:
    """A JobFlow whose stored status remembers these states of its Jobs."""
    return a_jobflow(
        *flows,
        status={"jobStatusList": [{"name": f"etl-{flow}", "state": state} for flow, state in states.items()]},
        metadata={"deletionTimestamp": "2026-03-01T11:59:00Z"} if deleting else None,
    )


def test_an_entry_whose_job_was_never_created_has_no_state() -> None:
    assert progress_of(seeing(a_jobflow("get", "clean: get"), get="Running")).states == {"get": "Running"}


@pytest.mark.parametrize("now", ["Running", "Failed", "Pending", ""])
def test_completed_once_is_completed_for_good(now: str) -> None:
    assert progress_of(seeing(remembering("get", get="Completed"), get=now)).states == {"get": "Completed"}


def test_a_job_that_completed_and_went_stays_completed() -> None:
    assert progress_of(seeing(remembering("get", get="Completed"))).completed == {"get"}


def test_the_last_sight_of_a_job_that_has_gone_counts() -> None:
    seen = seeing(remembering("get", get="Running"), departed={"get": "Completed"})
    assert progress_of(seen).completed == {"get"}
    assert unaccounted(seen) == []


def test_a_last_sight_of_its_end_outweighs_that_a_job_is_gone() -> None:
    seen = seeing(remembering("get", get="Running"), departed={"get": "Completed"}, absent={"get": "it is gone"})
    assert progress_of(seen).completed == {"get"}


@pytest.mark.parametrize("state", ["Failed", "Terminated"])
def test_a_job_that_failed_and_went_stays_failed(state: str) -> None:
    assert progress_of(seeing(remembering("get", get=state))).states == {"get": state}


def test_a_job_is_lost_only_after_a_live_look_did_not_find_it() -> None:
    jobflow = remembering("get", get="Running")
    assert unaccounted(seeing(jobflow)) == ["etl-get"]
    assert progress_of(seeing(jobflow)).states == {"get": "Running"}
    assert progress_of(seeing(jobflow, absent={"get": "it is gone"})).states == {"get": LOST}


def test_a_job_that_went_while_it_ran_is_asked_for() -> None:
    assert unaccounted(seeing(a_jobflow("get"), departed={"get": "Running"})) == ["etl-get"]


def test_a_lost_job_is_not_asked_for_again() -> None:
    assert unaccounted(seeing(remembering("get", get=LOST))) == []


def test_nothing_is_lost_from_a_jobflow_that_is_being_deleted() -> None:
    assert unaccounted(seeing(remembering("get", deleting=True, get="Running"))) == []


def test_a_job_proves_that_all_it_depends_on_had_completed_whatever_the_status_has_lost() -> None:
    seen = seeing(a_jobflow("get", "clean: get", "train: clean", "other"), train="Running")
    assert progress_of(seen).completed == {"get", "clean"}
    assert unaccounted(seeing(remembering("get", "train: get", get="Running"), train="Running")) == []


def test_a_job_that_can_be_seen_needs_no_proof() -> None:
    seen = seeing(a_jobflow("added", "train: added"), train="Running", added="Running")
    assert progress_of(seen).states["added"] == "Running"


def test_a_cycle_that_slipped_in_is_walked_once() -> None:
    assert progress_of(seeing(a_jobflow("a: b", "b: a"), a="Running")).completed == {"b"}


def test_a_strangers_job_is_no_progress() -> None:
    jobflow = a_jobflow("get")
    seen = seeing(jobflow, strangers={"get"})
    assert a_job(jobflow, "get", "Completed", owner="somebody").owner_uid != jobflow.uid
    assert progress_of(seen).states == {}
