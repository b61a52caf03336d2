"""The JobFlow: which JobTemplate runs after which, and how far that has come.

Field names on the wire are Volcano's, its spellings (`unKnowJobs`, `Succeed`) included.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from shared.api.meta import Named


class Phase(StrEnum):
    """`status.state.phase` of a JobFlow. A JobFlow that nobody has looked at yet has none."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEED = "Succeed"
    FAILED = "Failed"
    TERMINATING = "Terminating"


FINISHED = frozenset({Phase.SUCCEED, Phase.FAILED, Phase.TERMINATING})
"""Phases in which a JobFlow starts nothing any more."""


class RetainPolicy(StrEnum):
    """`spec.jobRetainPolicy`: what becomes of the Jobs once the JobFlow is Succeed."""

    RETAIN = "retain"
    DELETE = "delete"


class HTTPHeader(Struct, frozen=True, gc=False):
    """Kubernetes' HTTPHeader."""

    name: str | None = None
    value: str | None = None


class HTTPGet(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `dependsOn.probe.httpGetList`."""

    task_name: str | None = None
    path: str | None = None
    port: int | None = None
    http_header: HTTPHeader | None = None


class TCPSocket(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `dependsOn.probe.tcpSocketList`."""

    task_name: str | None = None
    port: int | None = None


class TaskStatusProbe(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `dependsOn.probe.taskStatusList`."""

    task_name: str | None = None
    phase: str | None = None


class Probe(Struct, frozen=True, gc=False, rename="camel"):
    """`dependsOn.probe`."""

    http_get_list: tuple[HTTPGet, ...] | None = None
    tcp_socket_list: tuple[TCPSocket, ...] | None = None
    task_status_list: tuple[TaskStatusProbe, ...] | None = None


class DependsOn(Struct, frozen=True, gc=False, rename="camel"):
    """`dependsOn` of an entry."""

    targets: tuple[str, ...] | None = None
    probe: Probe | None = None


class Flow(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `spec.flows`: the JobTemplate of its name runs once, after its targets."""

    name: str = ""
    depends_on: DependsOn | None = None
    patch: dict[str, Any] | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the entries that must have completed before this one starts."""
        return (self.depends_on.targets or ()) if self.depends_on else ()


class JobFlowSpec(Struct, frozen=True, gc=False, rename="camel"):
    """`spec` of a JobFlow."""

    flows: tuple[Flow, ...] | None = None
    job_retain_policy: str | None = None


class RunningHistory(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One phase that a Job went through, from when until when."""

    start_timestamp: str | None = None
    end_timestamp: str | None = None
    state: str = ""


class JobStatus(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """An entry of `status.jobStatusList`: a Job that was created for this JobFlow, and how it went."""

    name: str = ""
    state: str = ""
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    restart_count: int = 0
    running_histories: tuple[RunningHistory, ...] = ()


class TaskPhases(Struct, frozen=True, gc=False):
    """How many Pods of a task are in which phase."""

    phase: dict[str, int] | None = None


class Condition(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A value of `status.conditions`, which is a map by Job name and no list of conditions as elsewhere."""

    phase: str = ""
    create_time: str | None = None
    running_duration: str | None = None
    task_status_count: dict[str, TaskPhases] | None = None


class State(Struct, frozen=True, gc=False, omit_defaults=True):
    """`status.state`. Reason and message are fields beyond Volcano's."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None


class JobFlowStatus(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """`status` of a JobFlow. The last four fields, and reason and message, are beyond Volcano's."""

    pending_jobs: tuple[str, ...] = ()
    running_jobs: tuple[str, ...] = ()
    failed_jobs: tuple[str, ...] = ()
    completed_jobs: tuple[str, ...] = ()
    terminated_jobs: tuple[str, ...] = ()
    unknown_jobs: tuple[str, ...] = field(default=(), name="unKnowJobs")
    job_status_list: tuple[JobStatus, ...] = ()
    conditions: dict[str, Condition] = {}
    state: State = State()
    progress: str | None = None
    observed_generation: int | None = None
    start_time: str | None = None
    completion_time: str | None = None


class JobFlow(Named, frozen=True, gc=False):
    """`flow.volcano.sh/v1alpha1` JobFlow."""

    spec: JobFlowSpec = JobFlowSpec()
    status: JobFlowStatus = JobFlowStatus()

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The entries of `spec.flows`, in their order."""
        return self.spec.flows or ()

    @property
    def phase(self) -> str:
        """`status.state.phase`, empty before the first look. It may be a word that is no `Phase`."""
        return self.status.state.phase

    @property
    def deletes_jobs(self) -> bool:
        """The retain policy says that the Jobs go once the JobFlow is Succeed. Without one they stay, as in Volcano."""
        return self.spec.job_retain_policy == RetainPolicy.DELETE
