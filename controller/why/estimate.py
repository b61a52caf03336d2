"""Say when a JobFlow may end: the path of entries that takes longest, and on what that rests.

An estimate is only as good as what it is made from, so that is part of it. A Job is taken to last as long as earlier
ones of its template did, their wait for Pods included; failing that as long as its template's `runningEstimate` says;
failing that as long as the other Jobs of the same JobFlow. What is held up by something that nobody can time is taken
to be mended this very moment, and the estimate says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from controller.why.causes import Cause
from controller.why.entries import OF_ALL, Entry
from controller.why.facts import Facts, created, run_of
from controller.why.words import entries as n_entries
from controller.why.words import listed
from shared.api.times import parse_time

NEWEST: Final = 10
"""Runs of a template that count, the newest: last year's data were smaller."""

HAND_OVER: Final = 0.05
"""Seconds from one Job's end to the next one's creation. So of equal ways the longer one counts."""


class Basis(StrEnum):
    """What an expected duration rests on, the best first."""

    RUNS = "runs of this template"
    DECLARED = "runningEstimate of its template"
    OTHERS = "the other Jobs of this JobFlow"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Expected:
    """How long the Job of an entry may last from its creation on; 0 where nothing is known."""

    seconds: float
    basis: Basis
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """An entry on the critical path."""

    entry: str
    state: str
    expected: Expected
    elapsed: float
    """Seconds since its Job was created."""

    @property
    def remaining(self) -> float:
        """Seconds that it may still take. One that takes longer than expected may end at any moment."""
        return max(0.0, self.expected.seconds - self.elapsed)

    @property
    def is_overdue(self) -> bool:
        """It has lasted longer than was expected."""
        return self.expected.basis is not Basis.NOTHING and self.elapsed > self.expected.seconds


@dataclass(frozen=True, slots=True)
class Estimate:
    """When the JobFlow may end."""

    path: tuple[Step, ...]
    """The entries, one after the other, that together take longest."""
    seconds: float
    """What all of them still take."""
    end: datetime
    at_least: bool
    """For some entry nothing is known, so it takes longer than this."""
    unknown: tuple[str, ...]
    """The entries for which nothing is known."""
    provided: tuple[str, ...]
    """What is taken to be mended at once, for else nobody can say."""
    basis: Mapping[Basis, int]
    """How many unfinished entries' durations rest on what."""

    @property
    def is_bound(self) -> bool:
        """It ends no sooner than this, and nobody knows how much later."""
        return self.at_least or bool(self.provided)


def estimate_of(facts: Facts, entries: Mapping[str, Entry], causes: Sequence[Cause]) -> Estimate | None:
    """The estimate; None for a JobFlow that has finished, or will not."""
    left = {name: entry for name, entry in entries.items() if not entry.is_done}
    if not left or any(reason.kind in OF_ALL for entry in left.values() for reason in entry.reasons):
        return None
    if any(cause.kind in ("Failed", "Terminated", "Lost") for cause in causes):
        return None
    expected = expectations(facts, entries)
    steps = {name: _step(facts, entry, expected[name]) for name, entry in left.items()}
    path = tuple(steps[name] for name in longest_path(left, {name: step.remaining for name, step in steps.items()}))
    seconds = sum(step.remaining for step in path)
    unknown = tuple(name for name in left if expected[name].basis is Basis.NOTHING)
    basis: dict[Basis, int] = {}
    for name in left:
        basis[expected[name].basis] = basis.get(expected[name].basis, 0) + 1
    provided = tuple(f"{listed(cause.entries)} ({cause.kind})" for cause in causes if cause.needs_somebody)
    end = facts.now + timedelta(seconds=seconds)
    return Estimate(path, seconds, end, bool(unknown), unknown, provided, basis)


def expectations(facts: Facts, entries: Mapping[str, Entry]) -> dict[str, Expected]:
    """How long each entry may last that is not done."""
    done = _done_here(facts)
    others = Expected(median(done), Basis.OTHERS, len(done)) if done else Expected(0.0, Basis.NOTHING)
    found: dict[str, Expected] = {}
    for name, entry in entries.items():
        if entry.is_done:
            continue
        runs = [run.seconds for run in facts.runs.get(name, ())[:NEWEST]]
        declared = facts.estimates.get(name)
        if runs:
            found[name] = Expected(median(runs), Basis.RUNS, len(runs))
        elif declared is not None:
            found[name] = Expected(declared, Basis.DECLARED)
        else:
            found[name] = others
    return found


def _done_here(facts: Facts) -> list[float]:
    """How long the Completed Jobs of this JobFlow took, those that are gone included."""
    took = {name: run.seconds for name, job in facts.seen.jobs.items() if (run := run_of(job))}
    for record in facts.jobflow.status.job_status_list:
        begun, ended = parse_time(record.start_timestamp), parse_time(record.end_timestamp)
        if record.name not in took and record.state == "Completed" and begun and ended:
            took[record.name] = max(0.0, (ended - begun).total_seconds())
    return list(took.values())


def _step(facts: Facts, entry: Entry, expected: Expected) -> Step:
    job = facts.seen.jobs.get(entry.job)
    begun = created(job) if job else None
    elapsed = (facts.now - begun).total_seconds() if begun else 0.0
    return Step(entry.name, entry.state, expected, max(0.0, elapsed))


def longest_path(entries: Mapping[str, Entry], remaining: Mapping[str, float]) -> list[str]:
    """The way through entries that depend on each other that takes longest in all."""
    import networkx  # noqa: PLC0415 - its import takes longer than all the rest, and --help needs none of it

    graph: networkx.DiGraph[str] = networkx.DiGraph()
    start = ""  # the name of no entry
    for name, entry in entries.items():
        for target in [target for target in entry.waits_for if target in entries] or [start]:
            graph.add_edge(target, name, weight=remaining[name] + HAND_OVER)
    return list(networkx.dag_longest_path(graph, weight="weight"))[1:]


def in_words(estimate: Estimate) -> list[str]:
    """What the estimate rests on, a sentence each."""
    told = []
    names = {
        Basis.RUNS: f"the median of up to {NEWEST} earlier runs of the same template",
        Basis.DECLARED: "what the template's runningEstimate says",
        Basis.OTHERS: "the median of this JobFlow's finished Jobs, for no run of these templates is known yet",
    }
    for basis, words in names.items():
        if number := estimate.basis.get(basis, 0):
            told.append(f"{n_entries(number)}: {words}")
    if estimate.unknown:
        number = len(estimate.unknown)
        told.append(
            f"{n_entries(number)}: nothing, for no run of {'its' if number == 1 else 'their'} "
            f"{'template' if number == 1 else 'templates'} has been seen yet ({listed(estimate.unknown)})"
        )
    overdue = [step.entry for step in estimate.path if step.is_overdue]
    if overdue:
        told.append(f"{listed(overdue)} has lasted longer than expected, and may end at any moment or not")
    if estimate.provided:
        told.append(f"it takes for granted that somebody mends at once: {listed(estimate.provided)}")
    return told
