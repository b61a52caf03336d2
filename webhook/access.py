"""The access log: one line of JSON for each request, in the form of `shared.ops.logs`, and written in batches.

A line through the standard library's logging, formatted, written and flushed by itself, takes 80 us, three times as
long as judging a JobFlow of ten entries; a line here takes 2. What it says of a request is up to the server, which puts
no body into it, and of an object no more than its name.
"""

import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import time
from typing import Any, Final

import msgspec

from shared.ops.logs import takes_more

LONGEST_LINE: Final = 2048

LONGEST_VALUES: Final = (256, 64, 16)
"""Characters to which what a client has written is cut, one after the other until the line is short enough: one may
take twelve bytes, and ten values come from clients."""

LOGGER: Final = "webhook.access"

BATCH: Final = 0.05
"""Seconds that a line may wait for others."""

AT_ONCE: Final = 4096
"""Bytes that are written together: a pipe says that it takes more as long as it has room for so many."""

MOST_WAITING: Final = 5000
"""Lines that wait for a reader who does not keep up. More than that are lost, the oldest first."""

Write = Callable[[bytes], bool]
"""Writes lines, or says that nobody takes them now."""


def to_standard_error(lines: bytes) -> bool:
    """Write where the other logs go."""
    if not takes_more(sys.stderr):
        return False
    with suppress(OSError):  # whoever read has gone
        sys.stderr.buffer.write(lines)
        sys.stderr.buffer.flush()
    return True


class AccessLog:
    """Collects lines and writes them a moment later, all at once."""

    def __init__(self, write: Write = to_standard_error, *, enabled: bool = True) -> None:
        self._write = write
        self._enabled = enabled
        self._lines = deque[bytes](maxlen=MOST_WAITING)
        self._waits = False
        self._second = 0
        self._written = ""

    def request(self, status: int, seconds: float, about: Mapping[str, Any]) -> None:
        """A request was answered with this HTTP status."""
        if not self._enabled:
            return
        line = {
            "ts": self._now(),
            "level": "info",
            "msg": "request",
            "logger": LOGGER,
            "status": status,
            "seconds": round(seconds, 6),
            **about,
        }
        self._flush_later()
        self._lines.append(_one_line(line, about))

    def _now(self) -> str:
        """The time as the other logs write it; the part that changes once a second is kept."""
        now = time()
        second = int(now)
        if second != self._second:
            self._second = second
            self._written = datetime.fromtimestamp(second, UTC).isoformat()[:19]
        return f"{self._written}.{int((now - second) * 1000):03}+00:00"

    def _flush_later(self) -> None:
        if not self._waits:
            self._waits = True
            asyncio.get_running_loop().call_later(BATCH, self._flush)

    def _flush(self) -> None:
        self._waits = False
        self.flush()
        if self._lines:
            self._flush_later()

    def flush(self) -> None:
        """Write what is there, as far as somebody takes it."""
        while self._lines:
            lines: list[bytes] = []
            size = 0
            for line in self._lines:
                size += len(line) + 1
                if lines and size > AT_ONCE:
                    break
                lines.append(line)
            if not self._write(b"\n".join((*lines, b""))):
                return
            for _ in lines:
                self._lines.popleft()


def _one_line(line: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    """ASCII alone, so that control characters in a name reach no terminal, and never long."""
    try:
        encoded = msgspec.json.encode(line)
    except UnicodeEncodeError:  # a path may have had bytes that are no UTF-8
        encoded = b""
    if encoded.isascii() and 0 < len(encoded) <= LONGEST_LINE:
        return encoded
    for most in LONGEST_VALUES:
        encoded = json.dumps({**line, **{name: _cut(value, most) for name, value in about.items()}}).encode()
        if len(encoded) <= LONGEST_LINE:
            break
    return encoded


def _cut(value: object, most: int) -> object:
    return f"{value[:most]}..." if isinstance(value, str) and len(value) > most else value
