"""Which Events a pass has to tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.jobflow import story
from controller.jobflow.ladder import SHORTENED, fitted
from controller.jobflow.progress import progress_of
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.status import observe
from shared.api.event import WARNING
from shared.api.job import JobPhase
from shared.api.jobflow import JobFlow
from tests.support.builders import a_jobflow
from tests.support.seeing import refused, seeing

DIAMOND = a_jobflow("get", "clean: get", "count: get", "train: clean count")


def told(seen: Snapshot) -> dict[str, str]:
    """The notes of what is told once the status is stored, by reason."""
    progress = progress_of(seen)
    return {it.reason: it.note for it in story.of_status(seen, progress, observe(seen, progress))}


def after(seen: Snapshot) -> JobFlow:
    """The JobFlow with the status of that pass."""
    return replace(seen.jobflow, status=observe(seen, progress_of(seen)))


def test_the_jobs_created_in_one_pass_are_one_event() -> None:
    first = seeing(DIAMOND, get="")
    assert told(first) == {"JobsCreated": 'Created Job "etl-get"'}
    second = seeing(after(first), get="Completed", clean="", count="")
    assert told(second) == {"JobsCreated": "Created 2 Jobs: etl-clean, etl-count"}


def test_a_jobflow_that_runs_tells_of_its_beginning_and_its_end_and_of_nothing_between() -> None:
    begun = seeing(a_jobflow("get"), get="")
    runs = seeing(after(begun), get="Running")
    assert told(runs) == {}
    done = seeing(after(runs), get="Completed")
    assert told(done) == {"JobFlowSucceeded": "Its Job has completed"}
    assert told(seeing(after(done), get="Completed")) == {}


def test_jobs_that_all_ended_before_anyone_looked_are_told_of_in_the_order_in_which_it_was() -> None:
    seen = seeing(a_jobflow("a", "b"), a="Completed", b="Completed")
    assert list(told(seen)) == ["JobsCreated", "JobFlowSucceeded"]
    assert told(seen)["JobFlowSucceeded"] == "All 2 Jobs have completed"


@pytest.mark.parametrize("phase", ["Failed", "Terminated"])
def test_a_job_that_fails_is_told_and_what_becomes_of_the_jobflow(phase: str) -> None:
    begun = after(seeing(DIAMOND, get="Running"))
    assert told(seeing(begun, get=phase)) == {
        "JobFailed": 'Job "etl-get" has failed',
        "JobFlowFailed": f'Nothing new is started: Job "etl-get" is {phase}',
    }


def test_a_job_that_fails_later_is_told_though_the_jobflow_has_failed_before() -> None:
    begun = after(seeing(a_jobflow("a", "b"), a="Failed", b="Running"))
    assert told(seeing(begun, a="Failed", b="Failed")) == {"JobFailed": 'Job "etl-b" has failed'}


def test_a_job_that_is_lost_is_told_with_what_was_found_instead() -> None:
    begun = after(seeing(a_jobflow("get"), get="Running"))
    notes = told(seeing(begun, absent={"get": "it is gone"}))
    assert notes["JobLost"] == 'Job "etl-get" was lost before it finished: it is gone'
    assert "JobFlowFailed" in notes


def test_several_that_fail_or_are_lost_at_once_are_one_event_each() -> None:
    flows = list("abcdefgh")
    begun = after(seeing(a_jobflow(*flows), **dict.fromkeys(flows, "Running")))
    seen = seeing(begun, **dict.fromkeys("abcd", "Failed"), absent=dict.fromkeys("efgh", "it is gone"))
    notes = told(seen)
    assert notes["JobFailed"] == "4 Jobs have failed: etl-a, etl-b, etl-c and 1 more"
    assert notes["JobLost"] == "4 Jobs have vanished before they finished: etl-e, etl-f, etl-g and 1 more"


@pytest.mark.parametrize(
    ("reason", "about", "words"),
    [
        ("TemplateNotFound", {"templates": set()}, 'JobTemplate "get" does not exist'),
        ("JobNameConflict", {"strangers": {"get"}}, '"etl-get" exists that is not of this JobFlow'),
        ("JobRefused", {"problems": {"get": refused("the queue {x} is closed")}}, "the queue {x} is closed"),
        ("SpecInvalid", {"faults": ("spec.flows: a cycle",)}, "spec.flows: a cycle"),
    ],
)
def test_what_keeps_it_from_going_on_is_a_warning_told_when_the_status_says_it_first(
    reason: str, about: dict[str, object], words: str
) -> None:
    seen = seeing(a_jobflow("get"), **about)
    progress = progress_of(seen)
    (event,) = story.of_status(seen, progress, observe(seen, progress))
    assert (event.type, event.reason) == (WARNING, reason)
    assert words in event.note
    assert event.action
    assert told(seeing(after(seen), **about)) == {}


def test_each_kind_of_obstacle_is_an_event_of_its_own() -> None:
    seen = seeing(a_jobflow("a", "b", "c"), templates={"b", "c"}, problems={"b": refused()}, strangers={"c"})
    assert set(told(seen)) == {"TemplateNotFound", "JobRefused", "JobNameConflict"}


def test_other_words_of_an_obstacle_are_told_again_at_most_once_in_a_minute() -> None:
    first = seeing(a_jobflow("get"), problems={"get": refused("quota: 3 of 4")})
    second = seeing(after(first), problems={"get": refused("quota: 4 of 4")})
    progress = progress_of(second)
    (event,) = story.of_status(second, progress, observe(second, progress))
    assert "4 of 4" in event.note
    assert event.apart == 60.0


def test_where_the_stored_status_lacks_our_fields_the_obstacle_is_told_each_time_for_others_to_fold() -> None:
    seen = seeing(a_jobflow("get", phase="Pending"), templates=set())
    progress = progress_of(seen)
    assert [it.reason for it in story.obstacles(seen, progress, observe(seen, progress))] == ["TemplateNotFound"]


def test_a_finished_jobflow_tells_of_no_obstacles() -> None:
    seen = seeing(a_jobflow("a", "b"), a="Failed", templates=set())
    assert "TemplateNotFound" not in told(seen)


def test_a_status_that_was_shortened_is_told_once() -> None:
    flows = [f"f{number}" for number in range(40)]
    seen = seeing(a_jobflow(*flows), **dict.fromkeys(flows, "Running"))
    progress = progress_of(seen)
    short = fitted(observe(seen, progress), besides=1_395_000)
    assert (short.state.message or "").startswith(SHORTENED)
    assert [it.reason for it in story.of_status(seen, progress, short)] == ["JobsCreated", "StatusTruncated"]
    again = seeing(replace(seen.jobflow, status=short), **dict.fromkeys(flows, "Running"))
    assert list(story.of_status(again, progress_of(again), short)) == []


def test_jobs_that_the_retain_policy_deletes_are_one_event() -> None:
    assert [it.note for it in story.of_deletes(["etl-b", "etl-a"])] == [
        "Deleted 2 Jobs, as jobRetainPolicy says: etl-a, etl-b"
    ]
    assert [it.note for it in story.of_deletes(["etl-a"])] == ['Deleted Job "etl-a", as jobRetainPolicy says']
    assert list(story.of_deletes([])) == []


@given(
    before=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", *JobPhase])),
    now=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", *JobPhase])),
)
def test_nothing_is_told_twice_of_the_same_state(before: dict[str, str], now: dict[str, str]) -> None:
    seen = seeing(after(seeing(a_jobflow(*"abc"), **before)), **now)
    told(seen)
    assert told(replace_jobflow(seen, after(seen))) == {}


def replace_jobflow(seen: Snapshot, jobflow: JobFlow) -> Snapshot:
    return seeing(jobflow, **{name.removeprefix("etl-"): job for name, job in seen.jobs.items()})
