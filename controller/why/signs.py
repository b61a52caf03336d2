"""Say what concerns a JobFlow as a whole: that it is done, goes, cannot be run, or that no controller seems to care."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.jobflow.phase import phase_of
from controller.jobflow.plan import starts
from controller.jobflow.progress import Progress
from controller.why.entries import BROKEN, Entry
from controller.why.facts import Facts, entered
from controller.why.objects import WholeJob, WholeJobFlow
from controller.why.words import counted, length, listed
from shared.api.job import JobPhase
from shared.api.jobflow import Phase
from shared.api.lease import Lease
from shared.api.times import parse_time

PATIENCE: Final = timedelta(seconds=30)
"""How long a controller that is well may take to act, a change of leaders included."""

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer with which Kubernetes keeps an owner until what it owns is gone."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something about the JobFlow as a whole."""

    kind: str
    text: str
    since: datetime | None = None


def signs_of(facts: Facts, progress: Progress, entries: Mapping[str, Entry]) -> tuple[Sign, ...]:
    """All there is to say, the gravest first."""
    return (
        *_deleting(facts),
        *_spec(facts),
        *_idle(facts, progress, entries),
        *_ended(facts, progress, entries),
    )


def _deleting(facts: Facts) -> Iterator[Sign]:
    jobflow = facts.jobflow
    if not jobflow.metadata.is_deleting:
        return
    held = (jobflow.metadata.finalizers or ()) if isinstance(jobflow, WholeJobFlow) else ()
    text = "It is being deleted"
    jobs = sorted(facts.seen.jobs.values(), key=lambda job: job.name)
    if FOREGROUND in held and jobs:
        told = [f"{job.name}{_held(job)}" for job in jobs]
        text += f", and stays until {'its Job is' if len(jobs) == 1 else 'its Jobs are'} gone: {listed(told)}"
    others = [finalizer for finalizer in held if finalizer != FOREGROUND or not jobs]
    if others:
        text += f"; whoever put {listed(others)} among its finalizers has to take that away"
    yield Sign("Deleting", text, parse_time(jobflow.metadata.deletion_timestamp))


def _held(job: object) -> str:
    if not isinstance(job, WholeJob):
        return ""
    finalizers = listed(job.metadata.finalizers or ())
    held = f", held by its finalizers {finalizers}" if finalizers else ""
    return f" ({job.phase or JobPhase.PENDING}{held})"


def _spec(facts: Facts) -> Iterator[Sign]:
    if facts.seen.faults:
        text = "Its spec cannot be run, and a spec does not change: " + "; ".join(facts.seen.faults)
        yield Sign("SpecInvalid", text + ". Delete the JobFlow and create it anew as it should be")


def _ended(facts: Facts, progress: Progress, entries: Mapping[str, Entry]) -> Iterator[Sign]:
    phase = phase_of(facts.seen, progress)
    ended = parse_time(facts.jobflow.status.completion_time)
    begun = parse_time(facts.jobflow.status.start_time)
    took = f", {length((ended - begun).total_seconds())} after it began" if begun and ended else ""
    if phase is Phase.SUCCEED:
        yield Sign("Succeed", f"It has succeeded{took}", ended)
    elif phase is Phase.FAILED:
        broken = [f"{entry.name} ({entry.state})" for entry in entries.values() if entry.state in BROKEN]
        never = sum(not entry.has_started for entry in entries.values())
        rest = f"; {counted(never, 'entry', 'entries')} will never start" if never else ""
        because = f" because of {listed(broken)}" if broken else ""
        yield Sign("Failed", f"It has failed{took}{because}{rest}. To run it again, delete and create it anew", ended)


def _idle(facts: Facts, progress: Progress, entries: Mapping[str, Entry]) -> Iterator[Sign]:
    """What a controller would have done by now. A Lease that has run out is told as well, for it may be why."""
    omissions = list(_omissions(facts, progress, entries))
    leases = [text for lease in facts.leases or () if (text := _lapsed(lease, facts.now))]
    live = bool(facts.leases) and len(leases) < len(facts.leases or ())
    if facts.jobflow.phase in (Phase.SUCCEED, Phase.FAILED) and not omissions:
        return
    if not omissions and (live or not leases):
        return
    if live:
        leases = ["some controller holds its Lease: see its log, and whether it may watch this namespace"]
    elif facts.leases is not None and not facts.leases:
        leases = ["there is no Lease of a controller"]
    since = min((since for _, since in omissions if since), default=None)
    text = "No controller seems to be at work on it: " + "; ".join([*(text for text, _ in omissions), *leases])
    yield Sign("NoController", text, since)


def _omissions(facts: Facts, progress: Progress, entries: Mapping[str, Entry]) -> Iterator[tuple[str, datetime | None]]:
    jobflow, now = facts.jobflow, facts.now
    made = parse_time(jobflow.metadata.creation_timestamp)
    if not jobflow.phase:
        if made and now - made > PATIENCE:
            yield "it has never been looked at", made
        return
    observed, generation = jobflow.status.observed_generation, jobflow.metadata.generation
    if observed is not None and observed < generation:
        yield f"its spec is of generation {generation}, and the status tells of {observed}", None
    late = [
        (entry.ready_since, create.flow)
        for create in starts(facts.seen, progress)
        if (entry := entries[create.flow]).ready_since and now - entry.ready_since > PATIENCE
    ]
    if late:
        yield (
            f"{listed([name for _, name in late])} could have started long ago",
            min(since for since, _ in late if since),
        )
    phase = phase_of(facts.seen, progress)
    changed = [moment for job in facts.seen.jobs.values() if (moment := entered(job))]
    if phase != jobflow.phase and changed and now - max(changed) > PATIENCE:
        yield f"by its Jobs it should be at {phase}, and is said to be at {jobflow.phase}", max(changed)


def _lapsed(lease: Lease, now: datetime) -> str:
    """How a Lease says that nobody holds it; empty where somebody does."""
    renewed, lasts = parse_time(lease.record.renew_time), lease.record.lease_duration_seconds or 0
    if renewed is None or now <= renewed + timedelta(seconds=lasts) + PATIENCE:
        return ""
    ago = length((now - renewed).total_seconds())
    who = f"by {lease.holder}" if lease.holder else "and given up then"
    return f"the Lease {lease.key} was last renewed {ago} ago, {who}"
