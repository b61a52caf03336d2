"""The Volcano Job as what an entry runs as: how it is written, and which of a JobFlow's lists its phase belongs in."""

from collections.abc import Mapping
from typing import Final

import msgspec

from shared.api.job import JobPhase
from shared.api.names import BATCH_API_VERSION, JOB

LIST_OF_PHASE: Final[Mapping[str, str]] = {
    "": "pending_jobs",
    JobPhase.PENDING: "pending_jobs",
    JobPhase.RUNNING: "running_jobs",
    JobPhase.FAILED: "failed_jobs",
    JobPhase.COMPLETED: "completed_jobs",
    JobPhase.COMPLETING: "completed_jobs",
    JobPhase.TERMINATED: "terminated_jobs",
    JobPhase.TERMINATING: "terminated_jobs",
}
"""The list of a JobFlow's status for each phase of a Job, as Volcano's design document says; `unknown_jobs` for the
rest."""


def manifest(metadata: Mapping[str, object], spec: msgspec.Raw) -> bytes:
    """A Volcano Job as JSON."""
    return msgspec.json.encode({"apiVersion": BATCH_API_VERSION, "kind": JOB, "metadata": metadata, "spec": spec})
