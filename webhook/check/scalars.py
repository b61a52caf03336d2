"""What a scalar without quotes stands for in YAML, as kubectl reads it.

kubectl reads YAML 1.1 through `sigs.k8s.io/yaml`, which is neither what PyYAML makes of it (`1:30` is a number, `1e3` a
text, a date a date) nor YAML 1.2 (`y` is a text). What kubectl takes for something else is what its users fall over.
"""

import math
import re
from typing import Final

from shared.rules.fault import quoted

Scalar = str | int | float | bool | None


class NoJsonError(ValueError):
    """A value that JSON has not, such as infinity."""


def plain(text: str) -> Scalar:
    """The value of `text`, which stands there without quotes and without a tag. Raises NoJsonError."""
    if text in _WORDS:
        return _WORDS[text]
    if text in _NO_JSON:
        raise NoJsonError(f"{text} is no number in JSON")
    if text[0] in _BEGINS_A_NUMBER:
        number = _number(text)
        return text if number is None else number
    return text


def tagged(tag: str, text: str) -> Scalar:
    """The value of `text` under one of the tags in `TAGS`. Raises NoJsonError, and ValueError where it is none such."""
    if tag == _TAG + "str":
        return text
    value = plain(text)
    if tag == _TAG + "float" and type(value) is int:
        return value
    if type(value) not in TAGS[tag]:
        raise ValueError(f"{quoted(text)} is no {tag.removeprefix(_TAG)}")
    return value


def whole(number: float) -> int | float:
    """A number as it comes to the API server: Go writes 2.0 as 2, and uses an exponent from 1e21 on."""
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


_TAG: Final = "tag:yaml.org,2002:"

TAGS: Final[dict[str, tuple[type, ...]]] = {
    _TAG + "str": (str,),
    _TAG + "int": (int,),
    _TAG + "float": (float,),
    _TAG + "bool": (bool,),
    _TAG + "null": (type(None),),
}
"""Tags that a scalar may have, and what it then is."""

_TRUE: Final = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"]
_FALSE: Final = ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"]
_NULL: Final = ["", "~", "null", "Null", "NULL"]
_WORDS: Final[dict[str, bool | None]] = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False) | dict.fromkeys(_NULL)
_NO_JSON: Final = frozenset(
    [".nan", ".NaN", ".NAN"] + [sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")]
)
_BEGINS_A_NUMBER: Final = frozenset("0123456789+-.")

_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0[bB]([01]+)|0([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_BASES: Final = (16, 8, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])", re.ASCII)
_LONGEST_NUMBER: Final = 400
"""Characters: no number that is finite and of use has more, and Python takes its time over the digits of an integer."""


def _number(text: str) -> int | float | None:
    """The number that is written there, None if it is none. Underscores count for nothing.

    Behind a point at the beginning only those between digits do, for there Go's own rules are all that is asked.
    """
    if len(text) > _LONGEST_NUMBER:
        return None
    digits = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(digits):
        sign, *groups = match.groups()
        for base, written in zip(_BASES, groups, strict=True):
            if written is not None and -(2**63) <= (number := int(sign + written, base)) < 2**64:
                return number
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        return whole(value) if math.isfinite(value) else None
    return None
