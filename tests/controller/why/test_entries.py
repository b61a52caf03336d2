"""Each entry is told where it stands, and every reason that is given is true."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from msgspec.structs import replace as changed

from controller.jobflow.phase import phase_of
from controller.jobflow.plan import starts
from controller.jobflow.progress import progress_of
from controller.jobflow.snapshot import Snapshot
from controller.why.answer import answer
from controller.why.entries import BROKEN, OF_ALL, Entry, Kind, Reason, entries_of
from controller.why.facts import Facts
from shared.api.jobflow import Phase, State
from shared.flow.names import child_name
from tests.controller.why.picture import a_running_jobflow, facts_of, running, snapshots, with_job
from tests.support.builders import a_jobtemplate
from tests.support.seeing import refused

DIAMOND = a_running_jobflow("get", "clean: get", "count: get", "train: clean count")

MANY = settings(max_examples=300)

Which = tuple[Kind, str]
"""What tells one reason of an entry from another."""


def which(reason: Reason) -> Which:
    return reason.kind, reason.target


def startable(seen: Snapshot) -> set[str]:
    return {create.flow for create in starts(seen, progress_of(seen))}


def mended(seen: Snapshot, entry: str, reason: Reason, kept: Which | None) -> Snapshot:
    """The snapshot without one reason, `kept` being the one that must stay."""
    jobflow, name = seen.jobflow, child_name(seen.jobflow.name, entry)
    match reason.kind:
        case Kind.TARGET:
            return with_job(seen, reason.target, "Completed")
        case Kind.TEMPLATE:
            return replace(seen, templates={**seen.templates, entry: a_jobtemplate(entry)})
        case Kind.CONFLICT | Kind.REFUSED:
            problems = {flow: it for flow, it in seen.problems.items() if flow != entry}
            return replace(seen, strangers=seen.strangers - {name}, problems=problems)
        case Kind.SPEC:
            return replace(seen, faults=())
        case Kind.DELETING:
            return replace(seen, jobflow=changed(jobflow, metadata=changed(jobflow.metadata, deletion_timestamp=None)))
        case Kind.FINISHED:
            status = changed(jobflow.status, state=State("Running"))
            seen = replace(seen, jobflow=changed(jobflow, status=status))
            for flow, state in progress_of(seen).states.items():
                if state in BROKEN:
                    seen = with_job(seen, flow, "Running" if (Kind.TARGET, flow) == kept else "Completed")
    return seen


def mended_but_for(seen: Snapshot, entry: str, kept: Which | None) -> Snapshot:
    """Mend whatever the answer names, as often as it names something new, but for `kept`."""
    if kept == (Kind.FINISHED, "") and phase_of(seen, progress_of(seen)) is Phase.FAILED:
        # It stays so once it is stored, whatever becomes of the Job that made it fail.
        status = changed(seen.jobflow.status, state=State("Failed"))
        seen = replace(seen, jobflow=changed(seen.jobflow, status=status))
    for _ in range(20):
        left = [it for it in entries_of(Facts(seen))[entry].reasons if which(it) != kept]
        if not left:
            return seen
        seen = mended(seen, entry, left[0], kept)
    raise AssertionError("there is no end of reasons")


def is_proven_by(seen: Snapshot, target: str, others: list[str]) -> bool:
    """One of `others` runs after `target`: once it has completed, so has that."""
    targets = {flow.name: flow.targets for flow in seen.jobflow.flows}
    looking = list(others)
    while looking:
        looking += targets[looking.pop()]
        if target in looking:
            return True
    return False


def unstarted(seen: Snapshot) -> list[Entry]:
    return [entry for entry in entries_of(Facts(seen)).values() if not entry.has_started]


@MANY
@given(snapshots())
def test_every_entry_that_has_not_started_has_a_reason_or_is_about_to(seen: Snapshot) -> None:
    assert {entry.name for entry in unstarted(seen) if not entry.reasons} == startable(seen)


@MANY
@given(snapshots())
def test_with_all_of_its_reasons_mended_the_controller_starts_it(seen: Snapshot) -> None:
    for entry in unstarted(seen):
        assert entry.name in startable(mended_but_for(seen, entry.name, None))


@MANY
@given(snapshots())
def test_while_one_of_its_reasons_remains_the_controller_does_not_start_it(seen: Snapshot) -> None:
    for entry in unstarted(seen):
        for reason in entry.reasons:
            if is_proven_by(seen, reason.target, [name for name in entry.waits_for if name != reason.target]):
                continue
            after = mended_but_for(seen, entry.name, which(reason))
            assert entry.name not in startable(after), reason


@MANY
@given(snapshots())
def test_what_waits_in_a_jobflow_that_goes_on_is_held_up_by_some_cause(seen: Snapshot) -> None:
    told = answer(Facts(seen))
    for entry in told.entries.values():
        if not entry.is_done and not any(reason.kind in OF_ALL for reason in entry.reasons):
            assert told.causes_of(entry.name)


@MANY
@given(snapshots())
def test_a_cause_waits_for_no_other_entry_but_where_it_has_an_obstacle_of_its_own(seen: Snapshot) -> None:
    told = answer(Facts(seen))
    for cause in told.causes:
        for name in cause.entries:
            entry = told.entries[name]
            assert not entry.waits_for or cause.kind in {it.kind for it in entry.reasons} - {Kind.TARGET}


def test_a_target_is_told_with_its_state_and_since_when() -> None:
    told = entries_of(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:57")))
    (reason,) = told["clean"].reasons
    assert (reason.kind, reason.target, reason.text) == (Kind.TARGET, "get", "get (Running)")
    assert f"{reason.since:%H:%M}" == "11:57"
    assert [it.text for it in told["train"].reasons] == ["clean (not started)", "count (not started)"]


@pytest.mark.parametrize(
    ("about", "kind", "words"),
    [
        pytest.param(
            {"templates": {"get"}}, Kind.TEMPLATE, 'JobTemplate "clean" does not exist; create it', id="no template"
        ),
        pytest.param(
            {"strangers": ["clean"]}, Kind.CONFLICT, 'a Job "etl-clean" exists that is not of this', id="a stranger"
        ),
        pytest.param(
            {"problems": {"clean": refused("queue `q` is Closed", version="uid-of-clean/0")}},
            Kind.REFUSED,
            "queue `q` is Closed",
            id="a refusal, in the API server's words",
        ),
        pytest.param({"faults": ("spec: a", "spec: b")}, Kind.SPEC, "spec: a (and 1 more)", id="a spec"),
    ],
)
def test_each_obstacle_is_told_in_its_own_words(about: dict[str, object], kind: Kind, words: str) -> None:
    entry = entries_of(facts_of(DIAMOND, get="Completed", **about))["clean"]
    assert [reason.kind for reason in entry.reasons] == [kind]
    assert words in entry.reasons[0].text
    assert entry.ready_since is not None


def test_after_a_failure_what_has_not_started_never_will() -> None:
    entry = entries_of(facts_of(DIAMOND, get="Completed", count="Failed"))["clean"]
    assert [reason.kind for reason in entry.reasons] == [Kind.FINISHED]
    assert "at Failed" in entry.reasons[0].text


def test_a_job_that_is_there_is_told_with_its_pods_and_what_it_says() -> None:
    counts = {"a": {"phase": {"Running": 2, "Pending": 1}}, "b": {"phase": {"Running": 3}}}
    entry = entries_of(facts_of(DIAMOND, get=running(DIAMOND, "get", taskStatusCount=counts)))["get"]
    assert (entry.state, entry.pods, entry.reasons) == ("Running", {"Running": 5, "Pending": 1}, ())


def test_a_job_that_its_controller_has_not_seen_is_pending() -> None:
    assert entries_of(facts_of(DIAMOND, get=""))["get"].state == "Pending"


def test_what_the_scheduler_says_of_a_pending_job_is_passed_on() -> None:
    told = entries_of(facts_of(DIAMOND, get="Pending", said={"etl-get": "0/3 nodes are available"}))
    assert told["get"].says == "0/3 nodes are available"


def test_a_completed_job_that_is_gone_is_done_since_the_status_says_so() -> None:
    record = {"name": "etl-get", "state": "Completed", "endTimestamp": "2026-03-01T11:55:00Z"}
    jobflow = a_running_jobflow("get", "clean: get", status={"jobStatusList": [record]})
    told = entries_of(facts_of(jobflow))
    assert (told["get"].is_done, f"{told['get'].since:%H:%M}") == (True, "11:55")
    assert f"{told['clean'].ready_since:%H:%M}" == "11:55"


def test_a_target_that_no_entry_has_for_a_name_is_told_as_that() -> None:
    jobflow = a_running_jobflow("get", "clean: gte")
    entry = entries_of(facts_of(jobflow, faults=("spec.flows[1]: wrong",)))["clean"]
    assert '"gte", which no entry has for a name' in [reason.text for reason in entry.reasons]
