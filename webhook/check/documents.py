"""The documents of a file, told apart as kubectl does it.

A file that begins with `{` is JSON, one object after the other, unless only YAML can make something of it. Any other is
YAML, and lines that begin with `---` tell its documents apart before any grammar does.
"""

import re
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import Final

from webhook.check.json_text import read_json
from webhook.check.tree import Builder, UnreadableError
from webhook.check.yaml_text import read_yaml

HELM_HINT: Final = "; {{ }} belongs to a Helm template: check what `helm template` makes of it"


class Lines:
    """Line and column of places in a text, both from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    def of(self, at: int) -> tuple[int, int]:
        """The line and the column of an index into the text."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1


def decoded(content: bytes) -> str:
    """The text of a file, in UTF-8, or UTF-16 where its first bytes say so. Raises UnreadableError."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-8"
        content = content.removeprefix(BOM_UTF8)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as wrong:
        before = content[: wrong.start].decode(encoding, errors="replace")
        raise UnreadableError("must be text in UTF-8", len(before)) from None


Read = Builder | UnreadableError
"""A document, or why it is none."""


def read_documents(text: str) -> Iterator[Read]:
    """Every document that is not empty. Behind one of YAML that cannot be read those that come after it are."""
    for read in _json_documents(text) if text.lstrip().startswith("{") else _yaml_documents(text):
        if isinstance(read, UnreadableError):
            yield UnreadableError(read.message + HELM_HINT, read.at) if _has_template(text, read.at) else read
        elif read.document is not None and read.document.value is not None:
            yield read


_JSON: Final = re.compile(r'\s*\{\s*["}]')


def _json_documents(text: str) -> Iterator[Read]:
    end = 0
    try:
        for builder, end in read_json(text):  # noqa: B007
            yield builder
    except UnreadableError as wrong:
        rest = list(_yaml_documents(text, end)) if not end or text[end:].lstrip().startswith("---") else [wrong]
        is_json = _JSON.match(text) and any(isinstance(read, UnreadableError) for read in rest)
        yield from [wrong] if is_json else rest


_SEPARATOR: Final = re.compile(r"^---(.*)$", re.MULTILINE)
_BLANK: Final = re.compile(r"\s*(?:#.*)?", re.DOTALL)


def _yaml_documents(text: str, start: int = 0) -> Iterator[Read]:
    for separator in _SEPARATOR.finditer(text, start):
        yield _yaml_document(text, start, separator.start())
        if not _BLANK.fullmatch(separator.group(1)):
            said = "a line that begins with --- tells documents apart, and has nothing behind it but a comment"
            yield UnreadableError(said, separator.start())
        start = separator.end()
    yield _yaml_document(text, start, len(text))


def _yaml_document(text: str, start: int, end: int) -> Read:
    part = text[start:end].removeprefix("\n\ufeff")
    try:
        return read_yaml(part, end - len(part))
    except UnreadableError as wrong:
        return wrong


def _has_template(text: str, at: int) -> bool:
    """Whether braces of a Helm template stand in the line, or in one of the two lines before it."""
    begin = at
    for _ in range(3):
        begin = text.rfind("\n", 0, max(begin, 0))
    end = text.find("\n", at)
    return "{{" in text[max(begin, 0) : len(text) if end < 0 else end]
