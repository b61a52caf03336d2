"""A log line is one line of JSON, whatever a user has put into a name."""

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress

import pytest

from shared.ops import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.set_up(2, stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


log = logging.getLogger("a.logger")


def test_a_line_has_time_level_message_logger_and_fields(stream: io.StringIO) -> None:
    log.info("job created", extra={"job": "ml/etl-get", "tries": 3, "took": 0.12345678, "ok": True, "why": None})
    (line,) = lines(stream)
    assert str(line.pop("ts")).endswith("+00:00")
    assert line == {
        "level": "info",
        "msg": "job created",
        "logger": "a.logger",
        "job": "ml/etl-get",
        "tries": 3,
        "took": 0.123457,
        "ok": True,
        "why": None,
    }


def test_what_a_task_is_about_stands_beside_every_line_below_it(stream: io.StringIO) -> None:
    with logs.fields(key="ml/etl"):
        with logs.fields(step=1):
            log.info("inner")
        log.info("outer", extra={"key": "of its own"})
    log.info("outside")
    inner, outer, outside = lines(stream)
    assert (inner["key"], inner["step"]) == ("ml/etl", 1)
    assert (outer["key"], "step" in outer) == ("of its own", False)
    assert "key" not in outside


@pytest.mark.parametrize("nasty", ["a\nb", "a\r\n{}", "\x1b[31mred", "\u2028", "\ud800", "\x00", "\x9b2J"])
def test_nothing_in_a_value_breaks_the_line_or_reaches_the_terminal(stream: io.StringIO, nasty: str) -> None:
    log.warning("refused", extra={"object": nasty})
    written = stream.getvalue()
    assert written.count("\n") == 1
    assert written.isascii()
    assert all(character >= " " for character in written.rstrip("\n"))
    assert lines(stream)[0]["object"] == nasty


def test_a_long_value_is_cut_and_says_so(stream: io.StringIO) -> None:
    log.info("refused", extra={"object": "x" * 1_000_000})
    assert len(stream.getvalue()) < 1000
    assert str(lines(stream)[0]["object"]).endswith("... (999400 more)")


def test_an_exception_brings_its_stack_in_the_same_line(stream: io.StringIO) -> None:
    try:
        raise ValueError("what")
    except ValueError:
        log.exception("pass failed", extra={"key": "k"})
    (line,) = lines(stream)
    assert line["error"] == "ValueError: what"
    assert "test_logs.py" in str(line["stack"])
    assert line["key"] == "k"


def test_an_error_is_told_by_its_kind_and_words(stream: io.StringIO) -> None:
    log.info("failed", extra={"error": TimeoutError()})
    log.info("failed", extra={"error": KeyError("x")})
    assert [line["error"] for line in lines(stream)] == ["TimeoutError", "KeyError: 'x'"]


def test_a_field_cannot_take_the_place_of_the_message(stream: io.StringIO) -> None:
    log.info("truth", extra={"msg_": 1, "level": "forged", "ts": 0})
    (line,) = lines(stream)
    assert (line["level"], line["msg"]) == ("info", "truth")
    assert line["ts"] != 0


@pytest.mark.parametrize(
    ("verbosity", "seen"), [(0, ["warning"]), (2, ["info", "warning"]), (4, ["debug", "info", "warning"])]
)
def test_verbosity_counts_as_kubernetes_counts_it(stream: io.StringIO, verbosity: int, seen: list[str]) -> None:
    logs.set_up(verbosity, stream)
    log.debug("d")
    log.info("i")
    log.warning("w")
    assert [line["level"] for line in lines(stream)] == seen


def test_warnings_of_python_are_lines_too(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logs.set_up(2, stream)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert lines(stream)[0]["level"] == "warning"


def test_nobody_has_to_read(stream: io.StringIO) -> None:
    """A pipe that is full makes whoever writes into it wait: such a line is left out."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    with open(reading, "rb", buffering=0), open(writing, "w") as full:
        logs.set_up(2, full)
        assert not logs.takes_more(full)
        log.info("left out")
        os.read(reading, 2 * 4096)
        assert logs.takes_more(full)
        log.info("written")
    assert logs.takes_more(stream)
