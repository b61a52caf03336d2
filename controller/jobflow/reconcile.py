"""Bring JobFlows forward, one pass over one of them at a time, and heed what the informers tell meanwhile.

What a pass does is in `one_pass`; who is to be looked at again, `triggers` says.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from random import Random
from typing import Final

from prometheus_client import CollectorRegistry

from controller.jobflow import triggers
from controller.jobflow.cluster import Cluster
from controller.jobflow.live import Superseded
from controller.jobflow.look import Caches
from controller.jobflow.memory import Memory
from controller.jobflow.metrics import EdgeTimes, PhaseCounters
from controller.jobflow.one_pass import Means, Pass
from controller.jobflow.story import Narrator, Silence
from controller.jobflow.triggers import Wake
from controller.runtime.metrics import InformerMetrics
from controller.runtime.turns import Turns
from shared.api.job import FINAL, Job, JobPhase
from shared.api.jobflow import FINISHED, JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.api.times import format_time

MOST_EARLY: Final = 1_000
"""Owners whose Jobs are remembered though the cache does not show them; most of these have gone with their Jobs."""


class JobFlowReconciler:
    """The passes of all JobFlows.

    `writes` bounds the writes in flight in the whole program, to `width` of them. `monotonic` is a clock in seconds
    that never steps back, `clock` the time of day, `chance` where retries get their jitter.
    """

    def __init__(
        self,
        caches: Caches,
        cluster: Cluster,
        *,
        writes: Turns,
        width: int,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        chance: Random,
        counters: PhaseCounters,
        edges: EdgeTimes | None = None,
        narrator: Narrator | None = None,
        lag: InformerMetrics | None = None,
    ) -> None:
        nobody_looks = CollectorRegistry()
        self._means = Means(
            caches,
            cluster,
            writes,
            width,
            clock,
            monotonic,
            chance,
            counters,
            edges or EdgeTimes(nobody_looks),
            narrator or Silence(),
            lag or InformerMetrics(nobody_looks),
        )
        self._memories: dict[str, Memory] = {}
        self._passes: dict[str, Pass] = {}
        """Those in work, by the JobFlow's uid."""
        self._early: dict[str, dict[str, Job]] = {}
        """Jobs that have gone, as they were last seen, by the uid of an owner that the cache does not show (yet)."""

    async def reconcile(self, key: Key) -> float | None:
        """One pass. Returns the seconds after which to look again even if nothing wakes the JobFlow, None for never.

        Raises what the API server's failures raise, for the caller to try again after a while.
        """
        cached = self._means.caches.jobflows.get(key)
        if cached is None:
            return None
        memory = self._memory_of(cached.uid)
        this = self._passes[cached.uid] = Pass(self._means, memory.latest(cached), memory)
        try:
            after = await this.run()
        except Superseded as superseded:
            if not superseded.gone:
                return 0.0
            memory.confirmed = None  # what was seen of it a moment ago allows nothing any more
            return None
        finally:
            del self._passes[cached.uid]
        if after is None and cached.phase in FINISHED and not memory.deleted:
            self._memories.pop(cached.uid, None)  # ten thousand of them may lie in the cluster for weeks
        return after

    def hurry(self) -> None:
        """The program is to stop: the passes in work begin nothing more, and end as soon as their writes have."""
        for each in self._passes.values():
            each.hurry()

    # What the informers tell

    def on_jobflow(self, old: JobFlow | None, new: JobFlow | None) -> Iterator[Wake]:
        """A JobFlow was added, changed or deleted. The answer to our own write is no news, but for the last one."""
        if new is None and old is not None:
            self._memories.pop(old.uid, None)
        if new and new.phase in FINISHED and (memory := self._memories.get(new.uid)) and memory.look is None:
            del self._memories[new.uid]  # of a JobFlow that another controller has brought to its end
        memory = self._memories.get(new.uid) if new and new.phase not in FINISHED else None
        if new is None or memory is None or memory.written_version != new.metadata.resource_version:
            yield from triggers.on_jobflow(old, new)

    def on_job(self, old: Job | None, new: Job | None) -> Iterator[Wake]:
        """A Job was added, changed or deleted. The last sight of one that is gone may be the only one of its end."""
        owner = self._note(old, new)
        for key, priority in triggers.on_job(old, new, self._means.caches.jobflows):
            if owner is None or key != owner.key:
                self._all_is_news(key)
            yield key, priority

    def on_jobtemplate(self, old: JobTemplate | None, new: JobTemplate | None) -> Iterator[Wake]:
        """A JobTemplate was added, changed or deleted."""
        for key, priority in triggers.on_jobtemplate(old, new, self._means.caches.jobflows):
            self._all_is_news(key)
            yield key, priority

    def _note(self, old: Job | None, new: Job | None) -> JobFlow | None:
        """Remember what is new of a JobFlow's own Job. Returns the JobFlow if the Job is, or was, its own."""
        before, after = self._owner(old), self._owner(new)
        if old and before and self._is_followed(before) and (new is None or new.owner_uid != old.owner_uid):
            memory = self._memory_of(before.uid)
            memory.departed[old.name] = old
            memory.deleted.discard(old.uid)
            self._stir(before)
        elif old and old.owner_uid and (new is None or new.owner_uid != old.owner_uid):
            self._early.setdefault(old.owner_uid, {})[old.name] = old
            while len(self._early) > MOST_EARLY:
                del self._early[next(iter(self._early))]
        if new is None or after is None:
            return before
        known = self._memories.get(after.uid)
        if known:
            known.news.add(new.name)
            if old is None and (made := known.created.get(new.name)) and made[0].uid == new.uid:
                self._means.lag.shown("jobs", self._means.monotonic() - made[1])
        if known and (old is None or old.phase != new.phase):
            known.saw(new, format_time(self._means.clock()))
        if new.phase in FINAL:
            if old and old.phase != new.phase == JobPhase.COMPLETED:
                self._means.edges.completed(after.uid, new.name, self._means.monotonic())
            self._stir(after)
        return after

    def _is_followed(self, jobflow: JobFlow) -> bool:
        """Whether what becomes of its Jobs is remembered until the next pass.

        A controller that stands by makes no passes, and must not remember the Jobs of all JobFlows that have finished.
        """
        return jobflow.phase not in FINISHED or jobflow.uid in self._memories

    def _memory_of(self, uid: str) -> Memory:
        memory = self._memories.setdefault(uid, Memory())
        memory.departed.update(self._early.pop(uid, {}))
        return memory

    def _owner(self, job: Job | None) -> JobFlow | None:
        """The JobFlow that a Job is of, by the owner's uid."""
        owner = job.metadata.controller if job else None
        jobflow = self._means.caches.jobflows.get(Key(job.metadata.namespace, owner.name)) if job and owner else None
        return jobflow if jobflow and owner and jobflow.uid == owner.uid else None

    def _stir(self, jobflow: JobFlow) -> None:
        if at_work := self._passes.get(jobflow.uid):
            at_work.stir()

    def _all_is_news(self, key: Key) -> None:
        jobflow = self._means.caches.jobflows.get(key)
        if jobflow and (memory := self._memories.get(jobflow.uid)):
            memory.all_is_news = True
            self._stir(jobflow)
