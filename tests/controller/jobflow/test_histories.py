from datetime import timedelta
from typing import Any

import pytest

from controller.jobflow.histories import record
from controller.jobflow.snapshot import Step
from shared.api.job import Job
from shared.api.jobflow import JobStatus
from tests.support.builders import a_jobflow
from tests.support.seeing import NOON, a_job

ETL = a_jobflow("get")


def steps(status: JobStatus) -> list[tuple[str, str | None, str | None]]:
    return [(it.state, it.start_timestamp, it.end_timestamp) for it in status.running_histories]


def went_through(*phases: tuple[str, str], **fields: Any) -> Job:
    """A Job that entered these phases, each at a time of that hour such as `11:05:00`."""
    conditions = [{"status": phase, "lastTransitionTime": f"2026-03-01T{at}Z"} for phase, at in phases]
    state = {"phase": phases[-1][0], "lastTransitionTime": conditions[-1]["lastTransitionTime"]}
    return a_job(ETL, "get", phases[-1][0], **{"conditions": conditions, "state": state, **fields})


def test_times_are_the_jobs_own_where_it_has_them() -> None:
    job = went_through(("Pending", "11:00:01"), ("Running", "11:00:05"), ("Completed", "11:03:00"))
    assert steps(record(None, "etl-get", "Completed", job, NOON)) == [
        ("Pending", "2026-03-01T11:00:01Z", "2026-03-01T11:00:05Z"),
        ("Running", "2026-03-01T11:00:05Z", "2026-03-01T11:03:00Z"),
        ("Completed", "2026-03-01T11:03:00Z", None),
    ]


def test_a_job_that_says_no_times_is_recorded_when_it_is_seen() -> None:
    pending = record(None, "etl-get", "Pending", a_job(ETL, "get", "Pending"), NOON)
    later = record(pending, "etl-get", "Running", a_job(ETL, "get", "Running"), NOON + timedelta(minutes=1))
    assert steps(later) == [
        ("Pending", "2026-03-01T12:00:00Z", "2026-03-01T12:01:00Z"),
        ("Running", "2026-03-01T12:01:00Z", None),
    ]


def test_a_job_without_a_phase_has_no_history_yet() -> None:
    assert steps(record(None, "etl-get", "", a_job(ETL, "get", ""), NOON)) == []


def test_histories_keep_their_beginning_though_the_job_forgot_it() -> None:
    first = record(None, "etl-get", "Running", went_through(("Pending", "11:00:01"), ("Running", "11:00:05")), NOON)
    job = went_through(("Restarting", "11:10:00"), ("Running", "11:10:05"))
    assert [state for state, _, _ in steps(record(first, "etl-get", "Running", job, NOON))] == [
        "Pending",
        "Running",
        "Restarting",
        "Running",
    ]


def test_what_was_missed_between_two_looks_is_filled_in() -> None:
    first = record(None, "etl-get", "Pending", went_through(("Pending", "11:00:01")), NOON)
    job = went_through(("Pending", "11:00:01"), ("Running", "11:00:05"), ("Completed", "11:00:05"))
    assert [state for state, _, _ in steps(record(first, "etl-get", "Completed", job, NOON))] == [
        "Pending",
        "Running",
        "Completed",
    ]


@pytest.mark.parametrize("minutes", [0, 5])
def test_looking_again_changes_nothing(minutes: int) -> None:
    job = went_through(("Pending", "11:00:01"), ("Running", "11:00:05"), ("Completed", "11:03:00"))
    once = record(None, "etl-get", "Completed", job, NOON)
    assert record(once, "etl-get", "Completed", job, NOON + timedelta(minutes=minutes)) == once


def test_only_a_finished_job_has_an_end() -> None:
    running = went_through(("Running", "11:00:05"), runningDuration="30s")
    assert record(None, "etl-get", "Running", running, NOON).end_timestamp is None


def test_the_end_is_when_the_job_says_it_ended() -> None:
    assert record(None, "etl-get", "Completed", went_through(("Completed", "11:03:00")), NOON).end_timestamp == (
        "2026-03-01T11:03:00Z"
    )


def test_without_a_transition_time_the_end_is_the_creation_and_the_running_duration() -> None:
    job = a_job(ETL, "get", "Completed", runningDuration="2m45s")
    assert record(None, "etl-get", "Completed", job, NOON).end_timestamp == "2026-03-01T11:02:45Z"


def test_an_end_once_said_stays_when_volcano_touches_the_finished_job_again() -> None:
    once = record(None, "etl-get", "Completed", went_through(("Completed", "11:03:00")), NOON)
    again = record(once, "etl-get", "Completed", went_through(("Completed", "11:03:07"), version=2), NOON)
    assert again.end_timestamp == "2026-03-01T11:03:00Z"


def test_restarts_are_counted_as_the_job_counts_them() -> None:
    assert record(None, "etl-get", "Running", a_job(ETL, "get", "Running", retryCount=2), NOON).restart_count == 2


def test_a_job_that_is_gone_keeps_its_record() -> None:
    once = record(None, "etl-get", "Completed", went_through(("Running", "11:01:00"), ("Completed", "11:03:00")), NOON)
    assert record(once, "etl-get", "Completed", None, NOON + timedelta(hours=1)) == once


def test_a_lost_job_ends_when_it_was_found_lost() -> None:
    once = record(None, "etl-get", "Running", went_through(("Running", "11:01:00")), NOON)
    lost = record(once, "etl-get", "Lost", None, NOON)
    assert (lost.state, lost.end_timestamp) == ("Lost", "2026-03-01T12:00:00Z")
    assert [state for state, _, _ in steps(lost)] == ["Running", "Lost"]
    assert record(lost, "etl-get", "Lost", None, NOON + timedelta(hours=1)) == lost


def test_phases_that_were_seen_within_one_second_are_told_in_their_order() -> None:
    at = "2026-03-01T12:00:00Z"
    pending = record(None, "etl-get", "Pending", a_job(ETL, "get", "Pending"), NOON)
    passed = [Step("Running", at), Step("Completed", at)]
    done = record(pending, "etl-get", "Completed", a_job(ETL, "get", "Completed"), NOON, passed=passed)
    assert [state for state, _, _ in steps(done)] == ["Pending", "Running", "Completed"]
    assert record(done, "etl-get", "Completed", a_job(ETL, "get", "Completed"), NOON, passed=passed) == done
