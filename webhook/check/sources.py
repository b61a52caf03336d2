"""Files to check: what arguments stand for, in an order that is always the same."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Files that are looked for in directories; kubectl takes the same."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a file that is read: several times what the largest manifests have, such as all CRDs of a distribution."""

STANDARD_INPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or why it cannot be read."""

    name: str
    """As it is told: the argument, or the way from there."""
    content: bytes = b""
    error: str = ""


def sources(arguments: Sequence[str]) -> Iterator[Source]:
    """What the arguments stand for, each file once: `-`, files of any name, and directories with all below them."""
    seen = set[str]()
    for argument in arguments:
        if argument == STANDARD_INPUT:
            if argument not in seen:
                yield _read_input()
            seen.add(argument)
            continue
        unseen: list[OSError] = []
        for path in _files(argument, unseen.append):
            real = os.path.realpath(path)
            if real not in seen:
                yield _read(path)
            seen.add(real)
        yield from (Source(_printable(str(error.filename)), error=error.strerror or str(error)) for error in unseen)


def _files(argument: str, tell: Callable[[OSError], None]) -> Iterator[str]:
    """The argument itself, or what lies below it, but for directories that cannot be read.

    Hidden directories, such as `.git`, hold nothing to check.
    """
    if not os.path.isdir(argument):
        yield argument
        return
    for folder, below, files in os.walk(argument, onerror=tell):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith(SUFFIXES) and os.path.isfile(path):
                yield path


def _read(path: str) -> Source:
    name = _printable(path)
    try:
        with open(path, "rb") as file:
            return _limited(name, file.read(MOST_BYTES + 1))
    except OSError as error:
        return Source(name, error=error.strerror or str(error))


def _read_input() -> Source:
    if sys.stdin is None:
        return Source(STANDARD_INPUT, error="there is no standard input")
    try:
        return _limited(STANDARD_INPUT, sys.stdin.buffer.read(MOST_BYTES + 1))
    except OSError as error:
        return Source(STANDARD_INPUT, error=error.strerror or str(error))


def _limited(name: str, content: bytes) -> Source:
    if len(content) > MOST_BYTES:
        return Source(name, error=f"must not have more than {MOST_BYTES} bytes")
    return Source(name, content)


def _printable(path: str) -> str:
    """A name that can be printed, on one line, whatever the file is called."""
    text = Path(path).as_posix().encode(errors="surrogateescape").decode(errors="replace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
