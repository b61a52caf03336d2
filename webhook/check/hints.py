"""What YAML made of a text that was meant otherwise, and how to write it so that it is not."""

import re
from typing import Final

from shared.rules.fault import Fault, FieldPath, quoted, shown
from webhook.check.scalars import NoJsonError, Scalar, plain
from webhook.check.tree import Place

A_STRING: Final = re.compile(r"must be (?:an? [a-z]+ or )?a string")
"""How a fault says what is wanted."""

OTHERS: Final[dict[str, tuple[type, ...]]] = {
    "must be an integer": (int,),
    "must be a number": (int, float),
    "must be true or false": (bool,),
}


def hint(root: Place, fault: Fault) -> str:
    """What to add to a fault's message; nothing where the value is not the work of YAML."""
    place = root.get(fault.field) if isinstance(fault.field, FieldPath) else None
    if place is None:
        return ""
    if place.written and (place.value is None or A_STRING.search(fault.message)):
        return f'; YAML reads {shown(place.written)} as {_said(place.value)}: write "{shown(place.written)}"'
    return _without_quotes(place.value, fault.message) if isinstance(place.value, str) else ""


def _without_quotes(text: str, message: str) -> str:
    try:
        value = plain(text) if text else None
    except NoJsonError:
        return ""
    if any(words in message and type(value) in types for words, types in OTHERS.items()):
        return f"; it is a string because it is in quotes: write {shown(text)}"
    return ""


def _said(value: Scalar) -> str:
    if value is None:
        return "nothing"
    return quoted(value) if isinstance(value, bool) else f"the number {quoted(value)}"
