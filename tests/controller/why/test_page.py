"""The answer as a person reads it: what matters first, short for a thousand entries, and no wider than the terminal."""

import time
from datetime import UTC
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from controller.jobflow.snapshot import Snapshot
from controller.why.answer import Answer, answer
from controller.why.facts import Facts
from controller.why.text import page
from controller.why.tree import ASCII, MOST_LINES, tree
from tests.controller.why.picture import a_running_jobflow, facts_of, running, snapshots

DIAMOND = a_running_jobflow("get", "clean: get", "count: get", "train: clean count")
RUNS = {"get": [300.0, 280.0, 320.0], "clean": [60.0], "count": [600.0], "train": [100.0]}

FAN = [f"f{number:04}" for number in range(1, 998)]


def a_fan() -> list[str]:
    return ["first", *[f"{name}: first" for name in FAN], f"last: {' '.join(FAN)}"]


def a_random_graph(number: int = 1000) -> list[str]:
    random = Random(4)
    before = [random.sample(range(i), min(i, 3)) for i in range(number)]
    return [f"r{i}: {' '.join(f'r{j}' for j in targets)}" for i, targets in enumerate(before)]


def told(*flows: str, **about: Any) -> Answer:
    return answer(facts_of(a_running_jobflow(*flows), **about))


def said(facts: Facts, entry: str | None = None, width: int = 110) -> str:
    return page(answer(facts, entry), entry, width=width, zone=UTC)


def test_the_whole_of_a_jobflow_is_told_from_its_root_causes_on() -> None:
    assert said(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:57"), runs=RUNS)) == (
        "JobFlow ml/etl: Running, 4 entries: 1 Running, 3 Waiting; created 11:50 (10m ago)\n"
        "\n"
        "What holds it up\n"
        "  get is Running since 11:57:00 (3m); 3 entries wait for it.\n"
        "    train waits for clean, which waits for get\n"
        "\n"
        "What waits for other entries\n"
        "  clean, count wait for get (Running)\n"
        "  train waits for clean (not started), count (not started)\n"
        "\n"
        "When it may end\n"
        "  The JobFlow may end about 12:13 (in 13m), by way of:\n"
        "    get    Running    3m of about 5m (3 runs)\n"
        "    count  Waiting    about 10m (1 run)\n"
        "    train  Waiting    about 1m40s (1 run)\n"
        "  This rests on:\n"
        "    - 4 entries: the median of up to 10 earlier runs of the same template\n"
    )


def test_one_entry_is_told_by_itself() -> None:
    text = said(facts_of(DIAMOND, get=running(DIAMOND, "get"), templates={"get", "clean", "count"}), "train")
    assert text.startswith("Entry train of JobFlow ml/etl, which is Running: not started\n")
    assert 'TemplateNotFound: JobTemplate "train" does not exist; create it' in text
    assert "  clean (not started)\n" in text
    assert "    train waits for clean, which waits for get\n" in text


def test_the_chain_of_one_entry_leads_to_that_entry_and_no_other() -> None:
    text = said(facts_of(DIAMOND, get=running(DIAMOND, "get")), "count")
    assert "    count waits for get\n" in text
    assert "train waits" not in text


def test_one_that_runs_is_told_with_who_waits_for_it() -> None:
    counts = {"work": {"phase": {"Running": 2}}}
    text = said(facts_of(DIAMOND, get=running(DIAMOND, "get", taskStatusCount=counts)), "get")
    assert "its Job etl-get is Running since 11:57:00 (3m), Pods: 2 Running\n" in text
    assert "3 entries wait for it, first clean, count." in text


def test_a_failed_jobflow_is_told_with_what_failed_and_what_still_runs() -> None:
    text = said(facts_of(a_running_jobflow("a", "b", "c: a", phase="Failed"), a="Failed", b="Running"))
    assert "What failed\n  a is Failed" in text
    assert "What still runs\n  b is Running" in text
    assert "What holds it up" not in text


@pytest.mark.parametrize(
    ("flows", "about", "lines"),
    [
        pytest.param(a_fan(), {"first": "Running"}, 14, id="1 -> 997 -> 1, the first runs"),
        pytest.param(a_fan(), {"first": "Completed", **dict.fromkeys(FAN, "Running")}, 20, id="997 run"),
        pytest.param(a_fan(), {"templates": {"first"}, "first": "Completed"}, 20, id="998 templates are missing"),
        pytest.param(
            ["s0", *[f"s{i}: s{i - 1}" for i in range(1, 1000)]], {"s0": "Running"}, 22, id="a chain of 1,000"
        ),
        pytest.param(a_random_graph(), {"r0": "Completed", "r1": "Running"}, 40, id="1,000 at random"),
    ],
)
def test_a_thousand_entries_take_no_more_than_a_screen(flows: list[str], about: dict[str, Any], lines: int) -> None:
    text = page(told(*flows, **about), None, width=110)
    assert len(text.splitlines()) <= lines
    assert len(tree(told(*flows, **about)).splitlines()) <= MOST_LINES + 5


def test_997_that_wait_for_the_same_are_one_line() -> None:
    text = page(told(*a_fan(), first="Running"), None, width=110)
    assert "  997 entries (f0001, f0002, f0003 and 994 more) wait for first (Running)\n" in text


def test_what_has_no_room_is_counted() -> None:
    text = page(told("s0", *[f"s{i}: s{i - 1}" for i in range(1, 1000)], s0="Running"), None, width=110)
    assert "  and 991 entries more; give the name of an entry to hear of that one\n" in text
    assert "s8 waits for s7 (not started)\n" in text
    assert "s9 waits for s8" not in text


def test_a_thousand_entries_with_many_dependencies_are_judged_within_two_seconds() -> None:
    random = Random(4)
    flows = [f"r{i}: {' '.join(f'r{j}' for j in random.sample(range(i), min(i, 90)))}" for i in range(1000)]
    facts = facts_of(a_running_jobflow(*flows), r0="Running", runs={f"r{i}": [float(i)] for i in range(1000)})
    began = time.process_time()
    seen = answer(facts)
    page(seen, None, width=110)
    tree(seen)
    assert time.process_time() - began < 2


@settings(max_examples=60)
@given(snapshots())
@pytest.mark.parametrize("width", [60, 100])
def test_no_line_is_wider_than_the_terminal(width: int, seen: Snapshot) -> None:
    told = answer(Facts(seen))
    for entry in (None, *told.entries):
        for line in page(told, entry, width=width, zone=UTC).splitlines():
            assert len(line) <= width, line


class TestTree:
    def test_what_is_alike_is_one_line_and_a_join_hangs_below_all_of_it(self) -> None:
        seen = answer(facts_of(DIAMOND, get=running(DIAMOND, "get", since="11:57")))
        assert tree(seen, zone=UTC) == (
            "ml/etl  Running  0/4\n"
            "└─ get  Running since 11:57:00 (3m)\n"
            "   └─ clean, count  wait\n"
            "      └─ train  waits (for 2 entries)\n"
        )

    def test_what_is_not_alike_has_a_line_each(self) -> None:
        seen = answer(facts_of(DIAMOND, get="Completed", clean=running(DIAMOND, "clean"), templates={"train"}))
        assert tree(seen, zone=UTC, strokes=ASCII) == (
            "ml/etl  Running  1/4\n"
            "|- get  Completed\n"
            "|- clean  Running since 11:57:00 (3m)\n"
            "|  `- train  waits (for 2 entries)\n"
            "`- count  waits: TemplateNotFound\n"
        )

    def test_a_chain_is_one_line(self) -> None:
        flows = ["s0", *[f"s{i}: s{i - 1}" for i in range(1, 1000)]]
        assert tree(told(*flows, s0="Completed", s1=""), zone=UTC).splitlines()[-1] == (
            "   └─ s2 → s3 → 995 entries → s999  waits, one after the other"
        )

    def test_where_it_would_be_too_long_what_lies_deepest_is_counted(self) -> None:
        random = Random(3)
        states = ["Running", "Pending", "Aborted"]
        flows = [f"a{i}" for i in range(20)] + [f"b{i}: a{random.randrange(20)}" for i in range(300)]
        flows += [f"c{i}: b{random.randrange(300)}" for i in range(600)]
        drawn = tree(told(*flows, **{f"a{i}": states[i % 3] for i in range(20)}))
        assert " entries below\n" in drawn
        assert len(drawn.splitlines()) <= MOST_LINES + 2
        assert all(f"a{i}" in drawn for i in (0, 1, 2)), "every root is there, and not the first one alone"

    @given(snapshots())
    def test_of_few_entries_every_one_is_there_once(self, seen: Snapshot) -> None:
        told = answer(Facts(seen))
        drawn = tree(told)
        signs = [line for line in drawn.splitlines() if line.startswith("!")]
        words = " ".join(line for line in drawn.splitlines() if line not in signs).replace(",", " ").split()
        counted = sum(int(words[i - 1]) for i, word in enumerate(words) if word == "more")
        named = [name for name in told.entries if name in words]
        if not counted:
            assert sorted(named) == sorted(told.entries)
        assert len(named) + counted >= len(told.entries) or "→" in words
