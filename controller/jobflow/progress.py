"""Say how far each entry of a JobFlow has come.

What is known comes from four places, the first that speaks counting: the Job itself, the last sight of a Job that has
gone, what the stored status remembers, and what the existence of a later Job proves. An entry that was Completed once
stays Completed, whatever becomes of its Job.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from controller.jobflow.snapshot import Snapshot
from shared.api.job import FINAL, JobPhase
from shared.api.jobflow import JobFlow
from shared.flow.names import child_name

LOST: Final = "Lost"
"""The state of a Job that was created and vanished before anyone saw it in a final phase. No phase of Volcano's."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entries are in which state; those whose Job is not created yet are counted in `total` alone."""

    counts: Mapping[str, int]
    total: int

    def any(self, *states: str) -> bool:
        """Some entry's Job is in one of `states`."""
        return any(self.counts.get(state, 0) for state in states)

    def all(self, state: str) -> bool:
        """Every entry's Job is in `state`, and there is at least one."""
        return self.total > 0 and self.counts.get(state, 0) == self.total


@dataclass(frozen=True)
class Progress:
    """The state of every entry whose Job was ever created.

    A state is a phase of Volcano's, empty for a Job that its controller has not seen yet, or `LOST`.
    """

    states: Mapping[str, str]
    """By entry name."""

    completed: frozenset[str]
    """Names of the entries that were Completed."""

    total: int

    @cached_property
    def tally(self) -> Tally:
        """The states, counted."""
        return Tally(Counter(self.states.values()), self.total)


def progress_of(seen: Snapshot) -> Progress:
    """Say which entries were started, and how far each has come."""
    jobflow = seen.jobflow
    remembered = {entry.name: entry.state for entry in jobflow.status.job_status_list}
    names = {flow.name: child_name(jobflow.name, flow.name) for flow in jobflow.flows}
    states: dict[str, str] = {}
    for flow, name in names.items():
        state = _state(seen, name, remembered)
        if state is not None:
            states[flow] = state
    for flow in _proven_complete(jobflow, states):
        if names[flow] not in seen.jobs and states.get(flow) not in FINAL:
            states[flow] = JobPhase.COMPLETED
    completed = frozenset(flow for flow, state in states.items() if state == JobPhase.COMPLETED)
    return Progress(states, completed, len(jobflow.flows))


def advanced(before: Progress, states: Mapping[str, str]) -> Progress:
    """`before`, now that these entries' own Jobs are seen in these states; what was Completed is so still."""
    completed = [flow for flow, state in states.items() if state == JobPhase.COMPLETED]
    return Progress({**before.states, **states}, before.completed.union(completed), before.total)


def unaccounted(seen: Snapshot) -> list[str]:
    """Names of Jobs that were created, are not to be seen, and were in no final phase when they last were.

    A cache may lag behind, so only a live read can tell whether they are lost. Nothing is lost from a JobFlow that is
    being deleted: its Jobs go with it.
    """
    if seen.jobflow.metadata.is_deleting:
        return []
    known = {entry.name: entry.state for entry in seen.jobflow.status.job_status_list}
    for name, job in seen.departed.items():
        if known.get(name) not in FINAL:
            known[name] = job.phase
    vanished = [name for name, state in known.items() if name not in seen.jobs and state not in FINAL and state != LOST]
    if not vanished:
        return []
    completed = {child_name(seen.jobflow.name, flow) for flow in progress_of(seen).completed}
    return [name for name in vanished if name not in completed]


def _state(seen: Snapshot, name: str, remembered: Mapping[str, str]) -> str | None:
    """The state of one Job; None if it was never created."""
    before = remembered.get(name)
    if before == JobPhase.COMPLETED:
        return before
    if job := seen.jobs.get(name):
        return job.phase
    gone = seen.departed.get(name)
    if gone and gone.phase in FINAL:
        return gone.phase
    if before in FINAL:
        return before
    if name in seen.absent:
        return LOST
    return before if gone is None else gone.phase


def _proven_complete(jobflow: JobFlow, states: Mapping[str, str]) -> Iterable[str]:
    """Entries that are not known Completed, and that something which was started runs after, directly or not.

    A Job is only ever created after all that it depends on was Completed, so its existence is the proof. It is none
    where somebody has changed the spec (`metadata.generation` counts that): the Job may have depended on something else
    when it was created.
    """
    if jobflow.metadata.generation > 1:
        return ()
    targets = {flow.name: flow.targets for flow in jobflow.flows}
    done = {flow for flow, state in states.items() if state == JobPhase.COMPLETED}
    proven: set[str] = set()
    waiting = [flow for flow in states if not done.issuperset(targets[flow])]
    while waiting:
        for target in targets[waiting.pop()]:
            if target in targets and target not in done and target not in proven:
                proven.add(target)
                waiting.append(target)
    return proven
