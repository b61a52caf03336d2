"""Logs as JSON lines on standard error: a constant message, and beside it fields to search by.

Code logs with the standard library alone:

    log = logging.getLogger(__name__)
    log.info("job created", extra={"job": name})

`set_up` decides how that looks. `fields` puts what a whole task is about (the key in work) beside every line that is
written below it. Nothing here looks into what it is given: who logs leaves secrets and whole objects out.
"""

import json
import logging
import select
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, TextIO

LONGEST_VALUE: Final = 600
"""Characters that one field keeps: names and messages come from users, and a line has to stay readable."""

LONGEST_TRACE: Final = 4000

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_around: ContextVar[Mapping[str, object]] = ContextVar("fields of the log lines", default=MappingProxyType({}))


@contextmanager
def fields(**values: object) -> Iterator[None]:
    """Put `values` beside every line that is logged inside, in tasks that are started inside as well."""
    token = _around.set({**_around.get(), **values})
    try:
        yield
    finally:
        _around.reset(token)


def set_up(verbosity: int, stream: TextIO | None = None) -> None:
    """Send what is logged to `stream`, standard error by default, as one line of JSON each.

    Verbosity counts as Kubernetes' `-v` does: 0 is trouble alone, 1 to 3 what an operator wants to know, and from 4
    on every decision.
    """
    handler = _Lines(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if verbosity <= 0 else logging.INFO if verbosity < 4 else logging.DEBUG)
    for library in ("asyncio", "aiohttp", "kubernetes"):
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.captureWarnings(True)


def takes_more(stream: TextIO) -> bool:
    """Whether some lines can be written without waiting for a reader.

    A pipe that nobody reads is full after 64 KB, and would stop the whole program then.
    """
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except (OSError, ValueError):  # it is no file, or none that can be asked
        return True


class _Lines(logging.StreamHandler[TextIO]):
    """Leaves out what would have to wait for a reader: work goes before words about it."""

    def emit(self, record: logging.LogRecord) -> None:
        if takes_more(self.stream):
            super().emit(record)


class JsonLines(logging.Formatter):
    """One record is one line of ASCII, whatever a user has put into a name: control characters come out escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON: time, level, message and logger first, then its fields."""
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "msg": _cut(record.getMessage(), LONGEST_VALUE),
            "logger": record.name,
        }
        for name, value in {**_around.get(), **vars(record)}.items():
            if name not in _STANDARD:
                line.setdefault(name, _plain(value))
        if record.exc_info and record.exc_info[1]:
            line.setdefault("error", _plain(record.exc_info[1]))
            line["stack"] = _cut("".join(traceback.format_exception(record.exc_info[1])), -LONGEST_TRACE)
        return json.dumps(line)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, BaseException):
        value = f"{type(value).__name__}: {value}" if str(value) else type(value).__name__
    return _cut(str(value), LONGEST_VALUE)


def _cut(text: str, longest: int) -> str:
    """Keep the beginning, or with a negative number the end."""
    over = len(text) - abs(longest)
    if over <= 0:
        return text
    return f"{text[:longest]}... ({over} more)" if longest > 0 else f"({over} more) ...{text[longest:]}"
