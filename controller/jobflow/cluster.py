"""What a JobFlow's reconciler asks of the API server.

Every call is one request with a time-out of 5 s or less, and none is repeated behind the caller's back. What the API
server refuses is raised as an error of `shared.kube.errors`.
"""

from typing import NamedTuple, Protocol

from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.meta import Key, ObjectMeta
from shared.kube.transport import Guard


class Stored(NamedTuple):
    """A JobFlow as the API server has just answered it, and how many bytes of JSON the whole object takes there."""

    jobflow: JobFlow
    size: int


class Cluster(Protocol):
    """The API server, as far as JobFlows need it."""

    async def get_jobflow(self, key: Key) -> Stored:
        """Read the JobFlow live. Raises NotFound."""
        ...

    async def get_jobflow_metadata(self, key: Key, entries: int) -> ObjectMeta:
        """Read the metadata of a JobFlow of so many entries live, and nothing else of it. Raises NotFound."""
        ...

    async def get_job(self, key: Key) -> Job:
        """Read a Job live. Raises NotFound."""
        ...

    async def create_job(self, namespace: str, manifest: bytes, guard: Guard) -> Job:
        """Create a Job from its JSON, unless `guard` prevents it by raising at the last moment.

        Raises AlreadyExists, and Refused for what will not be had as it is.
        """
        ...

    async def delete_job(self, key: Key, uid: str, version: str, guard: Guard) -> None:
        """Delete the Job in the background, unless `guard` prevents it by raising at the last moment.

        Raises NotFound, and Conflict where uid or resourceVersion are others.
        """
        ...

    async def patch_jobflow_status(self, key: Key, patch: bytes) -> Stored:
        """Send a JSON patch to the status subresource. Raises Conflict where the patch's resourceVersion is old."""
        ...
