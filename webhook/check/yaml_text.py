"""One YAML document, read as kubectl reads it.

The grammar is libyaml's, of which kubectl's reader is a translation; what scalars stand for is in `scalars`. Nothing in
a document is ever called or made but plain JSON, whatever its tags say.
"""

import re
from typing import Any, Final

import yaml

from shared.rules.fault import Fault, quoted
from webhook.check.scalars import TAGS, Scalar, plain, tagged
from webhook.check.tree import MERGE, Builder, UnreadableError

UNKNOWN_TAG: Final = "tags-are-known"
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COLLECTIONS: Final = {dict: (None, "!", "tag:yaml.org,2002:map"), list: (None, "!", "tag:yaml.org,2002:seq")}


def read_yaml(text: str, offset: int = 0, loader: Any = _LOADER) -> Builder:
    """The document in `text`, which begins at `offset` of a file. Where it is empty, the builder has none.

    Raises UnreadableError.
    """
    builder = Builder()
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.DocumentEndEvent):
                _look_behind(text, _index(event.end_mark), offset)
                break  # kubectl, too, reads one document between two separators
            _take(event, offset + _index(event.start_mark), builder)
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        at = _index(mark) if mark else 0
        raise UnreadableError(_said(wrong, text[at : at + 1]), offset + at) from None
    except yaml.reader.ReaderError as wrong:
        at = next((i for i, char in enumerate(text) if not _is_printable(char)), 0)
        raise UnreadableError(f"must not have the control character {quoted(chr(_code(wrong)))}", offset + at) from None
    return builder


def _said(wrong: yaml.MarkedYAMLError, char: str) -> str:
    if char == "\t":
        return "a tab must not stand here: YAML is indented with blanks alone"
    return f"{wrong.problem}, {wrong.context}" if wrong.context else str(wrong.problem)


def _index(mark: Any) -> int:
    """Where in the text a mark is. Only the types of the library hold it possible that an event has none."""
    index: int = mark.index
    return index


def _take(event: yaml.Event, at: int, builder: Builder) -> None:
    if isinstance(event, yaml.ScalarEvent):
        _take_scalar(event, at, builder)
    elif isinstance(event, yaml.AliasEvent):
        builder.alias(at, event.anchor or "")
    elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
        if builder.wants_key:
            raise UnreadableError("a key must be a text, no list and no map", at)
        container: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.tag not in _COLLECTIONS[type(container)]:
            _tell_tag(event.tag, builder)
        builder.open(at, container, event.anchor)
    elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
        builder.close(at)


_NOTHING: Final = re.compile(r"(?>[\r\n]+|[ \t]*(?:#.*|%.*|\.\.\.[ \t]*(?:#.*)?)?(?:\r\n|[\r\n]|\Z))*")


def _look_behind(text: str, end: int, offset: int) -> None:
    """What kubectl would pass over without a word."""
    match = _NOTHING.match(text, end)
    if match and match.end() < len(text):
        said = "kubectl reads no further than the document's end before this; a line --- begins another document"
        raise UnreadableError(said, offset + match.end())


def _take_scalar(event: yaml.ScalarEvent, at: int, builder: Builder) -> None:
    is_plain = event.implicit[0] and not event.style
    if builder.wants_key and is_plain and event.value == MERGE:
        builder.merge_key(at)
        return
    value = _value(event, at, builder)
    if builder.wants_key:
        builder.key(at, value, event.value, event.anchor)
    else:
        builder.scalar(at, value, event.value if is_plain and not isinstance(value, str) else None, event.anchor)


def _value(event: yaml.ScalarEvent, at: int, builder: Builder) -> Scalar:
    text: str = event.value
    try:
        if event.tag is None and not event.style:
            return plain(text)
        if event.tag in TAGS:
            return tagged(event.tag, text)
    except ValueError as wrong:
        raise UnreadableError(str(wrong), at) from None
    if event.tag not in {None, "!"}:
        _tell_tag(event.tag, builder)
    return text


def _tell_tag(tag: str, builder: Builder) -> None:
    short = tag.replace("tag:yaml.org,2002:", "!!", 1)
    fault = Fault(builder.here(), "FieldValueInvalid", f"Invalid value: {quoted(short)}: must have no such tag")
    builder.problem(fault, UNKNOWN_TAG)


def _is_printable(char: str) -> bool:
    """What YAML allows in a text."""
    return char in "\t\n\r\x85" or " " <= char <= "~" or (char >= "\xa0" and char not in "\ufffe\uffff")


def _code(wrong: yaml.reader.ReaderError) -> int:
    character = wrong.character
    return character if isinstance(character, int) else ord(character[:1] or "?")
