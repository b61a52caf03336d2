"""The estimate follows the path that takes longest, and says what it rests on."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.why.answer import answer
from controller.why.entries import Entry, Kind, Reason
from controller.why.estimate import NEWEST, Basis, Estimate, in_words, longest_path
from controller.why.facts import Facts
from tests.controller.why.picture import MADE, a_running_jobflow, facts_of, running
from tests.support.seeing import NOON

DIAMOND = a_running_jobflow("get", "clean: get", "count: get", "train: clean count")
RUNS = {"get": [300.0], "clean": [60.0], "count": [600.0, 400.0], "train": [100.0]}


def estimated(facts: Facts) -> Estimate:
    estimate = answer(facts).estimate
    assert estimate is not None
    return estimate


def test_the_end_is_that_of_the_longest_path_less_what_has_run() -> None:
    estimate = estimated(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:57"), runs=RUNS))
    assert [step.entry for step in estimate.path] == ["get", "count", "train"]
    assert estimate.seconds == (300 - 180) + 500 + 100
    assert estimate.end == NOON + timedelta(seconds=estimate.seconds)
    assert (estimate.at_least, estimate.unknown, estimate.provided) == (False, (), ())


def test_the_median_of_the_newest_runs_counts() -> None:
    runs = {**RUNS, "train": [10.0, 20.0, 30.0, *[20.0] * (NEWEST - 3), *[9000.0] * 50]}
    step = estimated(facts_of(DIAMOND, get="Completed", clean="Completed", count="Completed", runs=runs)).path[-1]
    assert (step.expected.seconds, step.expected.basis, step.expected.samples) == (20, Basis.RUNS, NEWEST)


@pytest.mark.parametrize(
    ("about", "seconds", "basis"),
    [
        pytest.param({"runs": {"clean": [5.0]}, "estimates": {"clean": 9.0}}, 5, Basis.RUNS, id="earlier runs first"),
        pytest.param({"estimates": {"clean": 9.0}}, 9, Basis.DECLARED, id="then what the template says"),
        pytest.param({}, 120, Basis.OTHERS, id="then the JobFlow's other Jobs"),
    ],
)
def test_what_is_known_best_counts(about: dict[str, object], seconds: float, basis: Basis) -> None:
    jobflow = a_running_jobflow("get", "clean: get")
    get = running(jobflow, "get", "Completed", since="11:59", created="2026-03-01T11:57:00Z")
    (step,) = estimated(facts_of(jobflow, get=get, **about)).path
    assert (step.expected.seconds, step.expected.basis) == (seconds, basis)


def test_jobs_that_are_gone_count_by_what_the_status_remembers() -> None:
    record = {"name": "etl-get", "state": "Completed", "startTimestamp": MADE, "endTimestamp": "2026-03-01T11:50:30Z"}
    jobflow = a_running_jobflow("get", "clean: get", status={"jobStatusList": [record]})
    (step,) = estimated(facts_of(jobflow)).path
    assert (step.expected.seconds, step.expected.basis) == (30, Basis.OTHERS)


def test_without_any_run_nobody_can_say_and_that_is_said() -> None:
    estimate = estimated(facts_of(DIAMOND, get="Running"))
    assert (estimate.at_least, estimate.unknown) == (True, ("get", "clean", "count", "train"))
    assert "no run of their templates has been seen yet" in " ".join(in_words(estimate))


def test_an_entry_of_which_nothing_is_known_makes_the_estimate_a_bound() -> None:
    estimate = estimated(facts_of(DIAMOND, get="Running", runs={name: RUNS[name] for name in ("get", "clean")}))
    assert estimate.at_least
    assert estimate.unknown == ("count", "train")


def test_one_that_has_lasted_too_long_may_end_at_any_moment() -> None:
    estimate = estimated(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:00"), runs=RUNS))
    assert estimate.path[0].is_overdue
    assert estimate.seconds == 500 + 100
    assert "get has lasted longer than expected" in " ".join(in_words(estimate))


def test_what_nobody_can_time_is_taken_to_be_mended_and_that_is_said() -> None:
    estimate = estimated(facts_of(DIAMOND, get="Running", templates={"get", "clean", "count"}, runs=RUNS))
    assert estimate.provided == ("train (TemplateNotFound)",)
    assert "train (TemplateNotFound)" in " ".join(in_words(estimate))


@pytest.mark.parametrize(
    "about",
    [
        pytest.param({"get": "Completed", "clean": "Failed"}, id="failed"),
        pytest.param({"get": "Completed", "absent": {"clean": "it is gone"}}, id="lost"),
        pytest.param({"faults": ("spec: wrong",)}, id="a spec that cannot be run"),
        pytest.param(dict.fromkeys(("get", "clean", "count", "train"), "Completed"), id="all is done"),
    ],
)
def test_there_is_no_estimate_for_what_has_ended_or_never_will(about: dict[str, object]) -> None:
    assert answer(facts_of(DIAMOND, runs=RUNS, **about)).estimate is None


def test_of_one_entry_it_says_when_that_may_end() -> None:
    told = answer(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:57"), runs=RUNS), "clean")
    assert told.estimate is not None
    assert [step.entry for step in told.estimate.path] == ["get", "clean"]
    assert told.estimate.seconds == 120 + 60


@st.composite
def weighted(draw: st.DrawFn) -> tuple[dict[str, Entry], dict[str, float]]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 9)))]
    entries = {}
    for i, name in enumerate(names):
        targets = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else []
        reasons = tuple(Reason(Kind.TARGET, target, target) for target in targets)
        entries[name] = Entry(name, name, "Waiting", None, tuple(targets), reasons)
    return entries, {name: draw(st.integers(0, 100)) / 1 for name in names}


@given(weighted())
def test_no_other_way_takes_longer(given_: tuple[dict[str, Entry], dict[str, float]]) -> None:
    entries, seconds = given_
    path = longest_path(entries, seconds)
    assert all(before in entries[after].waits_for for before, after in pairwise(path))
    ends: dict[str, float] = {}
    for name, entry in entries.items():  # targets come first
        ends[name] = seconds[name] + max((ends[target] for target in entry.waits_for), default=0)
    assert sum(seconds[name] for name in path) == pytest.approx(max(ends.values()), abs=1)
