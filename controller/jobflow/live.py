"""Keep the promise that a create or delete is sent at most a second after a live look allowed it.

A cache may lag behind: the JobFlow may be finished, deleted, or deleted and created again under its name, and only the
API server knows.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from controller.jobflow.cluster import Cluster
from controller.jobflow.ladder import size_of
from controller.jobflow.memory import Memory
from shared.api.jobflow import FINISHED, JobFlow, Phase
from shared.kube.errors import NotFound

FRESH: Final = 1.0
"""Seconds after which a live look is too old to act on."""


class Superseded(Exception):
    """The JobFlow is not any more what was decided on. What it is now is remembered, unless it is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        super().__init__("gone" if gone else "changed")
        self.gone = gone


class LiveLook:
    """Live looks at the JobFlow of one pass. A look serves all that is sent within a second of it."""

    def __init__(self, jobflow: JobFlow, memory: Memory, cluster: Cluster, monotonic: Callable[[], float]) -> None:
        self._jobflow = jobflow
        self._memory = memory
        self._cluster = cluster
        self._monotonic = monotonic
        self._lock = asyncio.Lock()

    async def require(self, allows: Callable[[JobFlow], bool]) -> None:
        """Return if a look of the last second allows it, else look once more.

        Raises Superseded if the JobFlow is gone, has another spec, or does not allow it.
        """
        async with self._lock:
            if not (self._is_fresh() and self._is_allowed(allows)):
                await self.look()
                if not self._is_allowed(allows):
                    raise Superseded

    def _is_allowed(self, allows: Callable[[JobFlow], bool]) -> bool:
        live = self._memory.confirmed
        if live is None or live.metadata.generation != self._jobflow.metadata.generation:
            return False
        return allows(live)

    async def look(self) -> None:
        """Read the JobFlow, whatever is known of it. Raises Superseded if it is gone, though one may have its name."""
        asked_at = self._monotonic()
        try:
            live = await self._cluster.get_jobflow(self._jobflow.key)
        except NotFound:
            raise Superseded(gone=True) from None
        if live.jobflow.uid != self._jobflow.uid:
            raise Superseded(gone=True)
        self._memory.learn(live, asked_at, size_of(live.jobflow.status))

    def _is_fresh(self) -> bool:
        at = self._memory.confirmed_at
        return at is not None and self._monotonic() - at <= FRESH


def may_start_jobs(jobflow: JobFlow) -> bool:
    """A JobFlow that is finished, or being deleted, starts nothing."""
    return not jobflow.metadata.is_deleting and jobflow.phase not in FINISHED


def may_delete_jobs(jobflow: JobFlow) -> bool:
    """Jobs go only once Succeed is stored, and the policy is to delete."""
    return not jobflow.metadata.is_deleting and jobflow.phase == Phase.SUCCEED and jobflow.deletes_jobs
