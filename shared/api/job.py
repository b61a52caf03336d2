"""The Volcano Job, as far as a JobFlow looks at it, and the phases that Volcano's Job controller gives it."""

from enum import StrEnum

from msgspec import Struct

from shared.api.jobflow import TaskPhases
from shared.api.meta import Named


class JobPhase(StrEnum):
    """`status.state.phase` of a Volcano Job. A Job that its controller has not seen yet has none."""

    PENDING = "Pending"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


FINAL = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})
"""Phases that a Job does not leave (an Aborted one may be resumed)."""


class JobState(Struct, frozen=True, gc=False, rename="camel"):
    """`status.state` of a Job."""

    phase: str = ""
    last_transition_time: str | None = None


class JobCondition(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `status.conditions` of a Job: a phase that it entered, and when; the newest is last."""

    status: str = ""
    last_transition_time: str | None = None


class JobRunStatus(Struct, frozen=True, gc=False, rename="camel"):
    """`status` of a Job."""

    state: JobState = JobState()
    conditions: tuple[JobCondition, ...] | None = None
    retry_count: int = 0
    running_duration: str | None = None
    task_status_count: dict[str, TaskPhases] | None = None


class JobLimits(Struct, frozen=True, gc=False, rename="camel"):
    """What of a Job's `spec` matters to whoever watches it."""

    ttl_seconds_after_finished: int | None = None


class Job(Named, frozen=True, gc=False):
    """`batch.volcano.sh/v1alpha1` Job."""

    spec: JobLimits = JobLimits()
    status: JobRunStatus = JobRunStatus()

    @property
    def phase(self) -> str:
        """`status.state.phase`, empty before its controller has seen it."""
        return self.status.state.phase

    @property
    def owner_uid(self) -> str:
        """The uid of the controlling owner, empty where nobody controls this Job."""
        owner = self.metadata.controller
        return owner.uid if owner else ""
