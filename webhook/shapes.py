"""What has the wrong type in an object: all of it at once, each with its path.

`msgspec` reads objects into the models of `shared.api` and is fast, but stops at the first thing that does not fit.
Only then is the same model walked here for the rest. The walk keeps no more than what is told in the end: a body may
hold millions of mistakes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from shared.rules.fault import Fault, FieldPath, required, type_invalid
from shared.rules.job.shapes import shape

MOST: Final = 10_000
"""Faults that are counted; beyond that nobody needs the number."""

RULE: Final = "schema"

T = TypeVar("T")


class MisshapenError(Exception):
    """An object does not fit its model; `faults` says where."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(f"{len(faults)} values have the wrong type")
        self.faults = faults


def read(tree: Any, model: type[T]) -> T:
    """The model that `tree` stands for. Raises MisshapenError with every value of a wrong type."""
    try:
        return msgspec.convert(tree, model)
    except msgspec.ValidationError as wrong:
        faults = list(islice(type_faults(tree, inspect.type_info(model), FieldPath()), MOST))
        raise MisshapenError(faults or [Fault("", "FieldValueInvalid", str(wrong), RULE)]) from None


def type_faults(value: Any, wanted: inspect.Type, at: FieldPath) -> Iterator[Fault]:
    """Every value in `value` that is not of the wanted type, in the order of the model."""
    options = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    option = next((option for option in options if _fits(value, option)), None)
    if option is None:
        words = " or ".join(dict.fromkeys(_words(option) for option in options if type(option) is not inspect.NoneType))
        yield _of_schema(required(at) if value is None else type_invalid(at, value, f"must be {words}"))
    elif isinstance(option, inspect.Metadata):
        yield from map(_of_schema, shape((option.extra or {})["shape"]).faults(value, at))
    elif isinstance(option, inspect.StructType):
        for field in option.fields:
            if field.encode_name in value:
                yield from type_faults(value[field.encode_name], field.type, at / field.encode_name)
            elif field.required:
                yield _of_schema(required(at / field.encode_name))
    elif isinstance(option, inspect.VarTupleType | inspect.ListType):
        for i, item in enumerate(value):
            if not _is_plain(item, option.item_type):
                yield from type_faults(item, option.item_type, at / i)
    elif isinstance(option, inspect.DictType):
        for key, item in value.items():
            yield from type_faults(item, option.value_type, at.key(key))


def _of_schema(fault: Fault) -> Fault:
    return Fault(fault.field, fault.reason, fault.message, RULE)


_PYTHON: Final[dict[type[inspect.Type], tuple[type, ...]]] = {
    inspect.StructType: (dict,),
    inspect.DictType: (dict,),
    inspect.VarTupleType: (list,),
    inspect.ListType: (list,),
    inspect.StrType: (str,),
    inspect.IntType: (int,),
    inspect.FloatType: (int, float),
    inspect.BoolType: (bool,),
    inspect.NoneType: (type(None),),
}

_WORDS: Final[dict[type[inspect.Type], str]] = {
    inspect.StructType: "an object",
    inspect.DictType: "an object",
    inspect.VarTupleType: "a list",
    inspect.ListType: "a list",
    inspect.StrType: "a string",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
}


def _fits(value: Any, option: inspect.Type) -> bool:
    """Whether it is the right kind of value, whatever is inside. A type that is not known here takes anything."""
    option = option.type if isinstance(option, inspect.Metadata) else option
    if type(value) is float and value.is_integer():
        value = int(value)  # as the API server and msgspec read it
    return type(value) in _PYTHON.get(type(option), (type(value),))


def _is_plain(item: Any, wanted: inspect.Type) -> bool:
    """A string where strings are wanted: lists of thousands of those need no path for each."""
    return type(item) is str and type(wanted) is inspect.StrType


def _words(option: inspect.Type) -> str:
    option = option.type if isinstance(option, inspect.Metadata) else option
    return _WORDS.get(type(option), "something else")
