"""One pass over one JobFlow: look, start what is ready, say what is so, clean up what is done.

The shell has no opinion: `progress`, `plan`, `phase` and `status` decide, `creating` sends. A pass lasts as long as its
own writes do. What happens to its Jobs meanwhile is looked at at once, so that no Job waits for the write of a status,
which lasts where a JobFlow is wide.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from random import Random
from typing import Final, TypeVar

from controller.jobflow.actions import Created, DeleteJob, Outcome
from controller.jobflow.cluster import Cluster
from controller.jobflow.creating import Creating, find_job
from controller.jobflow.ladder import fitted, size_of
from controller.jobflow.live import LiveLook, Superseded, may_delete_jobs
from controller.jobflow.look import Caches, look
from controller.jobflow.memory import Look, Memory
from controller.jobflow.metrics import EdgeTimes, PhaseCounters
from controller.jobflow.plan import leftovers, starts
from controller.jobflow.progress import unaccounted
from controller.jobflow.status import is_worth_storing_at_once, observe
from controller.jobflow.status_patch import differs, status_patch
from controller.jobflow.story import Narrator, obstacles, of_deletes, of_status
from controller.jobflow.writes import SHORTEST_PAUSE
from controller.runtime.metrics import InformerMetrics
from controller.runtime.turns import Turns
from shared.api.job import Job
from shared.api.jobflow import JobFlow, JobFlowStatus
from shared.api.meta import Key
from shared.flow.names import child_name
from shared.kube.errors import Conflict, NotFound, Refused
from shared.kube.transport import Guard

T = TypeVar("T")

LONGEST: Final = 30.0
"""Seconds after which a pass begins no more creates. The rest of a wide JobFlow has another turn, after others."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every pass works with.

    `writes` bounds the writes in flight in the whole program, to `width` of them. `monotonic` is a clock in seconds
    that never steps back, `clock` the time of day, `chance` where retries get their jitter.
    """

    caches: Caches
    cluster: Cluster
    writes: Turns
    width: int
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    chance: Random
    counters: PhaseCounters
    edges: EdgeTimes
    narrator: Narrator
    lag: InformerMetrics


class Pass:
    """One pass. `stir` says that something has happened to the JobFlow's Jobs, `hurry` that the program is to stop."""

    def __init__(self, means: Means, jobflow: JobFlow, memory: Memory) -> None:
        self._means = means
        self._jobflow = jobflow
        self._memory = memory
        self._live = LiveLook(jobflow, memory, means.cluster, means.monotonic)
        self._creating = Creating(
            jobflow,
            means.cluster,
            self._live,
            writes=means.writes,
            width=means.width,
            monotonic=means.monotonic,
            is_known=self._is_known,
            take=self._take,
            stir=self.stir,
        )
        self._absent: dict[str, str] = {}
        """Own Jobs that live reads of this pass did not find, with what they found instead."""
        self._storing: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._until = means.monotonic() + LONGEST

    def stir(self) -> None:
        """Look again now."""
        self._stirred.set()

    def hurry(self) -> None:
        """Begin nothing more."""
        self._until = self._means.monotonic()
        self.stir()

    async def run(self) -> float | None:
        """Do it. Returns the seconds after which to look again even if nothing wakes the JobFlow, None for never.

        Raises what the API server's failures raise, and Superseded if the JobFlow is not any more what was looked at.
        """
        began = self._means.monotonic()
        try:
            try:
                known, pause = await self._until_nothing_is_under_way(await self._verify(self._look()))
                await self._delete_each(self._leftovers())
            finally:
                await self._creating.abandon()
                await self._abandon_storing()
                await self._live.close()
            self._live.check()
        except BaseException:
            self._memory.look = None  # what is new was perhaps not acted on
            raise
        if self._creating.error or self._creating.left:
            self._memory.look = None
        if self._creating.error:
            raise self._creating.error
        if self._creating.left:
            return 0.0
        self._means.edges.passed(self._jobflow.uid, began)
        now = self._means.monotonic()
        waits = (pause, self._memory.next_retry(known.seen, now), self._memory.unshown_for_long(now))
        return min((wait for wait in waits if wait is not None), default=None)

    async def _until_nothing_is_under_way(self, known: Look) -> tuple[Look, float | None]:
        """Start, store and look again.

        Returns the last look, and the seconds until the status may be written where that was put off.
        """
        while True:
            self._stirred.clear()
            if self._means.monotonic() > self._until:
                self._creating.close()
            elif not self._creating.error:
                ripe, underway = known.ripe, self._creating.underway
                self._creating.begin(starts(known.seen, known.progress, among=ripe, underway=underway))
            pause = self._store(known)
            if not self._creating.busy and self._storing is None:
                return known, pause
            await self._something(pause)
            if self._storing and self._storing.done():
                storing, self._storing = self._storing, None
                if storing.exception():
                    await self._creating.end()
                    storing.result()
            known = self._look()

    def _look(self) -> Look:
        means = self._means
        jobflow = self._memory.newest or self._jobflow
        return look(
            jobflow, means.caches, self._memory, now=means.clock(), moment=means.monotonic(), absent=self._absent
        )

    async def _something(self, within: float | None) -> None:
        """Wait until something happens, `within` seconds at most."""
        try:
            async with asyncio.timeout(within):
                await self._stirred.wait()
        except TimeoutError:
            pass

    def _is_known(self, job: str) -> bool:
        """A Job of that name has come, and perhaps gone, since the last look: another controller's, or a stranger's."""
        return (
            job in self._memory.departed or self._means.caches.jobs.get(Key(self._jobflow.namespace, job)) is not None
        )

    def _take(self, outcome: Outcome) -> None:
        now = self._means.monotonic()
        self._memory.take(outcome, now, self._means.chance.random())
        if isinstance(outcome, Created):
            entry = self._memory.look.shape.entries.get(outcome.job.name) if self._memory.look else None
            targets = [child_name(self._jobflow.name, target) for target in entry.targets] if entry else []
            self._means.edges.created(self._jobflow.uid, targets, now)

    # Look where the caches cannot be trusted

    async def _verify(self, known: Look) -> Look:
        """Ask the API server for the Jobs that should be there and are not to be seen."""
        if known.ripe is not None:
            return known
        names = unaccounted(known.seen)
        if not names:
            return known
        reads = asyncio.Semaphore(self._means.width)

        async def find(name: str) -> Job | str:
            async with reads:
                return await find_job(self._means.cluster, known.seen.jobflow, name)

        found = await _side_by_side(find(name) for name in names)
        now = self._means.monotonic()
        self._absent = {name: it for name, it in zip(names, found, strict=True) if isinstance(it, str)}
        self._memory.found([it for it in found if isinstance(it, Job)], now)
        return self._look()

    # Say what is so

    def _store(self, known: Look) -> float | None:
        """Begin to write the status if it differs and its time has come; else the seconds until then.

        None where there is nothing to wait for. While creates are under way they are given a moment, so that the
        status tells what they brought.
        """
        if self._storing:
            return None
        seen, stored, now = known.seen, known.seen.jobflow.status, self._means.monotonic()
        wait = self._memory.pause_left(now)
        if wait > 0 and is_worth_storing_at_once(stored, seen, known.progress):
            wait = 0.0
        if self._creating.busy:
            wait = max(wait, self._creating.since + SHORTEST_PAUSE - now)
        elif self._creating.left:
            return None  # the next pass, which has more to start, stores what is so by then
        if wait > 0:
            return wait
        wanted = fitted(observe(seen, known.progress), self._memory.besides)
        if differs(stored, wanted):
            self._storing = self._live.writing = asyncio.ensure_future(self._write(known, wanted))
            self._storing.add_done_callback(self._stored)
        else:
            self._means.narrator.tell(seen.jobflow, obstacles(seen, known.progress, wanted))
        return None

    def _stored(self, _: asyncio.Task[None]) -> None:
        self._live.writing = None
        self.stir()

    async def _write(self, known: Look, wanted: JobFlowStatus) -> None:
        jobflow = known.seen.jobflow
        patch = status_patch(jobflow, wanted)
        try:
            async with self._means.writes.first():
                asked_at = self._means.monotonic()
                answer = await self._means.cluster.patch_jobflow_status(jobflow.key, patch)
        except NotFound:
            raise Superseded(gone=True) from None
        except (Conflict, Refused):
            # Somebody else has written; the next pass decides on what is there now.
            await self._live.look()
            raise
        now = self._means.monotonic()
        self._memory.learn(answer, asked_at, size_of(answer.jobflow.status), over=jobflow)
        self._memory.wrote(answer.jobflow, asked_at, now, answer.size)
        self._means.counters.count(jobflow.namespace, before=jobflow.phase, after=answer.jobflow.phase)
        self._means.narrator.tell(jobflow, of_status(known.seen, known.progress, wanted))

    async def _abandon_storing(self) -> None:
        if self._storing:
            self._storing.cancel()
            await asyncio.wait([self._storing])

    # Clean up what is done

    def _leftovers(self) -> list[DeleteJob]:
        seen = self._look().seen
        return [job for job in leftovers(seen, seen.jobflow) if job.uid not in self._memory.deleted]

    async def _delete_each(self, wanted: Iterable[DeleteJob]) -> None:
        deleted: list[str] = []

        async def delete(job: DeleteJob, guard: Guard) -> None:
            self._memory.deleted.add(job.uid)  # it may be seen to go before the request is answered
            try:
                key = Key(self._jobflow.namespace, job.name)
                await self._means.cluster.delete_job(key, job.uid, job.version, guard)
            except NotFound:
                return
            except Conflict:
                # Another Job has its name, or it was changed, and may not be ours any more: the watch will tell.
                self._memory.deleted.discard(job.uid)
                return
            except BaseException:
                self._memory.deleted.discard(job.uid)
                raise
            deleted.append(job.name)

        async def have_a_turn(job: DeleteJob) -> None:
            async with self._means.writes.of(self._jobflow.uid):
                await self._live.allowing(may_delete_jobs, partial(delete, job))

        try:
            await _side_by_side(have_a_turn(job) for job in wanted)
        finally:
            self._means.narrator.tell(self._jobflow, of_deletes(deleted))


async def _side_by_side(work: Iterable[Awaitable[T]]) -> list[T]:
    """Run all at once and give their answers in order. The first failure is raised after all have ended."""
    answers = await asyncio.gather(*work, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]
