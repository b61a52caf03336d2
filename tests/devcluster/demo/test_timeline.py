"""How JobFlows look while they run."""

from typing import Any

import pytest

from devcluster.demo.timeline import Timeline


def a_jobflow(phase: str = "", *, progress: str = "", **states: str) -> dict[str, Any]:
    """A JobFlow `ml` of get, then train, whose Jobs are in these states."""
    status: dict[str, Any] = {"jobStatusList": [{"name": f"ml-{name}", "state": to} for name, to in states.items()]}
    if phase:
        status |= {"state": {"phase": phase}, "progress": progress}
    flows = [{"name": "get"}, {"name": "train", "dependsOn": {"targets": ["get"]}}]
    return {"metadata": {"name": "ml"}, "spec": {"flows": flows}, "status": status}


def told(*seen: dict[str, Any]) -> list[str]:
    timeline = Timeline(["ml"])
    return [" ".join(line.split()) for second, jobflow in enumerate(seen) for line in timeline.see(jobflow, second)]


def test_each_change_is_told_once() -> None:
    assert told(
        a_jobflow(),
        a_jobflow("Running", progress="0/2", get="Running"),
        a_jobflow("Running", progress="0/2", get="Running"),
        a_jobflow("Running", progress="1/2", get="Completed", train=""),
        a_jobflow("Succeed", progress="2/2", get="Completed", train="Completed"),
    ) == [
        "1.0 s ml get Running",
        "1.0 s ml is Running (0/2)",
        "3.0 s ml get Completed",
        "3.0 s ml train Pending",
        "4.0 s ml train Completed",
        "4.0 s ml is Succeed (2/2)",
    ]


def test_other_jobflows_are_not_told_of() -> None:
    assert list(Timeline(["another"]).see(a_jobflow("Running", get="Running"), 1)) == []


@pytest.mark.parametrize(("phase", "finished"), [("Running", False), ("Succeed", True), ("Failed", True)])
def test_it_has_finished_when_all_have(phase: str, finished: bool) -> None:
    timeline = Timeline(["ml"])
    assert not timeline.finished
    list(timeline.see(a_jobflow(phase), 1))
    assert timeline.finished is finished


def table_of(*seen: tuple[float, dict[str, Any]], now: float, width: int = 80, height: int = 20) -> list[str]:
    timeline = Timeline(["ml"])
    for when, jobflow in seen:
        list(timeline.see(jobflow, when))
    return timeline.table(now, width, height)


def test_a_bar_begins_where_the_job_began_and_ends_where_it_ended() -> None:
    drawn = table_of(
        (0.0, a_jobflow("Running", get="Running")),
        (20.0, a_jobflow("Running", get="Completed", train="Running")),
        now=40.0,
    )
    first, second = drawn[1], drawn[2]
    room = 80 - 18 - 11 - 5
    assert first.count("█") == pytest.approx(room / 2, abs=1)
    assert second.index("█") == pytest.approx(first.rindex("█") + 1, abs=1)
    assert len(second) <= 80


def test_an_entry_that_waits_says_what_for() -> None:
    drawn = table_of((0.0, a_jobflow("Running", get="Running")), now=1.0)
    assert drawn[2].split() == ["train", "Waiting", "waits", "for", "get"]


def test_in_a_small_terminal_each_jobflow_has_one_line() -> None:
    drawn = table_of((0.0, a_jobflow("Running", progress="0/2", get="Running")), now=1.0, height=2)
    assert [line.split() for line in drawn] == [["ml", "Running", "0/2"]]


@pytest.mark.parametrize("now", [0.01, 1.0, 59.9, 600.0])
def test_no_line_is_wider_than_the_terminal(now: float) -> None:
    drawn = table_of(
        (0.0, a_jobflow("Pending", get="Pending")),
        (now / 3, a_jobflow("Running", get="Running")),
        (now / 2, a_jobflow("Running", get="Completed", train="Failed")),
        now=now,
    )
    assert max(map(len, drawn)) <= 80
