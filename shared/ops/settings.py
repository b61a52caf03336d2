"""A program's settings: one frozen model, filled from flags, then the environment, then its own defaults.

A program declares a subclass of `Settings`. Each field is a flag (`kube_api_qps` is `--kube-api-qps`) and an
environment variable (`JOBFLOW_KUBE_API_QPS`), and the line below the field is its help:

    class ControllerSettings(Settings):
        \"\"\"Run the JobFlow controller.\"\"\"

        workers: Positive = 1
        \"\"\"How many JobFlows are worked on at the same time.\"\"\"

`read_settings` ends the program with one line and exit code 2 where a flag is unknown or a value is wrong.
"""

import argparse
import difflib
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic.fields import FieldInfo

from shared import __version__
from shared.api.times import format_duration, parse_duration
from shared.ops.addresses import Address, parse_address

PREFIX: Final = "JOBFLOW_"
"""What the environment variables of all flags begin with."""


EPILOG: Final = "Each flag may be given as the environment variable in its brackets instead; the flag wins."


class Metavar(str):
    """What stands for the value of a flag in `--help`."""


class ShortFlag(str):
    """A second, short spelling of a flag, such as `-v`."""


def _duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    length = parse_duration(value)
    if length is None:
        raise ValueError("must be a duration such as 500ms, 30s, 10m or 1h30m")
    return length.total_seconds()


def _address(value: object) -> object:
    return parse_address(value) if isinstance(value, str) else value


def _readable_file(value: object) -> object:
    path = Path(str(value)).expanduser()
    if path.is_dir():
        raise ValueError("is a directory; a file is needed")
    if not path.is_file():
        raise ValueError("no such file")
    return path


Duration = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    BeforeValidator(_duration),
    PlainSerializer(lambda seconds: format_duration(timedelta(seconds=seconds))),
    Metavar("DURATION"),
]
"""A length of time in seconds, written as in Go: `500ms`, `30s`, `10m`, `1h30m`."""

ListenAddress = Annotated[Address, BeforeValidator(_address), PlainSerializer(str), Metavar("HOST:PORT")]
"""Where to listen: `:11251`, `127.0.0.1:0`."""

ExistingFile = Annotated[Path, BeforeValidator(_readable_file), Metavar("FILE")]
"""A file that must be there."""

Port = Annotated[int, Field(ge=0, le=65535), Metavar("PORT")]
Positive = Annotated[int, Field(ge=1, le=1_000_000), Metavar("N")]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), Metavar("N")]


class Settings(BaseModel):
    """What every program's settings have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=False)

    verbosity: Annotated[int, Field(ge=0, le=10, alias="v"), ShortFlag("-v"), Metavar("N")] = 2
    """How much is logged: 0 for trouble alone, 2 for what an operator wants to know, 4 for every decision."""


S = TypeVar("S", bound=Settings)


def read_settings(kind: type[S], program: str, argv: Sequence[str], environ: Mapping[str, str]) -> S:
    """The settings that flags and environment say; a flag wins over its variable.

    Ends the process as every command does: with code 0 after `--help` and `--version`, and with code 2 and one line
    on standard error where something is wrong.
    """
    parser = _parser(kind, program)
    given, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(_unknown(unknown[0], [option for action in parser._actions for option in action.option_strings]))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, info in kind.model_fields.items():
        wire, flag, variable = info.alias or name, _flag(name, info), _variable(name, info)
        written = getattr(given, wire)
        if written is not None:
            values[wire], origins[wire] = written, flag
        elif environ.get(variable):
            values[wire], origins[wire] = environ[variable], variable
    try:
        return kind.model_validate(values)
    except ValidationError as wrong:
        parser.error(_complaint(wrong, values, origins))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, without the usage that argparse puts before it."""
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(2)


def _parser(kind: type[Settings], program: str) -> _Parser:
    parser = _Parser(
        prog=program,
        usage=f"{program} [FLAGS]",
        description=inspect.cleandoc(kind.__doc__ or ""),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="Show this text and end.")
    parser.add_argument("--version", action="version", version=f"{program} {__version__}", help="Show the version.")
    for name, info in kind.model_fields.items():
        options = [extra for extra in info.metadata if isinstance(extra, ShortFlag)] + [_flag(name, info)]
        switch: dict[str, Any] = {"nargs": "?", "const": "true"} if info.annotation is bool else {}
        parser.add_argument(
            *options, dest=info.alias or name, metavar=_metavar(info), help=_help(name, info, kind), **switch
        )
    return parser


def _flag(name: str, info: FieldInfo) -> str:
    return "--" + (info.alias or name).replace("_", "-")


def _variable(name: str, info: FieldInfo) -> str:
    return PREFIX + (info.alias or name).upper()


def _metavar(info: FieldInfo) -> str:
    for extra in _extras(info):
        if isinstance(extra, Metavar):
            return extra
    return "true|false" if info.annotation is bool else "TEXT"


def _extras(info: FieldInfo) -> list[Any]:
    """The annotations of a field, those inside an optional type as well."""
    inner = [extra for part in get_args(info.annotation) for extra in getattr(part, "__metadata__", ())]
    return [*info.metadata, *inner]


def _help(name: str, info: FieldInfo, kind: type[Settings]) -> str:
    said = " ".join((info.description or "").split())
    if not info.is_required() and info.default is not None and info.default != "":
        default = kind.__pydantic_serializer__.to_python(kind.model_construct(), include={name})[name]
        said += f" Default: {str(default).lower() if isinstance(default, bool) else default}."
    return f"{said} [{_variable(name, info)}]".replace("%", "%%")


def _unknown(written: str, options: Sequence[str]) -> str:
    if not written.startswith("-"):
        return f"unexpected argument {written!r}"
    flag = written.partition("=")[0]
    near = difflib.get_close_matches(flag, options, n=1)
    return f"unknown flag {flag}" + (f", did you mean {near[0]}?" if near else "")


def _complaint(wrong: ValidationError, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """The first error in one line: where the value came from, what it is, what it should be."""
    first = wrong.errors(include_url=False)[0]
    if not first["loc"]:
        return _said(first["msg"])
    wire = str(first["loc"][0])
    if first["type"] == "missing":
        return f"--{wire.replace('_', '-')} is required (or set {PREFIX}{wire.upper()})"
    written = str(values[wire])
    shown = written if written.isprintable() else repr(written)
    return f"{origins[wire]}={shown}: {WORDS.get(first['type']) or _said(first['msg'])}"


WORDS: Final = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
}
"""What pydantic says to programmers, said to whoever starts the program."""


def _said(message: str) -> str:
    text = re.sub(r"^(Value error|Assertion failed), ", "", message)
    return re.sub(r"^Input should be ", "must be ", text).replace("\n", " ")
