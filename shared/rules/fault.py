"""What a mistake in an object is: a `Fault`, told in the words of Kubernetes' own field errors.

The builders at the end (`required`, `invalid`, `duplicate`, ...) make one each of the kinds that Kubernetes knows
(package `k8s.io/apimachinery/pkg/util/validation/field`), with the same reason and the same wording, so that what a
user reads here looks like everything else that kubectl prints. `answer.py` decides how many of them are shown.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Final

LONGEST_VALUE: Final = 100
"""Characters of a wrong value that are repeated to the user; the middle of a longer one is left out."""


class FieldPath:
    """Where in an object something is: `SPEC / "flows" / 0 / "name"` prints as `spec.flows[0].name`.

    Paths never change; `/` makes a new one. `parts` are the keys and indexes, for whoever looks the place up again.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: "str | int | Key") -> None:
        self.parts = parts

    def __truediv__(self, part: str | int) -> "FieldPath":
        return FieldPath(*self.parts, part)

    def key(self, name: str) -> "FieldPath":
        """The value under a key that users choose: `spec.plugins[svc]`, as Kubernetes prints keys of maps."""
        return FieldPath(*self.parts, Key(name))

    def __str__(self) -> str:
        return "".join(
            f"[{part}]" if isinstance(part, int) else f"[{shown(part)}]" if isinstance(part, Key) else f".{part}"
            for part in self.parts
        ).removeprefix(".")

    def __repr__(self) -> str:
        return f"FieldPath({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldPath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Key(str):
    """A key that users choose, in a map: no field of the schema."""

    __slots__ = ()


METADATA: Final = FieldPath("metadata")
SPEC: Final = FieldPath("spec")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What a user may have meant by `value`: the most similar of `among`, looked for only if the fault is shown."""

    value: str
    among: Collection[str]


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake: where it is, of what kind, and what to do about it."""

    field: FieldPath | str
    reason: str
    """`FieldValueInvalid` and its like: the `reason` of a cause in a Kubernetes `Status`."""
    message: str
    """Without the path: `Duplicate value: "train"`."""
    rule: str = ""
    """The id of the rule that was broken, such as `names-are-unique`."""
    near: NearMiss | None = dataclass_field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(at: FieldPath, why: str = "") -> Fault:
    """Something must be given and is not."""
    return Fault(at, "FieldValueRequired", _because("Required value", why))


def invalid(at: FieldPath, value: object, why: str) -> Fault:
    """A value that cannot be; `why` says what it must be."""
    return Fault(at, "FieldValueInvalid", f"Invalid value: {quoted(value)}: {why}")


def type_invalid(at: FieldPath, value: object, why: str) -> Fault:
    """A value of the wrong type. Kubernetes prints these as it prints invalid ones, with a reason of their own."""
    return Fault(at, "FieldValueTypeInvalid", f"Invalid value: {quoted(value)}: {why}")


def duplicate(at: FieldPath, value: object) -> Fault:
    """A value that was there before and may be there once."""
    return Fault(at, "FieldValueDuplicate", f"Duplicate value: {quoted(value)}")


def not_found(at: FieldPath, value: str, why: str = "", *, among: Collection[str] = ()) -> Fault:
    """A name of something that is not there; one of `among` may have been meant."""
    near = NearMiss(value, among) if among else None
    return Fault(at, "FieldValueNotFound", _because(f"Not found: {quoted(value)}", why), near=near)


def not_supported(at: FieldPath, value: object, supported: Iterable[str]) -> Fault:
    """A word that is none of those that are known."""
    words = ", ".join(quoted(word) for word in supported)
    return Fault(at, "FieldValueNotSupported", f"Unsupported value: {quoted(value)}: supported values: {words}")


def forbidden(at: FieldPath, why: str) -> Fault:
    """Something that may not be done, or may not be there."""
    return Fault(at, "FieldValueForbidden", f"Forbidden: {why}")


def too_long(at: FieldPath, most: int, why: str = "") -> Fault:
    """More bytes than there is room for."""
    return Fault(at, "FieldValueTooLong", _because(f"Too long: may not be more than {most} bytes", why))


def too_many(at: FieldPath, count: int, most: int, of: str = "items") -> Fault:
    """More of something than may be."""
    return Fault(at, "FieldValueTooMany", f"Too many: {count}: must have at most {most} {of}")


def quoted(value: object) -> str:
    """A value as it is repeated to the user: text in quotes, one line, no more than `LONGEST_VALUE` of it."""
    if isinstance(value, str):
        return f'"{shown(value, escape=chr(34) + chr(92))}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return shown(str(value))
    return "an object" if isinstance(value, dict) else "a list"


def shown(text: str, escape: str = "") -> str:
    """Text on one line, without control characters, the middle left out where it is long."""
    if len(text) > LONGEST_VALUE:
        text = f"{text[: LONGEST_VALUE - 20]}...{text[-17:]}"
    if text.isprintable() and not any(mark in text for mark in escape):
        return text
    return "".join(_escaped(char) if char in escape or not char.isprintable() else char for char in text)


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def _because(words: str, why: str) -> str:
    return f"{words}: {why}" if why else words
