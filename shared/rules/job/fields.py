"""What the fields of a Job hold that no other rule looks into: the shapes with which the models are marked."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from msgspec import inspect

from shared.api.job_spec import JobTemplateInFull
from shared.rules.fault import Fault, FieldPath
from shared.rules.job.shapes import shape
from shared.rules.rule import Rule


@Rule
def fields_have_their_shape(template: JobTemplateInFull) -> Iterator[Fault]:
    """All else in a Pod's template has the types, words, names, paths and ranges that Kubernetes takes."""
    yield from islice(_faults(template, _marks(JobTemplateInFull), FieldPath()), MOST)


MOST: Final = 10_000
"""Faults that are counted; a body may hold hundreds of thousands, and beyond that nobody needs the number."""

RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (fields_have_their_shape,)

Marks = Sequence[tuple[str, str, str, type | None]]
"""Fields of a model: attribute, key, the shape that it or its items are marked with, and the model below it."""


@cache
def _marks(model: type) -> Marks:
    """Those fields of a model that are marked, or have marks below them."""
    struct = inspect.type_info(model)
    fields = struct.fields if isinstance(struct, inspect.StructType) else ()
    marks = ((each.name, each.encode_name, *_mark(each.type)) for each in fields)
    return tuple(mark for mark in marks if mark[2] or (mark[3] and _marks(mark[3])))


def _mark(wanted: inspect.Type) -> tuple[str, type | None]:
    if isinstance(wanted, inspect.Metadata):
        return (wanted.extra or {}).get("shape", ""), None
    if isinstance(wanted, inspect.UnionType):
        return next((mark for each in wanted.types if (mark := _mark(each)) != ("", None)), ("", None))
    if isinstance(wanted, inspect.VarTupleType):
        return _mark(wanted.item_type)
    return "", wanted.cls if isinstance(wanted, inspect.StructType) else None


def _faults(model: Any, marks: Marks, at: FieldPath) -> Iterator[Fault]:
    for attribute, key, marked, below in marks:
        value = getattr(model, attribute)
        if value is None:
            continue
        items = ((at / key / i, item) for i, item in enumerate(value)) if type(value) is tuple else ((at / key, value),)
        for place, item in items:
            if below:
                yield from _faults(item, _marks(below), place)
            elif not (wanted := shape(marked)).fits(item):
                yield from wanted.faults(item, place)
