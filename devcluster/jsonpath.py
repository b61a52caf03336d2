r"""Find values by the simple JSONPath that printer columns and kubectl use: `.status.state.phase`.

Steps: `.name`, `['name']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, `[?(@.type=="Ready")]` with `==`, `!=`, `<`, `<=`,
`>`, `>=` or nothing (existence). A dot within a name is written `\.`.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


class JSONPathError(ValueError):
    """A path that is none of the above."""


@dataclass(frozen=True, slots=True)
class Name:
    """The member of this name."""

    name: str

    def find(self, value: Any) -> Iterator[Any]:
        """Yield it, if it is there."""
        if type(value) is dict and self.name in value:
            yield value[self.name]


@dataclass(frozen=True, slots=True)
class Slice:
    """Some entries of a list."""

    start: int | None
    stop: int | None

    def find(self, value: Any) -> Iterator[Any]:
        """Yield them in order."""
        if type(value) is list:
            yield from value[self.start : self.stop]


@dataclass(frozen=True, slots=True)
class Everything:
    """All entries of a list, all values of an object."""

    def find(self, value: Any) -> Iterator[Any]:
        """Yield them in order."""
        if type(value) is list:
            yield from value
        elif type(value) is dict:
            yield from value.values()


@dataclass(frozen=True, slots=True)
class Filter:
    """The entries of a list for which something found in them compares as asked."""

    path: "tuple[Step, ...]"
    compares: Callable[[Any, Any], bool] | None  # None: it is enough that there is something
    wanted: Any

    def find(self, value: Any) -> Iterator[Any]:
        """Yield them in order."""
        if type(value) is list:
            yield from (item for item in value if self._takes(item))

    def _takes(self, item: Any) -> bool:
        found = find(self.path, item)
        if self.compares is None or not found:
            return bool(found)
        try:
            return self.compares(found[0], self.wanted)
        except TypeError:
            return False


Step = Name | Slice | Everything | Filter

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_STEP = re.compile(
    r"""\.(?P<every>\*) | \.?(?P<any>\[\*\]) | \.(?P<name>(?:[^.\[\]\\]|\\.)+)
      | \.?\['(?P<single>(?:[^'\\]|\\.)*)'\] | \.?\["(?P<double>(?:[^"\\]|\\.)*)"\]
      | \.?\[(?P<index>-?\d+)\] | \.?\[(?P<start>-?\d*):(?P<stop>-?\d*)\] | \.?\[\?\((?P<filter>.*?)\)\]""",
    re.VERBOSE | re.ASCII,
)
_FILTER = re.compile(r"""@(?P<path>[^=!<>]*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<wanted>.+))?""", re.DOTALL)


@lru_cache(maxsize=1024)
def parsed(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; the leading dot and surrounding braces may be missing."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if text and text[0] not in ".[":
        text = "." + text
    steps: list[Step] = []
    position = 0
    while position < len(text) and text != ".":
        found = _STEP.match(text, position)
        if found is None:
            raise JSONPathError(f"unrecognized path {path!r} at {text[position:]!r}")
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    parts = found.groupdict()
    for kind in ("name", "single", "double"):
        if parts[kind] is not None:
            return Name(re.sub(r"\\(.)", r"\1", parts[kind]))
    if parts["every"] or parts["any"]:
        return Everything()
    if parts["index"] is not None:
        index = int(parts["index"])
        return Slice(index, index + 1 if index != -1 else None)
    if parts["filter"] is not None:
        return _filter(parts["filter"].strip())
    return Slice(int(parts["start"]) if parts["start"] else None, int(parts["stop"]) if parts["stop"] else None)


def _filter(text: str) -> Filter:
    found = _FILTER.fullmatch(text)
    if found is None:
        raise JSONPathError(f"unrecognized filter {text!r}")
    wanted = found["wanted"]
    return Filter(parsed(found["path"]), _COMPARISONS.get(found["op"] or ""), _literal(wanted) if wanted else None)


def _literal(text: str) -> Any:
    text = text.strip()
    if text.startswith("'") and text.endswith("'"):
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        raise JSONPathError(f"unrecognized literal {text!r}") from None


def find(steps: tuple[Step, ...], value: Any) -> list[Any]:
    """Return all that the path leads to, in order; nothing where a name is missing."""
    values = [value]
    for step in steps:
        values = [found for one in values for found in step.find(one)]
    return values
