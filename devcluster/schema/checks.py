"""The checks of a single value that a schema asks for: length, pattern, range, enum, format, counts.

`checks_of` turns the keywords of one schema node into functions that append their Causes. A check that is not about a
value's type (a pattern and a number) passes: the type has been judged before. The messages are those of
`k8s.io/kube-openapi/pkg/validation`.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from devcluster import causes
from devcluster.resources import JSON, Cause
from devcluster.schema.formats import FORMATS

Check = Callable[[Any, str, list[Cause]], None]

INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def checks_of(source: JSON, types: tuple[str, ...]) -> tuple[Check, ...]:
    """Return the checks of one schema node, in the order in which Kubernetes makes them."""
    built = [
        _text(source.get("minLength"), source.get("maxLength"), source.get("pattern")),
        _format(known_format(source.get("format", ""), types)),
        _integer_range(known_format(source.get("format", ""), types)) if types == ("integer",) else None,
        _multiple_of(source.get("multipleOf")),
        _minimum(source.get("minimum"), source.get("exclusiveMinimum", False)),
        _maximum(source.get("maximum"), source.get("exclusiveMaximum", False)),
        _items(source.get("minItems"), source.get("maxItems")),
        _enum(source.get("enum")),
        _properties(source.get("minProperties"), source.get("maxProperties")),
    ]
    return tuple(check for check in built if check is not None)


def _text(shortest: int | None, longest: int | None, pattern: str | None) -> Check | None:
    if not shortest and longest is None and not pattern:
        return None
    matches = _compiled_pattern(pattern) if pattern else None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if type(value) is not str:
            return
        if longest is not None and len(value) > longest:
            faults.append(causes.too_long(path, longest))
        elif shortest and len(value) < shortest:
            faults.append(causes.invalid(path, value, f"{path} in body should be at least {shortest} chars long"))
        elif matches is not None and not matches(value):
            faults.append(causes.invalid(path, value, f"{path} in body should match '{pattern}'"))

    return check


@lru_cache(maxsize=4096)
def _compiled_pattern(pattern: str) -> Callable[[str], object]:
    return re.compile(as_python(pattern)).search


# What Go's RE2 and Python's re write differently: `$` without (?m) is the very end of the text, and so is `\z`.
_DIFFERENT = re.compile(r"\\z|\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\$", re.DOTALL)
_POSIX = {
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:alnum:]": "0-9A-Za-z",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:space:]": r"\t\n\v\f\r ",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
}


def as_python(pattern: str) -> str:
    """Return an RE2 pattern in Python's words. Its classes mean ASCII, as in Go."""

    def translate(found: re.Match[str]) -> str:
        part = found.group()
        if part in {"$", r"\z"}:
            return r"\Z"
        if part.startswith("["):
            for name, members in _POSIX.items():
                part = part.replace(name, members)
        return part

    return "(?a)" + _DIFFERENT.sub(translate, pattern)


def known_format(name: str, types: tuple[str, ...]) -> str:
    """Return the format of a schema, nothing where Kubernetes does not know it for values of this type."""
    match types:
        case () | ("string",):
            return name if name.replace("-", "") in FORMATS else ""
        case ("integer",):
            return name if name in INT_RANGES else ""
        case ("number",):
            return name if name in {"float", "double"} else ""
    return ""


def _format(name: str) -> Check | None:
    valid = FORMATS.get(name.replace("-", ""))
    if valid is None:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if type(value) is str and not valid(value):
            detail = f"{path} in body must be of type {name}: {causes.shown(value)}"
            faults.append(causes.wrong_type(path, value, detail))

    return check


def _integer_range(name: str) -> Check:
    lowest, highest = INT_RANGES.get(name, INT_RANGES["int64"])
    words = f"type integer with format {name}" if name else "type integer (default format)"

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if _is_number(value) and not (lowest <= value <= highest and value == int(value)):
            # Kubernetes reports this one without a field.
            faults.append(causes.invalid("<nil>", "", f"Checked value must be of {words} in {path}"))

    return check


def _multiple_of(factor: float | None) -> Check | None:
    if factor is None:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if _is_number(value) and not math.isclose(value / factor, round(value / factor), rel_tol=0, abs_tol=1e-9):
            detail = f"{path} in body should be a multiple of {causes.number(factor)}"
            faults.append(causes.invalid(path, value, detail))

    return check


def _minimum(limit: float | None, exclusive: bool) -> Check | None:
    if limit is None:
        return None
    words = f"should be greater than {'' if exclusive else 'or equal to '}"

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if _is_number(value) and (value < limit or (exclusive and value == limit)):
            faults.append(causes.invalid(path, value, f"{path} in body {words}{_bound(limit, value)}"))

    return check


def _maximum(limit: float | None, exclusive: bool) -> Check | None:
    if limit is None:
        return None
    words = f"should be less than {'' if exclusive else 'or equal to '}"

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if _is_number(value) and (value > limit or (exclusive and value == limit)):
            faults.append(causes.invalid(path, value, f"{path} in body {words}{_bound(limit, value)}"))

    return check


def _items(fewest: int | None, most: int | None) -> Check | None:
    if not fewest and most is None:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if type(value) is not list:
            return
        if fewest and len(value) < fewest:
            detail = f"{path} in body should have at least {fewest} items"
            faults.append(causes.invalid(path, len(value), detail))
        if most is not None and len(value) > most:
            faults.append(causes.too_many(path, len(value), most))

    return check


def _properties(fewest: int | None, most: int | None) -> Check | None:
    if not fewest and most is None:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if type(value) is not dict:
            return
        if fewest and len(value) < fewest:
            detail = f"{path} in body should have at least {fewest} properties"
            faults.append(causes.invalid(path, len(value), detail))
        if most is not None and len(value) > most:
            faults.append(causes.too_many(path, len(value), most))

    return check


def _enum(allowed: list[Any] | None) -> Check | None:
    if not allowed:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if not any(same(value, one) for one in allowed):
            faults.append(causes.unsupported(path, value, allowed))

    return check


def same(left: Any, right: Any) -> bool:
    """Say whether two JSON values are equal; other than in Python, true is not 1."""
    return bool(left == right) and (type(left) is bool) == (type(right) is bool)


def _bound(limit: float, value: float) -> str:
    """Return a bound as a message has it: a number of the value's own type."""
    return causes.number(float(limit) if type(value) is float else limit)


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float
