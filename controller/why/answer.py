"""The whole answer to "why does it not get on?", made from a picture and from nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controller.jobflow.phase import phase_of
from controller.jobflow.progress import progress_of
from controller.why.causes import Cause, Waiters, causes_of, waiters_of
from controller.why.entries import Entry, entries_of
from controller.why.estimate import Estimate, estimate_of
from controller.why.facts import Facts
from controller.why.signs import Sign, signs_of
from shared.api.jobflow import JobFlow
from shared.api.times import parse_time


@dataclass(frozen=True, slots=True)
class Answer:
    """Why a JobFlow is where it is."""

    jobflow: JobFlow
    now: datetime
    phase: str
    """As the controller would have it now."""
    created: datetime | None
    entries: Mapping[str, Entry]
    waiters: Waiters
    signs: tuple[Sign, ...]
    causes: tuple[Cause, ...]
    estimate: Estimate | None
    unread: tuple[str, ...]

    @property
    def completed(self) -> int:
        """Entries that were Completed."""
        return sum(entry.is_done for entry in self.entries.values())

    def causes_of(self, name: str) -> tuple[Cause, ...]:
        """Those of the causes that hold up one entry, that entry's own included."""
        if name not in self.waiters.order:
            return tuple(cause for cause in self.causes if name in cause.entries)
        bit = 1 << self.waiters.order.index(name)
        return tuple(
            cause
            for cause in self.causes
            if name in cause.entries or any(self.waiters.all.get(each, 0) & bit for each in cause.entries)
        )


def answer(facts: Facts, entry: str | None = None) -> Answer:
    """Judge the picture. With `entry`, the estimate is when that one may end."""
    progress = progress_of(facts.seen)
    entries = entries_of(facts)
    waiters = waiters_of(entries)
    causes = causes_of(entries, waiters)
    needed = entries if entry is None else _needed(entries, entry)
    return Answer(
        jobflow=facts.jobflow,
        now=facts.now,
        phase=str(phase_of(facts.seen, progress)),
        created=parse_time(facts.jobflow.metadata.creation_timestamp),
        entries=entries,
        waiters=waiters,
        signs=signs_of(facts, progress, entries),
        causes=causes,
        estimate=estimate_of(facts, needed, [it for it in causes if not needed.keys().isdisjoint(it.entries)]),
        unread=tuple(facts.unread),
    )


def _needed(entries: Mapping[str, Entry], name: str) -> dict[str, Entry]:
    """An entry, and all that it waits for, directly or not."""
    found = {name: entries[name]}
    looking = [name]
    while looking:
        for target in entries[looking.pop()].waits_for:
            if target in entries and target not in found:
                found[target] = entries[target]
                looking.append(target)
    return found
