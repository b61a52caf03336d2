"""What YAML made of a text that was meant otherwise, and how to write it so that it is not."""

from typing import Final

from shared.rules.fault import Fault, FieldPath, quoted, shown
from webhook.check.scalars import NoJsonError, Scalar, plain
from webhook.check.tree import Place
from webhook.shapes import RULE as WRONG_TYPE

A_STRING: Final = "a string"
"""How a fault of type says what is wanted."""

OTHERS: Final[dict[str, tuple[type, ...]]] = {
    "an integer": (int,),
    "a number": (int, float),
    "true or false": (bool,),
}


def hint(root: Place, fault: Fault) -> str:
    """What to add to a fault's message; nothing where the value is not the work of YAML."""
    place = root.get(fault.field) if isinstance(fault.field, FieldPath) else None
    if place is None:
        return ""
    if place.written and (place.value is None or (fault.rule == WRONG_TYPE and A_STRING in fault.message)):
        return f'; YAML reads {shown(place.written)} as {_said(place.value)}: write "{shown(place.written)}"'
    if fault.rule == WRONG_TYPE and isinstance(place.value, str):
        return _without_quotes(place.value, fault.message)
    return ""


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
