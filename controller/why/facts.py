"""The picture that an answer is made from, and what can be read off it directly: moments, lengths, told refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from controller.jobflow.explain import JOB_REFUSED, NAME_CONFLICT
from controller.jobflow.snapshot import Snapshot
from controller.why.objects import Event, WholeJob
from shared.api.job import Job, JobPhase
from shared.api.jobflow import JobFlow
from shared.api.lease import Lease
from shared.api.names import CREATED_BY_JOBTEMPLATE
from shared.api.times import parse_duration, parse_time


class Run(NamedTuple):
    """One Job of a template that Completed: how long that took from its creation on, and when it ended."""

    seconds: float
    ended: datetime


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was read. Where something could not be, it is empty, and `unread` says so."""

    seen: Snapshot
    """As the controller would see it, live. Refusals that the status tells of stand for the controller's memory."""

    strangers: Mapping[str, Job] = field(default_factory=dict)
    """Jobs of somebody else under names of this JobFlow's, by name."""

    runs: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    """What is known of earlier runs, by template, the newest first."""

    estimates: Mapping[str, float] = field(default_factory=dict)
    """Seconds that `runningEstimate` of a template says."""

    events: Sequence[Event] = ()
    """Events of the JobFlow, the newest first."""

    said: Mapping[str, str] = field(default_factory=dict)
    """What Volcano's scheduler or a Job's last warning says of a Job, by name, where that was asked for."""

    leases: Sequence[Lease] | None = None
    """The controller's Leases; None where they could not be read."""

    unread: Sequence[str] = ()
    """What could not be read, in a sentence each."""

    @property
    def jobflow(self) -> JobFlow:
        """The JobFlow."""
        return self.seen.jobflow

    @property
    def now(self) -> datetime:
        """When all this was so."""
        return self.seen.now


def entered(job: Job) -> datetime | None:
    """When a Job came to the phase that it is in."""
    times = [it.last_transition_time for it in job.status.conditions or () if it.status == job.phase]
    return parse_time((times[-1] if times else None) or job.status.state.last_transition_time) or created(job)


def created(job: Job) -> datetime | None:
    """When a Job was created."""
    return parse_time(job.metadata.creation_timestamp)


def run_of(job: Job) -> Run | None:
    """How long a Completed Job took, its wait for Pods included. None where that cannot be told."""
    if job.phase != JobPhase.COMPLETED:
        return None
    begun, ended = created(job), entered(job)
    if begun and ended and ended > begun:
        return Run((ended - begun).total_seconds(), ended)
    took = parse_duration(job.status.running_duration)
    if took is None and begun and ended:
        took = ended - begun
    return Run(max(0.0, took.total_seconds()), ended) if took is not None and ended else None


def runs_by_template(namespace: str, jobs: Sequence[Job]) -> dict[str, list[Run]]:
    """Earlier runs by the template that they were made from, the newest first."""
    runs: dict[str, list[Run]] = {}
    for job in jobs:
        template = (job.metadata.annotation(CREATED_BY_JOBTEMPLATE) or "").removeprefix(f"{namespace}.")
        if template and (run := run_of(job)):
            runs.setdefault(template, []).append(run)
    for each in runs.values():
        each.sort(key=lambda run: run.ended, reverse=True)
    return runs


def tells_refusals(jobflow: JobFlow) -> bool:
    """The status may tell of refusals: that or something graver is its reason."""
    return jobflow.status.state.reason in (JOB_REFUSED, NAME_CONFLICT)


def refusals_told(jobflow: JobFlow) -> dict[str, str]:
    """The API server's words for each entry whose Job it refused, as far as `status.state.message` tells them."""
    return refusals_in(jobflow.status.state.message or "", jobflow) if tells_refusals(jobflow) else {}


def refusals_in(message: str, jobflow: JobFlow) -> dict[str, str]:
    """The refusals that a message of the controller tells of: `get waits: exceeded quota; clean waits: denied`."""
    names = [flow.name for flow in jobflow.flows]
    begins = sorted((at, name) for name in names if (at := _place(message, name)) >= 0)
    told: dict[str, str] = {}
    for (at, name), (end, _) in zip(begins, [*begins[1:], (len(message), "")], strict=True):
        words = message[at + len(name) + len(_WAITS) : end].rstrip("; ")
        if not words.startswith(_OTHERS):
            told[name] = words.split("; and ")[0] if end == len(message) and words.endswith(" more") else words
    return told


_WAITS = " waits: "
_OTHERS = ("JobTemplate ", "a Job ")
"""How the words for other matters than refusals begin (`controller.jobflow.explain`)."""


def _place(message: str, name: str) -> int:
    """Where what `message` says of an entry begins; -1 where it says nothing."""
    if message.startswith(name + _WAITS):
        return 0
    at = message.find(f"; {name}{_WAITS}")
    return at + 2 if at >= 0 else -1


def said_by(job: Job) -> str:
    """What the Job's own status says of its phase."""
    if not isinstance(job, WholeJob):
        return ""
    state = job.status.state
    return ": ".join(part for part in (state.reason, " ".join(state.message.split())) if part)
