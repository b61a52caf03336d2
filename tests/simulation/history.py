"""What happened, in order: the base of every judgement, what a failing run prints, and what tells two runs apart."""

import hashlib
from typing import NamedTuple

from tests.simulation.loop import BEGINNING


class Entry(NamedTuple):
    """One thing that happened."""

    at: float
    who: str
    what: str
    loud: bool
    """Worth a line for whoever reads a history; the rest, reads and deliveries, counts for its identity alone."""
    aside: str = ""
    """What is told when everything is to be told."""


class History:
    """All entries of one run."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def note(self, at: float, who: str, what: str, *, loud: bool = True, aside: str = "") -> None:
        """Something has happened."""
        self.entries.append(Entry(at, who, what, loud, aside))

    def digest(self) -> str:
        """Equal for identical histories alone."""
        text = "\n".join(f"{entry.at!r} {entry.who} {entry.what}" for entry in self.entries)
        return hashlib.sha256(text.encode()).hexdigest()

    def text(self, *, everything: bool = False) -> str:
        """For a person to read: seconds since the beginning, who, what."""
        return "\n".join(
            f"{entry.at - BEGINNING:9.3f}  {entry.who:<14} {entry.what}  {entry.aside if everything else ''}".rstrip()
            for entry in self.entries
            if entry.loud or everything
        )
