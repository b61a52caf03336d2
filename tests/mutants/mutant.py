"""A mutant: a text of the programs, what is put in its place, and the test that has to fail then."""

from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """One change of one file; `old` is there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """A mistake. More than one edit where what is left out is masked by something else, which goes as well."""

    name: str
    why: str
    """What is wrong with it, in a sentence."""
    killer: str
    """The test, as pytest names it."""
    edits: tuple[Edit, ...]


def mutant(name: str, why: str, killer: str, file: str, old: str, new: str, *more: Edit) -> Mutant:  # noqa: PLR0917 - a row of a table
    """A mistake in one place, and whatever else has to go with it."""
    return Mutant(name, why, killer, (Edit(file, old, new), *more))
