from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.jobflow.progress import LOST, progress_of
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.status import is_worth_storing_at_once, observe
from shared.api.job import JobPhase
from shared.api.jobflow import JobFlow, JobFlowStatus
from tests.support.builders import a_jobflow
from tests.support.seeing import NOON, a_job, refused, seeing

DIAMOND = a_jobflow("get", "clean: get", "count: get", "train: clean count", metadata={"generation": 1})
LISTS = ("pending_jobs", "running_jobs", "failed_jobs", "completed_jobs", "terminated_jobs", "unknown_jobs")


def status(seen: Snapshot) -> JobFlowStatus:
    return observe(seen, progress_of(seen))


def having(jobflow: JobFlow, stored: JobFlowStatus) -> JobFlow:
    return replace(jobflow, status=stored)


@pytest.mark.parametrize(
    ("phase", "where"),
    [
        ("", "pending_jobs"),
        ("Pending", "pending_jobs"),
        ("Running", "running_jobs"),
        ("Completing", "completed_jobs"),
        ("Completed", "completed_jobs"),
        ("Failed", "failed_jobs"),
        ("Terminating", "terminated_jobs"),
        ("Terminated", "terminated_jobs"),
        ("Aborting", "unknown_jobs"),
        ("Aborted", "unknown_jobs"),
        ("Restarting", "unknown_jobs"),
        ("SomethingNew", "unknown_jobs"),
    ],
)
def test_each_phase_of_a_job_has_its_list(phase: str, where: str) -> None:
    lists = {name: getattr(status(seeing(a_jobflow("get"), get=phase)), name) for name in LISTS}
    assert lists == {name: ("etl-get",) if name == where else () for name in LISTS}


@given(st.dictionaries(st.sampled_from("zyabc"), st.sampled_from(["", *JobPhase, "?"])))
def test_the_lists_are_a_partition_of_the_jobs_each_sorted(phases: dict[str, str]) -> None:
    made = status(seeing(a_jobflow(*"zyabc"), **phases))
    lists = [getattr(made, name) for name in LISTS]
    assert sorted(name for names in lists for name in names) == sorted(f"etl-{flow}" for flow in phases)
    assert all(list(names) == sorted(names) for names in lists)


def test_a_completed_job_that_is_gone_stays_in_its_list() -> None:
    remembered = a_jobflow("get", status={"jobStatusList": [{"name": "etl-get", "state": "Completed"}]})
    assert status(seeing(remembered)).completed_jobs == ("etl-get",)


def test_a_lost_job_is_unknown_and_fails_the_jobflow() -> None:
    remembered = a_jobflow("get", status={"jobStatusList": [{"name": "etl-get", "state": "Running"}]})
    made = status(seeing(remembered, absent={"get": "it is gone"}))
    assert made.unknown_jobs == ("etl-get",)
    assert made.state.phase == "Failed"
    assert made.state.reason == "JobLost"
    assert made.state.message == 'Job "etl-get" was lost before it finished: it is gone'
    assert made.job_status_list[0].state == LOST


def test_a_strangers_job_is_in_no_list_and_the_conflict_is_told() -> None:
    made = status(seeing(a_jobflow("get"), strangers={"get"}))
    assert not any(getattr(made, name) for name in LISTS)
    assert made.job_status_list == ()
    assert made.state.reason == "JobNameConflict"
    assert '"etl-get"' in (made.state.message or "")


def test_the_status_list_has_the_order_of_the_spec_and_only_jobs_that_were_created() -> None:
    made = status(seeing(DIAMOND, count="Running", get="Completed", clean="Running"))
    assert [entry.name for entry in made.job_status_list] == ["etl-get", "etl-clean", "etl-count"]


def test_an_entry_whose_job_is_not_created_yet_is_waiting() -> None:
    made = status(seeing(DIAMOND, get="Running"))
    assert {name: it.phase for name, it in made.conditions.items()} == {
        "etl-get": "Running",
        "etl-clean": "Waiting",
        "etl-count": "Waiting",
        "etl-train": "Waiting",
    }


def test_a_condition_tells_what_the_job_tells() -> None:
    counts = {"work": {"phase": {"Running": 2}}}
    job = a_job(DIAMOND, "get", "Running", runningDuration="5s", taskStatusCount=counts)
    condition = status(seeing(DIAMOND, get=job)).conditions["etl-get"]
    assert (condition.create_time, condition.running_duration) == ("2026-03-01T11:00:00Z", "5s")
    assert condition.task_status_count == job.status.task_status_count


def test_progress_counts_what_completed_of_all_entries() -> None:
    assert status(seeing(DIAMOND, get="Completed", clean="Completed", count="Running")).progress == "2/4"


def test_start_and_completion_are_kept_once_said() -> None:
    first = status(seeing(DIAMOND))
    assert (first.start_time, first.completion_time) == ("2026-03-01T12:00:00Z", None)
    done = dict.fromkeys(("get", "clean", "count", "train"), "Completed")
    later = status(seeing(having(DIAMOND, first), now=NOON + timedelta(minutes=9), **done))
    assert (later.start_time, later.completion_time) == ("2026-03-01T12:00:00Z", "2026-03-01T12:09:00Z")
    again = status(seeing(having(DIAMOND, later), now=NOON + timedelta(hours=2), **done))
    assert again == later


def test_a_missing_template_is_told_while_the_others_run() -> None:
    made = status(seeing(DIAMOND, templates={"get", "clean", "count"}, get="Running"))
    assert made.state.reason == "TemplateNotFound"
    assert made.state.message == 'train waits: JobTemplate "train" does not exist; create it'


def test_a_refusal_is_told_in_the_api_servers_words() -> None:
    made = status(seeing(a_jobflow("get"), problems={"get": refused('queue "x" is closed')}))
    assert (made.state.reason, made.state.message) == ("JobRefused", 'get waits: queue "x" is closed')
    assert made.state.phase == "Pending"


def test_a_spec_that_cannot_be_run_is_told_in_the_webhooks_words() -> None:
    made = status(seeing(a_jobflow("get", "get"), faults=('spec.flows[1].name: Duplicate value: "get"',)))
    assert (made.state.reason, made.state.phase) == ("SpecInvalid", "Pending")
    assert made.state.message == 'spec.flows[1].name: Duplicate value: "get"'


def test_a_failure_is_told_by_the_jobs_name() -> None:
    made = status(seeing(DIAMOND, get="Completed", clean="Terminated", count="Running"))
    assert (made.state.reason, made.state.message) == ("JobFailed", 'Job "etl-clean" is Terminated')


def test_what_an_entry_waits_for_is_told() -> None:
    made = status(seeing(DIAMOND, get="Completed", clean="Running", count="Completed"))
    assert (made.state.reason, made.state.message) == (None, "train waits for clean")


def test_a_message_stays_short_however_many_wait() -> None:
    wide = a_jobflow("get", *[f"entry-{i}: get" for i in range(5000)])
    message = status(seeing(wide, templates=set(), get="Running")).state.message or ""
    assert len(message) <= 1024
    assert message.endswith("and 4997 more")


def states() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(["get", "clean", "count", "train"]), st.sampled_from(["", *JobPhase, "?"]))


@given(st.lists(states(), min_size=1, max_size=6))
def test_a_status_that_was_just_stored_is_still_true(history: list[dict[str, Any]]) -> None:
    jobflow = DIAMOND
    for step, phases in enumerate(history):
        now = NOON + timedelta(seconds=step)
        seen = seeing(jobflow, now=now, **phases)
        stored = having(jobflow, status(seen))
        again = seeing(stored, now=now + timedelta(seconds=30), **phases)
        assert status(again) == stored.status
        jobflow = stored


@given(st.lists(states(), min_size=1, max_size=6))
def test_no_job_ever_vanishes_from_the_status_list_and_histories_only_grow(history: list[dict[str, Any]]) -> None:
    jobflow = DIAMOND
    for step, phases in enumerate(history):
        before = {entry.name: entry for entry in jobflow.status.job_status_list}
        jobflow = having(jobflow, status(seeing(jobflow, now=NOON + timedelta(seconds=step), **phases)))
        after = {entry.name: entry for entry in jobflow.status.job_status_list}
        assert before.keys() <= after.keys()
        for name, entry in before.items():
            known = [it.state for it in entry.running_histories]
            assert [it.state for it in after[name].running_histories][: len(known)] == known


@pytest.mark.parametrize(
    ("about", "urgent"),
    [
        pytest.param({"spec": {"ttlSecondsAfterFinished": 0}}, True, id="a Job with a TTL"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-03-01T11:59:00Z"}}, True, id="one that is being deleted"),
        pytest.param({}, False, id="one that stays"),
    ],
)
def test_a_completion_that_may_soon_have_no_witness_is_stored_at_once(about: dict[str, Any], urgent: bool) -> None:
    jobflow = a_jobflow("get", "clean: get", phase="Running")
    seen = seeing(jobflow, get=a_job(jobflow, "get", "Completed", **about))
    assert is_worth_storing_at_once(jobflow.status, seen, progress_of(seen)) is urgent


def test_a_change_of_phase_is_stored_at_once() -> None:
    seen = seeing(a_jobflow("get", phase="Pending"), get="Running")
    assert is_worth_storing_at_once(seen.jobflow.status, seen, progress_of(seen))


def test_a_jobflow_that_has_finished_and_whose_jobs_are_gone_stays_as_it_was_told() -> None:
    """Volcano's controller tells no times: to make them up, in ten thousand JobFlows, would be costly and untrue."""
    told = {
        "state": {"phase": "Succeed"},
        "completedJobs": ["etl-get"],
        "jobStatusList": [{"name": "etl-get", "state": "Completed"}],
    }
    seen = seeing(a_jobflow("get", status=told))
    assert observe(seen, progress_of(seen)) == seen.jobflow.status
