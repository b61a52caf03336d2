"""What is told of objects, and which Events become of it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.telling import FOLDED, REPEATED, Matter, Regarding, Telling, Told, Waiting, Written
from shared.api.event import LONGEST_NOTE, NORMAL, WARNING
from shared.api.meta import Key

AT = datetime(2026, 1, 1, tzinfo=UTC)


def about(name: str = "etl") -> Regarding:
    return Regarding("flow.volcano.sh/v1alpha1", "JobFlow", "ml", name, f"uid-of-{name}")


def created(*jobs: str) -> Told:
    return Told(NORMAL, "JobsCreated", "CreateJobs", 'Created Job "{}"', "Created {count} Jobs: {names}", jobs)


def refused(words: str, apart: float = 60.0) -> Told:
    return Told(WARNING, "JobRefused", "CreateJob", words, apart=apart)


def taken(telling: Telling, now: float) -> list[str]:
    """The notes of all that is due, each written at once."""
    notes = []
    while waiting := telling.take(now):
        written = telling.written(waiting.matter)
        if written and written.note == waiting.told.note:
            notes.append(f"{written.count} x {written.note}")
            written.at = now
        else:
            notes.append(waiting.told.note)
            telling.wrote(waiting.matter, Written(Key("ml", waiting.name), waiting.told.note, 1, now))
    return notes


@pytest.mark.parametrize(
    ("told", "note"),
    [
        pytest.param(created("a"), 'Created Job "a"', id="one"),
        pytest.param(created("a", "b"), "Created 2 Jobs: a, b", id="two"),
        pytest.param(created(*(f"j{n}" for n in range(1000))), "Created 1000 Jobs: j0, j1, j2 and 997 more", id="many"),
        pytest.param(refused("no {such} field\n in %s"), "no {such} field in %s", id="words of others, in one line"),
    ],
)
def test_a_note_names_a_few_and_counts_the_rest(told: Told, note: str) -> None:
    assert told.note == note


@given(st.text(max_size=3000))
def test_a_note_is_never_longer_than_the_api_server_takes(words: str) -> None:
    note = refused(words).note
    assert len(note.encode()) <= LONGEST_NOTE


def test_what_is_told_of_one_matter_before_it_is_written_becomes_one_event() -> None:
    telling = Telling()
    telling.tell(about(), created("a"), AT, 0.0)
    telling.tell(about(), created("b", "c"), AT, 0.5)
    telling.tell(about("other"), created("z"), AT, 0.5)
    assert taken(telling, FOLDED - 0.01) == []
    assert taken(telling, FOLDED + 0.5) == ["Created 3 Jobs: a, b, c", 'Created Job "z"']
    assert telling.next_due() is None


def test_a_warning_waits_for_nothing_and_goes_first() -> None:
    telling = Telling()
    telling.tell(about(), created("a"), AT, 0.0)
    telling.tell(about(), refused("no"), AT, 5.0)
    assert telling.next_due() == FOLDED
    assert taken(telling, 5.0) == ["no", 'Created Job "a"']


def test_the_same_words_again_are_counted_and_written_now_and_then() -> None:
    telling = Telling()
    telling.tell(about(), refused("no"), AT, 0.0)
    assert taken(telling, 0.0) == ["no"]
    for second in range(20, 1000, 20):
        telling.tell(about(), refused("no"), AT, float(second))
        assert taken(telling, float(second)) == (
            [f"{second // 20 + 1} x no"] if second in (REPEATED, 2 * REPEATED) else []
        )


def test_other_words_of_the_same_matter_are_a_new_event_but_not_too_soon() -> None:
    telling = Telling()
    telling.tell(about(), refused("no"), AT, 0.0)
    assert taken(telling, 0.0) == ["no"]
    for second in range(1, 60):
        telling.tell(about(), refused(f"no, {second}"), AT, float(second))
        assert taken(telling, float(second)) == []
    assert taken(telling, 60.0) == ["no, 59"]


def test_words_that_are_back_to_those_of_the_last_event_are_no_news() -> None:
    telling = Telling()
    telling.tell(about(), refused("no"), AT, 0.0)
    assert taken(telling, 0.0) == ["no"]
    telling.tell(about(), refused("no, 1"), AT, 1.0)
    telling.tell(about(), refused("no"), AT, 2.0)
    assert taken(telling, 60.0) == ["1 x no"]


def test_where_there_is_no_room_good_news_makes_way_for_warnings_and_is_told_of() -> None:
    telling = Telling(room=3)
    for name in "abc":
        assert telling.tell(about(name), created("j"), AT, 0.0) is None
    assert telling.tell(about("d"), created("k"), AT, 0.0) == created("k")
    for name in "abc":
        assert telling.tell(about(name), refused("no"), AT, 0.0) == created("j")
    assert telling.tell(about("d"), refused("never"), AT, 0.0) == refused("never")
    assert len(telling) == 3
    assert taken(telling, 10.0) == ["no", "no", "no"]


def test_what_could_not_be_written_is_tried_first_and_under_the_same_name() -> None:
    telling = Telling()
    telling.tell(about("a"), refused("no"), AT, 0.0)
    telling.tell(about("b"), refused("no"), AT, 0.0)
    first = telling.take(0.0)
    assert first
    first.name = "a.1"
    telling.put_back(first, 5.0)
    telling.tell(about("a"), refused("no"), AT, 1.0)
    assert [it.name for it in all_due(telling, 5.0)] == ["a.1", ""]


def test_what_is_told_while_the_event_is_on_its_way_is_not_lost_though_the_first_may_be_there() -> None:
    telling = Telling()
    telling.tell(about(), created("a"), AT, 0.0)
    first = telling.take(FOLDED)
    assert first
    first.name = "etl.1"
    telling.tell(about(), created("b"), AT, 2.0)
    telling.put_back(first, 5.0)
    (again,) = all_due(telling, 5.0)
    assert (again.told.note, again.name) == ("Created 2 Jobs: a, b", "")


def all_due(telling: Telling, now: float) -> list[Waiting]:
    due = []
    while waiting := telling.take(now):
        due.append(waiting)
    return due


def test_only_so_many_matters_are_remembered() -> None:
    telling = Telling(remembered=2)
    for name in "abc":
        telling.wrote(Matter(name, WARNING, "JobRefused"), Written(Key("ml", name), "no", 1, 0.0))
    assert [bool(telling.written(Matter(name, WARNING, "JobRefused"))) for name in "abc"] == [False, True, True]
