"""The oracle of the integration suite can see what it is there to see."""

from tests.support.workspace import Event, created_out_of_turn, creations, jobflow


def event(kind: str, name: str, phase: str = "") -> Event:
    return kind, {"metadata": {"name": name}, "status": {"state": {"phase": phase}}}


def test_a_job_is_out_of_turn_unless_each_of_its_targets_was_seen_completed_before() -> None:
    flow = jobflow("etl", "get", "clean", "train: get clean")
    history = [event("ADDED", "etl-get"), event("ADDED", "etl-clean"), event("MODIFIED", "etl-get", "Completed")]
    train = event("ADDED", "etl-train")

    assert created_out_of_turn(flow, [*history, train]) == ["etl-train"]
    assert created_out_of_turn(flow, [*history, event("MODIFIED", "etl-clean", "Failed"), train]) == ["etl-train"]
    assert created_out_of_turn(flow, [*history, event("MODIFIED", "etl-clean", "Completed"), train]) == []


def test_a_job_that_was_created_twice_is_told_twice() -> None:
    history = [event("ADDED", "etl-get"), event("DELETED", "etl-get"), event("ADDED", "etl-get")]

    assert creations(history) == ["etl-get", "etl-get"]
