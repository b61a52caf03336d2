"""Decide what is next for a Job: a new status, its deletion, waiting, or nothing.

The status is what Volcano's Job controller writes (names and order of the writes are facts of its API): Pending when it
first sees the Job, Running, then Completed or Failed, and after that a second write in which the version is one higher
and `runningDuration` tells the time from the Job's creation. A finished Job is deleted once its
`ttlSecondsAfterFinished` has passed. Jobs in phases that this player does not play (Aborting, Restarting, ...) are left
alone. All is decided from the Job as it is stored, so that a player can be stopped and started again.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from devcluster.player.script import read_script
from shared.api.meta import Key, ObjectMeta
from shared.api.times import format_duration, format_time, parse_time

Status = dict[str, Any]

PENDING, RUNNING, COMPLETED, FAILED, TERMINATED = "Pending", "Running", "Completed", "Failed", "Terminated"

# What the pods of a Job are doing in each phase: the field that counts them, and the pods' own phase.
PODS = {PENDING: ("pending", "Pending"), RUNNING: ("running", "Running"), COMPLETED: ("succeeded", "Succeeded")}
COUNTS = ("pending", "running", "succeeded", "failed")


class Container(msgspec.Struct, frozen=True):
    """A container, as far as it steers the player."""

    command: list[str] | None = None
    args: list[str] | None = None


class PodSpec(msgspec.Struct, frozen=True):
    """`spec` of a pod template."""

    containers: list[Container] | None = None


class PodTemplate(msgspec.Struct, frozen=True):
    """`template` of a task."""

    spec: PodSpec = PodSpec()


class Task(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of `spec.tasks`."""

    name: str = ""
    replicas: int = 1  # as Volcano's mutating webhook would leave it
    template: PodTemplate = PodTemplate()


class JobSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a Job."""

    min_available: int = 0
    tasks: list[Task] | None = None
    ttl_seconds_after_finished: int | None = None


class PlayedJob(msgspec.Struct, frozen=True):
    """`batch.volcano.sh/v1alpha1` Job, as far as it is played."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: Status = {}

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.key

    @property
    def phase(self) -> str:
        """`status.state.phase`, empty for a Job that nobody has seen yet."""
        phase = (self.status.get("state") or {}).get("phase")
        return phase if isinstance(phase, str) else ""

    @property
    def since(self) -> datetime | None:
        """When the Job entered its phase, to the second; where the status does not say, when it was created."""
        told = parse_time(str((self.status.get("state") or {}).get("lastTransitionTime") or ""))
        return told or parse_time(self.metadata.creation_timestamp)


@dataclass(frozen=True, slots=True)
class Rules:
    """How Jobs are played."""

    run_seconds: float = 0.0
    """How long a Job runs whose commands do not say."""

    pending_seconds: float = 0.0
    """How long a Job is Pending."""

    speed: float = 1.0
    """How many times faster than their commands say Jobs run; it does not change the two above."""

    brief: bool = False
    """Save writes: a Job is written Running at once (not at all if it takes no time), and its end is one write."""


@dataclass(frozen=True, slots=True)
class Write:
    """Store this status now."""

    status: Status


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete the Job, its dependents first: its time to live is over."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again after so many seconds."""

    seconds: float


Step = Write | Remove | Wait


def next_status(job: PlayedJob, now: datetime, rules: Rules, since: datetime | None = None) -> Status | None:
    """Return the status that is due now, None if none is."""
    step = next_step(job, now, rules, since)
    return step.status if isinstance(step, Write) else None


def next_step(job: PlayedJob, now: datetime, rules: Rules, since: datetime | None = None) -> Step | None:
    """Return what is to be done about a Job, None if nothing ever is unless it changes.

    `since` is when it entered its phase, for a player that remembers it more exactly than to the second.
    """
    step = STEPS.get(job.phase)
    if step is None or job.metadata.is_deleting:
        return None
    return step(job, now, rules, since or job.since or now)


def _from_nothing(job: PlayedJob, now: datetime, rules: Rules, _: datetime) -> Step:
    if not rules.brief:
        return Write(_entered(job, (PENDING,), now))
    seconds, end = _run_of(job, rules)
    if seconds > 0:
        return Write(_entered(job, (PENDING, RUNNING), now))
    return Write(_settled(job, _entered(job, (PENDING, RUNNING, end), now), now))


def _from_pending(job: PlayedJob, now: datetime, rules: Rules, since: datetime) -> Step:
    return _after(rules.pending_seconds, since, now) or Write(_entered(job, (RUNNING,), now))


def _from_running(job: PlayedJob, now: datetime, rules: Rules, since: datetime) -> Step | None:
    seconds, end = _run_of(job, rules)
    if seconds == math.inf:
        return None
    if wait := _after(seconds, since, now):
        return wait
    status = _entered(job, (end,), now)
    return Write(_settled(job, status, now) if rules.brief else status)


def _from_final(job: PlayedJob, now: datetime, _: Rules, since: datetime) -> Step | None:
    if "runningDuration" not in job.status:
        return Write(_settled(job, job.status, job.since or since))
    if job.spec.ttl_seconds_after_finished is None or job.since is None:
        return None
    return _after(job.spec.ttl_seconds_after_finished, job.since, now) or Remove()


# What is next in each phase. A Job in any other phase belongs to somebody else.
STEPS: Mapping[str, Callable[[PlayedJob, datetime, Rules, datetime], Step | None]] = {
    "": _from_nothing,
    PENDING: _from_pending,
    RUNNING: _from_running,
    COMPLETED: _from_final,
    FAILED: _from_final,
    TERMINATED: _from_final,
}


def _run_of(job: PlayedJob, rules: Rules) -> tuple[float, str]:
    """Return how long the Job runs, and the phase in which it ends."""
    containers = [one for task in job.spec.tasks or () for one in task.template.spec.containers or ()]
    script = read_script([*(one.command or ()), *(one.args or ())] for one in containers)
    seconds = rules.run_seconds if script.seconds is None else script.seconds / rules.speed
    return seconds, FAILED if script.fails else COMPLETED


def _after(seconds: float, since: datetime, now: datetime) -> Wait | None:
    left = seconds - (now - since).total_seconds()
    return Wait(left) if left > 0 else None


def _entered(job: PlayedJob, phases: tuple[str, ...], now: datetime) -> Status:
    """Return the status after the Job has entered these phases one after the other."""
    at, phase = format_time(now), phases[-1]
    counted, pods = PODS.get(phase, ("failed", "Failed"))
    tasks = [(task.name or f"default{i}", task.replicas) for i, task in enumerate(job.spec.tasks or ())]
    total = sum(replicas for _, replicas in tasks)
    conditions = [*(job.status.get("conditions") or ()), *({"status": one, "lastTransitionTime": at} for one in phases)]
    return {
        **{name: value for name, value in job.status.items() if name not in COUNTS},
        "state": {"phase": phase, "lastTransitionTime": at},
        "conditions": conditions,
        **_counts({"minAvailable": job.spec.min_available or total, counted: total}),
        "taskStatusCount": {name: {"phase": {pods: replicas}} for name, replicas in tasks if replicas},
    }


def _settled(job: PlayedJob, status: Status, ended: datetime) -> Status:
    """Return the status of a finished Job after its controller has cleaned up behind it."""
    created = parse_time(job.metadata.creation_timestamp) or ended
    return {
        **{name: value for name, value in status.items() if name != "controlledResources"},
        "version": status.get("version", 0) + 1,
        "runningDuration": format_duration(max(ended.replace(microsecond=0) - created, timedelta(0))),
    }


def _counts(numbers: dict[str, int]) -> Status:
    return {name: number for name, number in numbers.items() if number}
