"""Say what is wrong with a field in the words of Kubernetes: one function for each kind of `Cause`.

The words are those of `k8s.io/apimachinery/pkg/util/validation/field`, so that kubectl prints for this server what it
prints for a real one. A Cause's message leaves out the field, which travels beside it.
"""

import json
from collections.abc import Iterable
from decimal import Decimal

from devcluster.resources import Cause


def required(field: str, detail: str = "") -> Cause:
    """A field that must be there is not."""
    return Cause("FieldValueRequired", _joined("Required value", detail), field)


def forbidden(field: str, detail: str) -> Cause:
    """A field may not have this value, or not be there, in this place."""
    return Cause("FieldValueForbidden", _joined("Forbidden", detail), field)


def invalid(field: str, value: object, detail: str) -> Cause:
    """A value breaks a rule; `detail` says which."""
    return Cause("FieldValueInvalid", _joined(f"Invalid value: {shown(value)}", detail), field)


def wrong_type(field: str, value: object, detail: str) -> Cause:
    """A value is of another type than the schema says."""
    return Cause("FieldValueTypeInvalid", _joined(f"Invalid value: {shown(value)}", detail), field)


def duplicate(field: str, value: object) -> Cause:
    """A value stands twice where each may stand once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def unsupported(field: str, value: object, supported: Iterable[object]) -> Cause:
    """A value is none of the few that are allowed."""
    known = ", ".join(json.dumps(v if isinstance(v, str) else shown(v), ensure_ascii=False) for v in supported)
    return Cause(
        "FieldValueNotSupported",
        _joined(f"Unsupported value: {shown(value)}", f"supported values: {known}" if known else ""),
        field,
    )


def too_long(field: str, limit: int) -> Cause:
    """A text has more bytes than it may have."""
    unit = "byte" if limit == 1 else "bytes"
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} {unit}", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """A list or map has more entries than it may have."""
    unit = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {unit}", field)


def shown(value: object) -> str:
    """Return a value as a message shows it: text in quotes, numbers bare, the rest as JSON with sorted keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if isinstance(value, (dict, list)):
        # Go's JSON encoder escapes these three for the sake of HTML, and messages show it.
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text


def number(value: float) -> str:
    """Return a number as Go prints it: a float with the fewest digits, and with an exponent from a million on."""
    if not isinstance(value, float):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return repr(value)
    text, power = "".join(map(str, digits)), len(digits) + exponent - 1
    if -4 <= power < 6:
        return str(int(value)) if value.is_integer() else repr(value)
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' if sign else ''}{text[0]}{fraction}e{power:+03d}"


def _joined(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body
