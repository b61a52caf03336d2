"""A state of the model: one JobFlow as it is stored, its Jobs, and what the controller remembers of them."""

from typing import NamedTuple

from shared.api.job import FINAL

NEVER = "never created"
GONE = "gone"


class Entry(NamedTuple):
    """One entry of the JobFlow."""

    job: str = NEVER
    """The phase of its Job, `NEVER` or `GONE`."""

    sight: str | None = None
    """The phase in which the controller last saw a Job that has gone, as long as it remembers that."""

    stored: str | None = None
    """What the stored status remembers of it."""

    completed: bool = False
    """A Job of this entry was Completed: the truth, whoever saw it."""

    broke: bool = False
    """A Job of this entry failed, was terminated, or went before it had finished: the truth as well."""

    @property
    def exists(self) -> bool:
        return self.job not in (NEVER, GONE)

    @property
    def is_lost_to_sight(self) -> bool:
        """It was stored that its Job exists and not how it ended, and the Job is gone unseen."""
        return self.job == GONE and self.sight not in FINAL and self.stored is not None and self.stored not in FINAL


class State(NamedTuple):
    """A state of one JobFlow of a given graph. The controller sees all of it but for the truths."""

    phase: str = ""
    """As it is stored."""

    entries: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        return f"{self.phase or 'no phase'}: " + "; ".join(
            f"{name} {entry.job or 'new'}"
            + (f", last seen {entry.sight or 'new'}" if entry.sight is not None else "")
            + (f", stored {entry.stored or 'new'}" if entry.stored is not None else "")
            for name, entry in zip("abcd", self.entries, strict=False)
        )

    def with_entry(self, number: int, entry: Entry) -> "State":
        return State(self.phase, (*self.entries[:number], entry, *self.entries[number + 1 :]))
