"""Objects as a Table (`meta.k8s.io/v1`), which is what `kubectl get` asks for.

The server decides what the columns show, ages included, and kubectl only lays them out. The first column is always the
name; a value that is missing is null and prints as nothing.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from devcluster import jsonpath
from devcluster.causes import number
from devcluster.resources import JSON, Column

NAME = Column(
    name="Name",
    type="string",
    format="name",
    json_path=".metadata.name",
    description="Name must be unique within a namespace. Is required when creating resources.",
)
AGE = Column(
    name="Age",
    type="date",
    json_path=".metadata.creationTimestamp",
    description="CreationTimestamp is the time when the object was created, in UTC.",
)


def table(
    columns: Sequence[Column], objects: Iterable[JSON], *, list_meta: JSON, now: datetime, include: str = "Metadata"
) -> JSON:
    """Return the objects as a Table, with as much of each object in its row as `include` says.

    `include` is Metadata, Object or None. Where a resource declares no columns, there is an Age, as for a
    CustomResourceDefinition without additionalPrinterColumns. The first column is the name, unless the resource has a
    column Name of its own. Ages count until `now`.
    """
    shown = tuple(columns) or (AGE,)
    if all(column.name != NAME.name for column in shown):
        shown = (NAME, *shown)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_meta,
        "columnDefinitions": [_definition(column) for column in shown],
        "rows": [
            {
                "cells": [_cell(column, obj, now) for column in shown],
                "object": _included(obj, include),
            }
            for obj in objects
        ],
    }


def _definition(column: Column) -> JSON:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description
        or f"Custom resource definition column (in JSONPath format): {column.json_path}",
        "priority": column.priority,
    }


def _included(obj: JSON, include: str) -> JSON | None:
    if include == "Object":
        return obj
    if include == "None":
        return None
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _cell(column: Column, obj: JSON, now: datetime) -> Any:
    if column.cell is not None:
        value = column.cell(obj)
        return age(str(value or ""), now) if column.type == "date" else value
    found = jsonpath.find(jsonpath.parsed(column.json_path), obj)
    if not found:
        return None
    convert = _CONVERSIONS.get(column.type)
    return convert(found[0], now) if convert else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_text(value: Any) -> str:
    """Return a value as a column of type string prints it, whatever its own type."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def age(timestamp: str, now: datetime) -> str:
    """Return how long ago a time was, as kubectl prints ages: 42s, 5m10s, 3h, 2d4h."""
    if timestamp == "":
        return "<unknown>"
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return human_duration((now - then).total_seconds())


_CONVERSIONS: dict[str, Callable[[Any, datetime], Any]] = {
    "string": lambda value, _: _as_text(value),
    "date": lambda value, now: age(value, now) if isinstance(value, str) else None,
    "integer": lambda value, _: int(value) if _is_number(value) else None,
    "number": lambda value, _: value if _is_number(value) else None,
    "boolean": lambda value, _: value if isinstance(value, bool) else None,
}

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400

# Below so many seconds: the unit, and the finer one beside it.
_DURATIONS = (
    (2 * MINUTE, 1, "s", 0, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 0, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
    (math.inf, YEAR, "y", 0, ""),
)


def human_duration(seconds: float) -> str:
    """Return a duration in at most two units, the finer the shorter it is (`k8s.io/apimachinery/pkg/util/duration`)."""
    whole = int(seconds)
    if whole < -1:  # two clocks may differ by a second
        return "<invalid>"
    whole = max(whole, 0)
    size, unit, finer_size, finer = next(row[1:] for row in _DURATIONS if whole < row[0])
    rest = whole % size // finer_size if finer_size else 0
    return f"{whole // size}{unit}{rest}{finer}" if rest else f"{whole // size}{unit}"
