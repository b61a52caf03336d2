"""Objects as the command reads them: those of `shared.api`, with what only a person wants to know of them.

They are the same types to whatever decides, so the snapshots made of them are the controller's own.
"""

from msgspec import Struct

from shared.api.job import Job, JobRunStatus, JobState
from shared.api.jobflow import JobFlow
from shared.api.meta import Named, ObjectMeta


class Meta(ObjectMeta, frozen=True, gc=False, rename="camel"):
    """ObjectMeta with what holds a deletion up."""

    finalizers: tuple[str, ...] | None = None


class SaidState(JobState, frozen=True, gc=False, rename="camel"):
    """`status.state` of a Job, with what Volcano says of it."""

    reason: str = ""
    message: str = ""


class SaidStatus(JobRunStatus, frozen=True, gc=False, rename="camel"):
    """`status` of a Job."""

    state: SaidState = SaidState()


class WholeJob(Job, frozen=True, gc=False):
    """A Job."""

    metadata: Meta = Meta()
    status: SaidStatus = SaidStatus()


class WholeJobFlow(JobFlow, frozen=True, gc=False):
    """A JobFlow."""

    metadata: Meta = Meta()


class Series(Struct, frozen=True, gc=False, rename="camel"):
    """`series` of an Event that came again."""

    count: int = 0
    last_observed_time: str | None = None


class Involved(Struct, frozen=True, gc=False):
    """What an Event is about."""

    uid: str = ""


class Event(Named, frozen=True, gc=False, rename="camel"):
    """An Event of core/v1, the form in which every API server shows those of events.k8s.io/v1 too."""

    involved_object: Involved = Involved()
    type: str = ""
    reason: str = ""
    message: str = ""
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: Series | None = None

    @property
    def last_seen(self) -> str:
        """When it was seen last, whoever wrote it; empty where it does not say."""
        again = self.series.last_observed_time if self.series else None
        return again or self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""

    @property
    def first_seen(self) -> str:
        """When it was seen first."""
        return self.first_timestamp or self.event_time or self.metadata.creation_timestamp or ""


class PodGroupCondition(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `status.conditions` of a PodGroup."""

    type: str = ""
    status: str = ""
    message: str = ""


class PodGroupStatus(Struct, frozen=True, gc=False):
    """`status` of a PodGroup."""

    phase: str = ""
    conditions: tuple[PodGroupCondition, ...] | None = None


class PodGroup(Named, frozen=True, gc=False):
    """Volcano's PodGroup, through which its scheduler says why the Pods of a Job are not placed."""

    status: PodGroupStatus = PodGroupStatus()

    @property
    def unschedulable(self) -> str:
        """The scheduler's words, empty where there are none."""
        told = [it.message for it in self.status.conditions or () if it.type == "Unschedulable" and it.status == "True"]
        return told[-1] if told else ""
