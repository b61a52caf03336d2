"""Moments, lengths and lists are short and plain."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from controller.why.words import clock, length, listed, since

NOW = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, "0s"),
        (45, "45s"),
        (60, "1m"),
        (200, "3m20s"),
        (2545, "42m"),
        (7500, "2h5m"),
        (7200, "2h"),
        (273600, "3d4h"),
    ],
)
def test_a_length_has_two_units_at_most(seconds: float, expected: str) -> None:
    assert length(seconds) == expected


@pytest.mark.parametrize(
    ("ago", "expected"),
    [
        pytest.param(timedelta(minutes=3), "14:02:00", id="with seconds of late"),
        pytest.param(timedelta(hours=2), "12:05", id="today"),
        pytest.param(timedelta(days=3), "Feb 26 14:05", id="another day"),
        pytest.param(timedelta(days=400), "Jan 25 2025", id="another year"),
        pytest.param(timedelta(minutes=-30), "14:35", id="to come"),
    ],
)
def test_a_moment_is_as_exact_as_it_is_near(ago: timedelta, expected: str) -> None:
    assert clock(NOW - ago, NOW, UTC) == expected


def test_moments_are_told_in_the_readers_own_time() -> None:
    assert since(NOW - timedelta(hours=1), NOW, timezone(timedelta(hours=2))) == " since 15:05 (1h)"


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a"], "a"), (["a", "b", "c", "d"], "a, b, c, d"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")],
)
def test_of_many_names_three_are_told(names: list[str], expected: str) -> None:
    assert listed(names) == expected
