"""How faults become what a user sees.

However much is wrong, the answer stays short enough to read: the first faults whole, and the number of the others.
Near misses are looked for here, only for the faults that are shown, because that takes time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from shared.rules.fault import SPEC, Fault, quoted
from shared.rules.near_miss import Lexicon

MOST_FAULTS: Final = 20

CAUSES_BYTES: Final = 5_600
"""What the causes may come to as JSON, so that with the line and all around them they stay under 8 KiB."""

LINE_BYTES: Final = 1_500
"""What the line may come to as JSON. Whoever prints the causes does not need it."""

MESSAGE_BYTES: Final = 1_400
"""Bytes of one fault's message. Only a loop of very long names comes there."""

FRAME: Final = len('{"reason":,"message":,"field":},')


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal as a person reads it: one by one as `causes`, or all in one `line`."""

    causes: tuple[Fault, ...]
    line: str


def answer(faults: Sequence[Fault]) -> Answer:
    """Tell the first 20 faults, or as many of them as there is room for, and how many more there are."""
    causes: list[Fault] = []
    room = CAUSES_BYTES
    for fault in with_near_misses(faults[:MOST_FAULTS]):
        told = replace(fault, message=_cut(fault.message))
        room -= FRAME + sum(map(_json_bytes, (told.reason, told.message, str(told.field))))
        if room < 0:
            break
        causes.append(told)
    line = _line(causes, len(faults))
    if more := len(faults) - len(causes):
        causes.append(Fault(SPEC, "FieldValueInvalid", _and_more(more)))
    return Answer(tuple(causes), line)


def with_near_misses(faults: Sequence[Fault]) -> list[Fault]:
    """Add to each fault what may have been meant. Faults that share their names are compared with one lexicon."""
    lexicons: dict[int, Lexicon] = {}
    told = []
    for fault in faults:
        if fault.near:
            names = fault.near.among
            if id(names) not in lexicons:
                lexicons[id(names)] = Lexicon(names)
            if meant := lexicons[id(names)].nearest(fault.near.value):
                fault = replace(fault, message=f"{fault.message}; did you mean {quoted(meant)}?")  # noqa: PLW2901
        told.append(fault)
    return told


def _line(causes: Sequence[Fault], count: int) -> str:
    """All in one line, as Kubernetes joins them; as many as there is room for."""
    if count <= 1:
        return "".join(map(str, causes))
    parts: list[str] = []
    room = LINE_BYTES
    for part in map(str, causes):
        room -= _json_bytes(part)
        if room < 0:
            break
        parts.append(part)
    if more := count - len(parts):
        parts.append(_and_more(more))
    return f"[{', '.join(parts)}]"


def _and_more(count: int) -> str:
    return "and 1 more fault" if count == 1 else f"and {count} more faults"


def _cut(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= MESSAGE_BYTES:
        return message
    return encoded[:MESSAGE_BYTES].decode(errors="ignore") + "..."


def _json_bytes(text: str) -> int:
    return len(msgspec.json.encode(text))
