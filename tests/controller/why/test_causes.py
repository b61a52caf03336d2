"""The few things that hold everything up come first, folded, each with what it holds up."""

import pytest

from controller.why.answer import answer
from controller.why.causes import Cause
from controller.why.facts import Facts
from tests.controller.why.picture import a_running_jobflow, facts_of, running
from tests.support.seeing import refused

DIAMOND = a_running_jobflow("get", "clean: get", "count: get", "train: clean count")


def causes(facts: Facts) -> list[tuple[str, tuple[str, ...], int]]:
    return [(cause.kind, cause.entries, cause.holds_up) for cause in answer(facts).causes]


def only(facts: Facts) -> Cause:
    (cause,) = answer(facts).causes
    return cause


def test_what_runs_holds_up_all_that_waits_for_it_directly_or_not() -> None:
    cause = only(facts_of(DIAMOND, get="Running"))
    assert (cause.kind, cause.entries, cause.holds_up) == ("Running", ("get",), 3)
    assert cause.chain in {("get", "clean", "train"), ("get", "count", "train")}


def test_what_is_alike_is_one_cause_and_the_oldest_speaks_for_all() -> None:
    clean, count = running(DIAMOND, "clean", since="11:58"), running(DIAMOND, "count", since="11:55")
    cause = only(facts_of(DIAMOND, get="Completed", clean=clean, count=count))
    assert (cause.entries, cause.holds_up) == (("count", "clean"), 1)
    assert f"{cause.since:%H:%M}" == "11:55"


def test_a_missing_template_is_a_cause_before_it_is_its_turn() -> None:
    told = causes(facts_of(DIAMOND, get="Running", templates={"get", "clean", "count"}))
    assert told == [("TemplateNotFound", ("train",), 0), ("Running", ("get",), 3)]


@pytest.mark.parametrize("state", ["Aborted", "Failed", "Lost"])
def test_what_needs_somebody_comes_before_what_passes_by_itself(state: str) -> None:
    jobflow = a_running_jobflow("a", "b", "c: b", "d: c")
    about = {"absent": {"a": "it is gone"}} if state == "Lost" else {"a": state}
    kinds = [kind for kind, _, _ in causes(facts_of(jobflow, b="Running", **about))]
    assert kinds == [state, "Running"]


def test_a_refusal_holds_up_what_comes_after_it() -> None:
    problem = {"get": refused("no quota", version="uid-of-get/0")}
    cause = only(facts_of(DIAMOND, problems=problem))
    assert (cause.kind, cause.holds_up) == ("JobRefused", 3)
    assert "no quota" in cause.text


def test_an_entry_that_may_start_is_a_cause_until_its_job_is_there() -> None:
    assert causes(facts_of(DIAMOND)) == [("Ready", ("get",), 3)]


def test_a_thousand_missing_templates_are_one_cause() -> None:
    names = [f"f{number}" for number in range(1000)]
    cause = only(facts_of(a_running_jobflow(*names), templates=set()))
    assert (cause.kind, len(cause.entries)) == ("TemplateNotFound", 1000)


def test_what_waits_in_a_loop_has_that_for_its_reason_and_the_rest_is_told_as_ever() -> None:
    jobflow = a_running_jobflow("a", "b: c a", "c: b")
    told = answer(facts_of(jobflow, a="Running", faults=("spec.flows: a cycle",)))
    assert [cause.entries for cause in told.causes] == [("a",)]
    assert told.entries["b"].reasons[0].kind == "SpecInvalid"
