"""Say of each entry where it stands, and of each that has not started every single thing that keeps it from starting.

The reasons are complete and true: were all of them mended, the controller would start the entry, and while one of them
remains it does not. That is tested against `controller.jobflow.plan`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from controller.jobflow.explain import GONE, JOB_REFUSED, NAME_CONFLICT, NOT_OURS
from controller.jobflow.phase import phase_of
from controller.jobflow.plan import template_version
from controller.jobflow.progress import LOST, Progress, progress_of
from controller.jobflow.snapshot import Snapshot
from controller.why.facts import Facts, created, entered, said_by
from shared.api.job import JobPhase
from shared.api.jobflow import FINISHED, Flow, JobStatus
from shared.api.times import parse_time
from shared.flow.names import child_name

WAITING: Final = "Waiting"
"""State of an entry whose Job was never created, as in `status.conditions`."""

SUSPENDED: Final = frozenset({JobPhase.ABORTING, JobPhase.ABORTED})
BROKEN: Final = frozenset({JobPhase.FAILED, JobPhase.TERMINATED, LOST})
"""States that make the JobFlow fail."""


class Kind(StrEnum):
    """What may keep an entry from starting."""

    TARGET = "Target"
    TEMPLATE = "TemplateNotFound"
    CONFLICT = "JobNameConflict"
    REFUSED = "JobRefused"
    SPEC = "SpecInvalid"
    FINISHED = "JobFlowFinished"
    DELETING = "JobFlowDeleting"


OF_ALL: Final = frozenset({Kind.SPEC, Kind.FINISHED, Kind.DELETING})
"""Kinds that hold up every entry that has not started."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps an entry from starting."""

    kind: Kind
    text: str
    """What it is, such as that words "it waits:" could stand before it."""
    target: str = ""
    """The entry that is waited for, where it is one."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Where an entry of `spec.flows` stands."""

    name: str
    job: str
    state: str
    """`Waiting`, the phase of its Job (Pending where it has none yet), or `Lost`."""
    since: datetime | None
    targets: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()
    """Why it has not started. None for one that has, and for one that may start this very moment."""
    ready_since: datetime | None = None
    """When the last of what it depends on was done, for one that waits for no other."""
    says: str = ""
    """What its Job, or Volcano's scheduler, says of it."""
    pods: Mapping[str, int] | None = None
    """How many of its Pods are in which phase."""

    @property
    def is_done(self) -> bool:
        """It was Completed."""
        return self.state == JobPhase.COMPLETED

    @property
    def has_started(self) -> bool:
        """Its Job was created."""
        return self.state != WAITING

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The entries that it still waits for."""
        return tuple(reason.target for reason in self.reasons if reason.kind is Kind.TARGET)


def entries_of(facts: Facts) -> dict[str, Entry]:
    """Every entry, by name, in the order of `spec.flows`. Of one name that comes twice the first alone counts."""
    seen = facts.seen
    progress = progress_of(seen)
    records = {record.name: record for record in seen.jobflow.status.job_status_list}
    entries: dict[str, Entry] = {}
    for flow in seen.jobflow.flows:
        if flow.name in entries:
            continue
        job = child_name(seen.jobflow.name, flow.name)
        state = progress.states.get(flow.name)
        if state is None:
            entries[flow.name] = _unstarted(facts, progress, flow, job, records)
        else:
            entries[flow.name] = _started(facts, flow, job, state, records.get(job))
    return entries


def _started(facts: Facts, flow: Flow, name: str, state: str, record: JobStatus | None) -> Entry:
    job = facts.seen.jobs.get(name)
    pods: dict[str, int] = {}
    for task in (job.status.task_status_count or {}).values() if job else ():
        for phase, number in (task.phase or {}).items():
            pods[phase] = pods.get(phase, 0) + number
    says = said_by(job) if job else ""
    if state == LOST:
        says = NOT_OURS if name in facts.seen.strangers else facts.seen.absent.get(name, GONE)
    return Entry(
        flow.name,
        name,
        state or JobPhase.PENDING,
        _since(facts, name, state, record),
        flow.targets,
        says=": ".join(part for part in (says, facts.said.get(name, "")) if part),
        pods=pods or None,
    )


def _since(facts: Facts, name: str, state: str, record: JobStatus | None) -> datetime | None:
    job = facts.seen.jobs.get(name)
    if job and job.phase == state:
        return entered(job)
    if record is None:
        return None
    last = record.running_histories[-1] if record.running_histories else None
    return parse_time(record.end_timestamp or (last.start_timestamp if last else None))


def _unstarted(facts: Facts, progress: Progress, flow: Flow, job: str, records: Mapping[str, JobStatus]) -> Entry:
    reasons = tuple(_reasons(facts, progress, flow, job, records))
    ready = None
    if not any(reason.kind is Kind.TARGET for reason in reasons):
        ready = _ready_since(facts, flow, records)
    return Entry(flow.name, job, WAITING, None, flow.targets, reasons, ready)


def _reasons(
    facts: Facts, progress: Progress, flow: Flow, job: str, records: Mapping[str, JobStatus]
) -> Iterator[Reason]:
    seen = facts.seen
    yield from _of_the_whole(seen, progress)
    for target in dict.fromkeys(flow.targets):
        if target not in progress.completed:
            yield _target(facts, progress, target, records)
    template = seen.templates.get(flow.name)
    if template is None:
        yield Reason(Kind.TEMPLATE, f'JobTemplate "{flow.name}" does not exist; create it')
    problem = seen.problems.get(flow.name)
    if job in seen.strangers:
        stranger = facts.strangers.get(job)
        since = created(stranger) if stranger else None
        yield Reason(Kind.CONFLICT, f'a Job "{job}" exists that is not of this JobFlow; delete it', since=since)
    elif template and problem and problem.waits and problem.template_version == template_version(template):
        if problem.reason == NAME_CONFLICT:
            yield Reason(Kind.CONFLICT, f'a Job "{job}" exists that is not of this JobFlow; delete it')
        else:
            first = [
                event
                for event in facts.events
                if event.reason == JOB_REFUSED and f"{flow.name} waits: " in event.message
            ]
            since = parse_time(first[-1].first_seen) if first else None
            yield Reason(Kind.REFUSED, f"the API server refuses its Job: {problem.message}", since=since)


def _of_the_whole(seen: Snapshot, progress: Progress) -> Iterator[Reason]:
    phase = phase_of(seen, progress)
    if seen.faults:
        more = f" (and {len(seen.faults) - 1} more)" if len(seen.faults) > 1 else ""
        yield Reason(Kind.SPEC, f"the spec cannot be run: {seen.faults[0]}{more}")
    if seen.jobflow.metadata.is_deleting:
        since = parse_time(seen.jobflow.metadata.deletion_timestamp)
        yield Reason(Kind.DELETING, "the JobFlow is being deleted, and starts nothing any more", since=since)
    elif phase in FINISHED:
        since = parse_time(seen.jobflow.status.completion_time)
        yield Reason(Kind.FINISHED, f"the JobFlow is at {phase}, and starts nothing any more", since=since)


def _target(facts: Facts, progress: Progress, target: str, records: Mapping[str, JobStatus]) -> Reason:
    state = progress.states.get(target)
    if state is None:
        if facts.seen.faults and all(flow.name != target for flow in facts.jobflow.flows):
            return Reason(Kind.TARGET, f'"{target}", which no entry has for a name', target)
        return Reason(Kind.TARGET, f"{target} (not started)", target)
    job = child_name(facts.jobflow.name, target)
    since = _since(facts, job, state, records.get(job))
    return Reason(Kind.TARGET, f"{target} ({state or JobPhase.PENDING})", target, since)


def _ready_since(facts: Facts, flow: Flow, records: Mapping[str, JobStatus]) -> datetime | None:
    """When the last of what an entry depends on was Completed; the JobFlow's creation for one that depends on none."""
    moments = [parse_time(facts.jobflow.metadata.creation_timestamp)]
    for target in flow.targets:
        job = child_name(facts.jobflow.name, target)
        moments.append(_since(facts, job, JobPhase.COMPLETED, records.get(job)))
    known = [moment for moment in moments if moment]
    return max(known, default=None)
