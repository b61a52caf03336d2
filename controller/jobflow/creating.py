"""Send the creates of one JobFlow, side by side, and remember how each turned out."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from controller.jobflow.actions import Created, CreateJob, NameConflict, Outcome, RefusedJob
from controller.jobflow.cluster import Cluster
from controller.jobflow.explain import GONE, NOT_OURS
from controller.jobflow.live import LiveLook, Superseded, may_start_jobs
from controller.runtime.turns import Turns
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.meta import Key
from shared.kube.errors import AlreadyExists, ApiError, NotFound, Refused
from shared.kube.transport import Guard


class Creating:
    """The creates of one pass that are under way.

    More may be added while they are. Each is tried even if another was refused; a failure of the API server, or a live
    look that forbids them, ends all that have not begun.
    """

    def __init__(
        self,
        jobflow: JobFlow,
        cluster: Cluster,
        live: LiveLook,
        *,
        writes: Turns,
        width: int,
        monotonic: Callable[[], float],
        is_known: Callable[[str], bool],
        take: Callable[[Outcome], None],
        stir: Callable[[], None],
    ) -> None:
        self._jobflow = jobflow
        self._cluster = cluster
        self._live = live
        self._writes = writes
        self._width = width
        self._monotonic = monotonic
        self._is_known = is_known
        self._take = take
        self._stir = stir
        self._turns: deque[CreateJob] = deque()
        self._runners: set[asyncio.Task[None]] = set()
        self._closed = False
        self.underway: set[str] = set()
        """Names of the entries whose Jobs are being created."""
        self.since = 0.0
        """When the first of those that are under way was begun, on the monotonic clock."""
        self.error: Exception | None = None
        """What went wrong with the API server, or the live look that forbade the rest."""
        self.left = False
        """Some were not begun."""

    @property
    def busy(self) -> bool:
        """Some are under way."""
        return bool(self._runners)

    def begin(self, wanted: Iterable[CreateJob]) -> None:
        """Begin with `wanted` too.

        No more of them wait for their turn to write than could have it: other writes have their turns among them.
        """
        new = list(wanted)
        if not new:
            return
        if not self._runners:
            self.since = self._monotonic()
        self._turns.extend(new)
        self.underway.update(create.flow for create in new)
        for _ in range(min(self._width - len(self._runners), len(self._turns))):
            runner = asyncio.ensure_future(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._ended)

    def close(self) -> None:
        """Begin no more."""
        self._closed = True

    async def end(self) -> None:
        """Begin no more, and wait for those under way. Raises what was not foreseen."""
        self.close()
        if self._runners:
            await asyncio.gather(*self._runners)

    async def abandon(self) -> None:
        """Wait for nothing. What has been sent may or may not take effect."""
        for runner in self._runners:
            runner.cancel()
        if self._runners:
            await asyncio.wait(self._runners)

    def _ended(self, runner: asyncio.Task[None]) -> None:
        self._runners.discard(runner)
        if not runner.cancelled() and (fault := runner.exception()) and not self.error:
            self.error = fault if isinstance(fault, Exception) else None
        self._stir()

    async def _run(self) -> None:
        while self._turns:
            async with self._writes.of(self._jobflow.uid):
                if not self._turns:
                    return
                if self.error or self._closed:
                    self.left = True
                    self.underway.difference_update(create.flow for create in self._turns)
                    self._turns.clear()
                    return
                create = self._turns.popleft()
                try:
                    self._take(await self._live.allowing(may_start_jobs, partial(self._create, create)))
                except (ApiError, Superseded) as error:
                    self.error = self.error or error
                finally:
                    self.underway.discard(create.flow)

    async def _create(self, create: CreateJob, guard: Guard) -> Outcome:
        if self._live.tells_of(create.name) or self._is_known(create.name):
            raise Superseded
        try:
            job = await self._cluster.create_job(self._jobflow.namespace, create.manifest, guard)
            return Created(create.flow, job)
        except AlreadyExists:
            # The cache may lag behind our own create, or its answer was lost. A stranger's Job is another matter.
            found = await find_job(self._cluster, self._jobflow, create.name)
            if found == GONE:  # whatever bore the name has left it meanwhile
                raise
            return (
                Created(create.flow, found)
                if isinstance(found, Job)
                else NameConflict(create.flow, create.template_version)
            )
        except Refused as refusal:
            return RefusedJob(create.flow, create.template_version, refusal.message)


async def find_job(cluster: Cluster, jobflow: JobFlow, name: str) -> Job | str:
    """The JobFlow's own Job of that name, read live, or in words what is there instead."""
    try:
        job = await cluster.get_job(Key(jobflow.namespace, name))
    except NotFound:
        return GONE
    return job if job.owner_uid == jobflow.uid else NOT_OURS
