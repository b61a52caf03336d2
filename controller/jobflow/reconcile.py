"""Carry out one pass over one JobFlow: look, start what is ready, say what is so, clean up what is done.

The shell has no opinion: `progress`, `plan`, `phase` and `status` decide. It keeps the promises that take time: `live`
that of a fresh look, `memory` that what this process has written counts before the cache shows it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Final, TypeVar

from controller.jobflow import triggers
from controller.jobflow.actions import Created, CreateJob, DeleteJob, NameConflict, Outcome, RefusedJob
from controller.jobflow.cluster import Cluster
from controller.jobflow.explain import GONE, NOT_OURS
from controller.jobflow.ladder import fitted, size_of
from controller.jobflow.live import LiveLook, Superseded, may_delete_jobs, may_start_jobs
from controller.jobflow.look import Caches, take_snapshot
from controller.jobflow.memory import Memory
from controller.jobflow.metrics import PhaseCounters
from controller.jobflow.plan import leftovers, starts
from controller.jobflow.progress import progress_of, unaccounted
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.status import is_worth_storing_at_once, observe
from controller.jobflow.status_patch import differs, status_patch
from controller.jobflow.triggers import Wake
from controller.jobflow.writes import SHORTEST_PAUSE
from shared.api.job import Job
from shared.api.jobflow import FINISHED, JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.api.times import format_time
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Refused

T = TypeVar("T")

CREATING: Final = 3.0
"""Seconds after which a pass that still creates comes to its end. The rest of a wide JobFlow has another turn."""


@dataclass(slots=True)
class Attempts:
    """The creates of one pass: whether more may begin, and what came of those that did."""

    closed: bool = False
    """No more may begin; the pass is to end."""

    outcomes: bool = False
    """Some were decided, and are remembered."""

    error: Exception | None = None
    """What went wrong with the API server, or the live look that forbade it."""

    left: bool = False
    """Some were not begun."""


class JobFlowReconciler:
    """Bring JobFlows forward, one pass over one of them at a time.

    `writes` bounds the writes in flight in the whole program, to `width` of them. `monotonic` is a clock in seconds
    that never steps back, `clock` the time of day, `chance` where retries get their jitter.
    """

    def __init__(
        self,
        caches: Caches,
        cluster: Cluster,
        *,
        writes: asyncio.Semaphore,
        width: int,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        chance: Random,
        counters: PhaseCounters,
    ) -> None:
        self._caches = caches
        self._cluster = cluster
        self._writes = writes
        self._width = width
        self._clock = clock
        self._monotonic = monotonic
        self._chance = chance
        self._counters = counters
        self._memories: dict[str, Memory] = {}

    async def reconcile(self, key: Key) -> float | None:
        """One pass. Returns the seconds after which to look again even if nothing wakes the JobFlow, None for never.

        Raises what the API server's failures raise, for the caller to try again after a while.
        """
        cached = self._caches.jobflows.get(key)
        if cached is None:
            return None
        memory = self._memories.setdefault(cached.uid, Memory())
        jobflow = memory.latest(cached)
        live = LiveLook(jobflow, memory, self._cluster, self._monotonic)
        try:
            after = await self._pass(jobflow, memory, live)
        except Superseded as superseded:
            return None if superseded.gone else 0.0
        finally:
            await live.close()
        if after is None and cached.phase in FINISHED:
            self._memories.pop(cached.uid, None)  # ten thousand of them may lie in the cluster for weeks
        return after

    async def _pass(self, jobflow: JobFlow, memory: Memory, live: LiveLook) -> float | None:
        seen = await self._verify(self._look(jobflow, memory), memory)
        attempts = Attempts()
        creating = asyncio.ensure_future(self._create_each(seen, memory, live, attempts))
        try:
            # A wide JobFlow goes on being created while the API server takes its status in, for that may last.
            until = self._monotonic() + CREATING
            while True:
                await asyncio.wait({creating}, timeout=max(SHORTEST_PAUSE, memory.pause_left(self._monotonic())))
                if attempts.outcomes:
                    seen = replace(self._look(memory.latest(jobflow), memory), absent=seen.absent)
                stored, pause = await self._store(seen, memory, live)
                if creating.done() or self._monotonic() > until:
                    break
        except (ApiError, Superseded):
            attempts.closed = True
            await creating
            raise
        except BaseException:
            creating.cancel()
            raise
        attempts.closed = True
        await creating
        await self._delete_each(leftovers(seen, stored), live, jobflow)
        if attempts.error:
            raise attempts.error
        if attempts.left:
            return 0.0
        due = [wait for wait in (pause, memory.next_retry(self._monotonic())) if wait is not None]
        return min(due, default=None)

    def _look(self, jobflow: JobFlow, memory: Memory) -> Snapshot:
        return take_snapshot(jobflow, self._caches, memory, self._clock(), self._monotonic())

    # Look where the caches cannot be trusted

    async def _verify(self, seen: Snapshot, memory: Memory) -> Snapshot:
        """Ask the API server for the Jobs that should be there and are not to be seen."""
        names = unaccounted(seen)
        if not names:
            return seen
        reads = asyncio.Semaphore(self._width)

        async def find(name: str) -> Job | str:
            async with reads:
                return await self._find(seen.jobflow, name)

        found = await self._side_by_side(find(name) for name in names)
        now = self._monotonic()
        absent = {name: it for name, it in zip(names, found, strict=True) if isinstance(it, str)}
        present = {it.name: it for it in found if isinstance(it, Job)}
        memory.created.update({name: (job, now) for name, job in present.items()})
        for name in present:
            memory.departed.pop(name, None)
        return replace(self._look(seen.jobflow, memory), absent=absent)

    async def _find(self, jobflow: JobFlow, name: str) -> Job | str:
        """The JobFlow's own Job of that name, or what is there instead."""
        try:
            job = await self._cluster.get_job(Key(jobflow.namespace, name))
        except NotFound:
            return GONE
        return job if job.owner_uid == jobflow.uid else NOT_OURS

    # Start what is ready

    async def _create_each(self, seen: Snapshot, memory: Memory, live: LiveLook, attempts: Attempts) -> None:
        """Try every create, side by side, though others are refused; once `attempts` are closed, the rest are left.

        No more of them wait for their turn than could have it: a status that is to be written has its turn among them.
        """
        wanted = list(starts(seen, progress_of(seen)))
        turns = iter(wanted)

        async def create_in_turn() -> None:
            for create in turns:
                async with self._writes:
                    if attempts.error or attempts.closed:
                        attempts.left = True
                        return
                    try:
                        await live.require(may_start_jobs)
                        outcome = await self._create(create, seen.jobflow)
                    except (ApiError, Superseded) as error:
                        attempts.error = attempts.error or error
                    else:
                        attempts.outcomes = True
                        memory.take(outcome, self._monotonic(), self._chance.random())

        await self._side_by_side(create_in_turn() for _ in wanted[: self._width])

    async def _create(self, create: CreateJob, jobflow: JobFlow) -> Outcome:
        try:
            return Created(create.flow, await self._cluster.create_job(jobflow.namespace, create.manifest))
        except AlreadyExists:
            # The cache may lag behind our own create, or its answer was lost. A stranger's Job is another matter.
            found = await self._find(jobflow, create.name)
            if found == GONE:  # whatever bore the name has left it meanwhile
                raise
            return (
                Created(create.flow, found)
                if isinstance(found, Job)
                else NameConflict(create.flow, create.template_version)
            )
        except Refused as refusal:
            return RefusedJob(create.flow, create.template_version, refusal.message)

    # Say what is so

    async def _store(self, seen: Snapshot, memory: Memory, live: LiveLook) -> tuple[JobFlow, float | None]:
        """Write the status if it differs and its time has come.

        Returns the JobFlow as it is stored now, and the seconds until its status may be written if that was put off.
        """
        jobflow, progress = seen.jobflow, progress_of(seen)
        pause = memory.pause_left(self._monotonic())
        if pause > 0 and not is_worth_storing_at_once(jobflow.status, seen, progress):
            return jobflow, pause
        wanted = fitted(observe(seen, progress), memory.besides)
        if not differs(jobflow.status, wanted):
            return jobflow, None
        asked_at = self._monotonic()
        try:
            async with self._writes:
                answer = await self._cluster.patch_jobflow_status(jobflow.key, status_patch(jobflow, wanted))
        except NotFound:
            raise Superseded(gone=True) from None
        except (Conflict, Refused):
            # Somebody else has written; the next pass decides on what is there now.
            await live.look()
            raise
        memory.learn(answer, self._monotonic(), size_of(answer.jobflow.status))
        memory.wrote(answer.jobflow, asked_at, answer.size)
        self._counters.count(jobflow.namespace, before=jobflow.phase, after=answer.jobflow.phase)
        return answer.jobflow, None

    # Clean up what is done

    async def _delete_each(self, wanted: Iterable[DeleteJob], live: LiveLook, jobflow: JobFlow) -> None:
        async def delete(job: DeleteJob) -> None:
            async with self._writes:
                await live.require(may_delete_jobs)
                try:
                    await self._cluster.delete_job(Key(jobflow.namespace, job.name), job.uid)
                except (NotFound, Conflict):
                    return  # it is gone, or another Job has its name: either way it is no longer ours to delete

        await self._side_by_side(delete(job) for job in wanted)

    @staticmethod
    async def _side_by_side(work: Iterable[Awaitable[T]]) -> list[T]:
        """Run all at once and give their answers in order. The first failure is raised after all have ended."""
        answers = await asyncio.gather(*work, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    # What the informers tell

    def on_jobflow(self, old: JobFlow | None, new: JobFlow | None) -> Iterator[Wake]:
        """A JobFlow was added, changed or deleted. The answer to our own write is no news, but for the last one."""
        if new is None and old is not None:
            self._memories.pop(old.uid, None)
        memory = self._memories.get(new.uid) if new and new.phase not in FINISHED else None
        if new is None or memory is None or memory.written_version != new.metadata.resource_version:
            yield from triggers.on_jobflow(old, new)

    def on_job(self, old: Job | None, new: Job | None) -> Iterator[Wake]:
        """A Job was added, changed or deleted. The last sight of one that is gone may be the only one of its end."""
        job = new or old
        owner = job.metadata.controller if job else None
        jobflow = self._caches.jobflows.get(Key(job.metadata.namespace, owner.name)) if job and owner else None
        if job and jobflow and jobflow.uid == job.owner_uid:
            if new is None:
                self._memories.setdefault(jobflow.uid, Memory()).departed[job.name] = job
            elif (old is None or old.phase != new.phase) and (memory := self._memories.get(jobflow.uid)):
                memory.saw(new, format_time(self._clock()))
        yield from triggers.on_job(old, new, self._caches.jobflows)

    def on_jobtemplate(self, old: JobTemplate | None, new: JobTemplate | None) -> Iterator[Wake]:
        """A JobTemplate was added, changed or deleted."""
        return triggers.on_jobtemplate(old, new, self._caches.jobflows)
