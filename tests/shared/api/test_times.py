"""Times and durations as they travel."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.times import format_duration, format_time, parse_duration, parse_time


def test_a_time_is_written_in_utc_with_whole_seconds():
    moment = datetime(2025, 7, 8, 10, 21, 4, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert format_time(moment) == "2025-07-08T08:21:04Z"


@pytest.mark.parametrize("text", ["2025-07-08T08:21:04Z", "2025-07-08T10:21:04+02:00", "2025-07-08T08:21:04.000000Z"])
def test_a_time_is_read(text):
    assert parse_time(text) == datetime(2025, 7, 8, 8, 21, 4, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2025-13-01T00:00:00Z"])
def test_what_is_no_time_is_none(text):
    assert parse_time(text) is None


@given(st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(microsecond=0)))
def test_what_was_written_is_read_again(moment):
    if moment.year >= 1000:  # Kubernetes' times have four digits
        assert parse_time(format_time(moment)) == moment


@pytest.mark.parametrize(("text", "seconds"), [
    ("45s", 45), ("2m45s", 165), ("1h0m0s", 3600), ("300s", 300), ("1.5h", 5400), ("300ms", 0.3), ("0", 0), ("-1s", -1),
    ("+1s", 1), ("1us", 1e-6), ("1\u00b5s", 1e-6), ("1h1m1s1ms", 3661.001),
])  # fmt: skip
def test_a_duration_is_read_as_go_reads_it(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", [None, "", "1", "s", "1d", "1 s", "1s ", "one", "-", "9" * 19 + "h", "1s" * 50, "\u0661s"]
)
def test_what_is_no_duration_is_none(text):
    assert parse_duration(text) is None


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0s"), (45, "45s"), (60, "1m0s"), (165, "2m45s"), (3600, "1h0m0s"), (90061, "25h1m1s"), (-5, "-5s"),
])  # fmt: skip
def test_a_duration_is_written_as_go_writes_it(seconds, text):
    assert format_duration(timedelta(seconds=seconds)) == text
