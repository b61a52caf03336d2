"""A text of JSON, one object after the other, with the place of every field. YAML's grammar is not quite JSON's."""

import json
import re
from collections.abc import Iterator
from typing import Final, NoReturn

from webhook.check.scalars import whole
from webhook.check.tree import DEEPEST, Builder, UnreadableError


def read_json(text: str) -> Iterator[tuple[Builder, int]]:
    """The documents in `text`, and where each ends. Raises UnreadableError where it is wrong."""
    end = 0
    while something := _NO_SPACE.search(text, end):
        at = something.start()
        end = _end_of_value(text, at)
        yield _built(text, at, end), end


_NO_SPACE: Final = re.compile(r"[^ \t\r\n]")
_TOKEN: Final = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final = {"true": True, "false": False, "null": None}


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_constant)


def _end_of_value(text: str, at: int) -> int:
    """Where the value that begins at `at` ends. What lies between is JSON."""
    try:
        return _DECODER.raw_decode(text, at)[1]
    except RecursionError:
        raise UnreadableError(f"must not be nested deeper than {DEEPEST}", at) from None
    except json.JSONDecodeError as wrong:
        raise UnreadableError(f"no JSON: {wrong.msg}", wrong.pos) from None
    except ValueError as wrong:  # with the integers of thousands of digits that Python refuses to convert
        raise UnreadableError(f"no JSON: {wrong}", at) from None


def _built(text: str, start: int, end: int) -> Builder:
    """The value between the two places, of which is known that it is JSON."""
    builder = Builder()
    for token in _TOKEN.finditer(text, start, end):
        at, piece = token.start(), token.group()
        if piece in "[{":
            builder.open(at, [] if piece == "[" else {})
        elif piece in "]}":
            builder.close(at)
        elif piece[0] == '"':
            value = _text(piece, at)
            if builder.wants_key:
                builder.key(at, value, value)
            else:
                builder.scalar(at, value)
        elif piece in _WORDS:
            builder.scalar(at, _WORDS[piece])
        else:
            builder.scalar(at, _number(piece, at))
    return builder


def _text(piece: str, at: int) -> str:
    text = str(json.loads(piece))
    if _SURROGATE.search(text):
        raise UnreadableError("a text must not have half a surrogate pair", at)
    return text


def _number(digits: str, at: int) -> int | float:
    number = json.loads(digits)
    if isinstance(number, float):
        if number in (float("inf"), float("-inf")):
            raise UnreadableError(f"{digits[:20]} is too large a number", at)
        return whole(number)
    return int(number)
