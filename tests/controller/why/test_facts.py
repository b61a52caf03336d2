"""What is read off a picture directly."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace as changed

from controller.jobflow.explain import explain
from controller.jobflow.progress import progress_of
from controller.why.facts import refusals_told, run_of, runs_by_template
from shared.api.jobflow import JobFlow, Phase, State
from tests.controller.why.picture import a_running_jobflow, running
from tests.support.seeing import a_job, refused, seeing

JOBFLOW = a_running_jobflow("get", "get-all", "clean: get", "d", "e", "f")

DENIED = 'admission webhook "validatejob.volcano.sh" denied the request: queue `q` is Closed; ask its owner'


def saying(jobflow: JobFlow, **about: object) -> JobFlow:
    """The JobFlow with the status that the controller writes of that snapshot."""
    seen = seeing(jobflow, **about)
    reason, message = explain(seen, progress_of(seen), Phase.RUNNING)
    return changed(jobflow, status=changed(jobflow.status, state=State("Running", reason, message)))


def test_the_refusals_that_the_controller_tells_of_are_read_back_in_the_api_servers_words() -> None:
    problems = {"get": refused("exceeded quota: gpus"), "get-all": refused(DENIED)}
    told = refusals_told(saying(JOBFLOW, problems=problems, d="Running", e="Running", f="Running"))
    assert told == {"get": "exceeded quota: gpus", "get-all": DENIED}


def test_missing_templates_and_strangers_beside_them_are_no_refusals() -> None:
    told = refusals_told(saying(JOBFLOW, problems={"e": refused("no")}, templates={"e", "f"}, f="Running"))
    assert told == {"e": "no"}


def test_refusals_are_read_beside_the_graver_conflicts_of_names() -> None:
    told = refusals_told(saying(JOBFLOW, problems={"e": refused("no")}, strangers=["d"]))
    assert told == {"e": "no"}


def test_of_more_refusals_than_the_status_names_those_that_it_names_are_told() -> None:
    problems = {name: refused(f"no {name}") for name in ("get", "get-all", "d", "e", "f")}
    assert refusals_told(saying(JOBFLOW, problems=problems)) == {"get": "no get", "get-all": "no get-all", "d": "no d"}


def test_where_the_status_has_another_reason_there_are_none() -> None:
    assert refusals_told(saying(JOBFLOW, templates=set())) == {}


def test_a_run_lasts_from_creation_to_completion() -> None:
    job = running(JOBFLOW, "get", "Completed", since="11:57", created="2026-03-01T11:50:00Z")
    assert run_of(job) == (420, datetime(2026, 3, 1, 11, 57, tzinfo=UTC))


def test_volcanos_own_length_of_a_run_counts_where_the_times_tell_none() -> None:
    job = a_job(JOBFLOW, "get", "Completed", runningDuration="2m5s")
    run = run_of(job)
    assert run is not None
    assert run.seconds == 125


@pytest.mark.parametrize("phase", ["Running", "Failed", "Completing"])
def test_what_has_not_completed_is_no_run(phase: str) -> None:
    assert run_of(running(JOBFLOW, "get", phase)) is None


def test_runs_are_known_by_the_annotation_the_newest_first() -> None:
    early = running(JOBFLOW, "get", "Completed", since="10:30", created="2026-03-01T10:00:00Z")
    late = running(JOBFLOW, "get", "Completed", since="11:10", created="2026-03-01T11:00:00Z")
    unmarked = running(JOBFLOW, "get", "Completed", metadata={"annotations": {}})
    runs = runs_by_template("ml", [early, unmarked, late])
    assert {name: [run.seconds for run in each] for name, each in runs.items()} == {"get": [600, 1800]}
