"""Protections of the controller, each switched off: what the simulator has to see within a few seeds.

A protection that another one masks is switched off together with that one.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from controller.jobflow import creating, explain, live, look, one_pass, plan, progress
from controller.jobflow.actions import DeleteJob
from controller.jobflow.metrics import VolcanosCounters
from controller.jobflow.status_patch import status_patch
from controller.runtime.informer import Informer
from controller.runtime.leader import Leader
from controller.runtime.workqueue import WorkQueue
from shared.api.job import Job, JobPhase
from shared.flow.names import child_name
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.errors import NotFound
from shared.kube.transport import Guard

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    """A protection less."""

    switch_off: Callable[[Patch], None]
    workloads: tuple[str, ...]
    """Where it has to be seen."""
    rules: tuple[str, ...]
    """What may be told of it first."""


# The live look


def no_live_look(patch: Patch) -> None:
    """Creates and deletes are sent on what the cache shows."""

    async def allowing(self: live.LiveLook, allows: object, write: Callable[[Guard], Any]) -> Any:
        return await write(lambda: None)

    patch.setattr(live.LiveLook, "allowing", allowing)


def a_look_is_not_asked_for_its_age_once_there_is_a_connection(patch: Patch) -> None:
    """What a look allowed is sent, however long it takes to connect."""
    patch.setattr(live.LiveLook, "_until", lambda self, seconds: lambda: None)


def a_live_look_serves_for_ever(patch: Patch) -> None:
    """A look is not too old after a second."""
    patch.setattr(live, "FRESH", float("inf"))


def finished_flows_may_start_jobs(patch: Patch) -> None:
    """What the live look shows of the phase does not matter."""
    patch.setattr(creating, "may_start_jobs", lambda jobflow: True)


# Whose a Job is


def own_by_name(patch: Patch) -> None:
    """A Job is a JobFlow's own if it bears the name."""
    take = look.take_snapshot

    def taken(jobflow: Any, caches: Any, *args: Any) -> Any:
        seen = take(jobflow, caches, *args)
        names = {child_name(jobflow.name, flow.name) for flow in jobflow.flows}
        jobs = {job.name: job for job in caches.jobs if job.name in names}
        return replace(seen, jobs={**seen.jobs, **jobs}, strangers=frozenset())

    patch.setattr(look, "take_snapshot", taken)


def what_exists_already_is_ours(patch: Patch) -> None:
    """AlreadyExists is taken for success, whoever owns the Job."""

    async def find_job(cluster: Any, jobflow: Any, name: str) -> Job | str:
        try:
            found: Job = await cluster.get_job(type(jobflow.key)(jobflow.namespace, name))
        except NotFound:
            return explain.GONE
        return found

    patch.setattr(creating, "find_job", find_job)
    patch.setattr(one_pass, "find_job", find_job)


# What is remembered


def nothing_is_remembered(patch: Patch) -> None:
    """A Job that is gone was never there: no status, no last sight, no later Job tells of it."""

    def state(seen: Any, name: str, remembered: object) -> str | None:
        return seen.jobs[name].phase if name in seen.jobs else None

    patch.setattr(progress, "_state", state)
    patch.setattr(progress, "_proven_complete", lambda *_: ())


def departures_are_not_noted(patch: Patch) -> None:
    """The last sight of a Job that went is forgotten."""
    take = look.take_snapshot

    def taken(jobflow: Any, caches: Any, known: Any, *args: Any) -> Any:
        known.departed.clear()
        return take(jobflow, caches, known, *args)

    patch.setattr(look, "take_snapshot", taken)


# Phases, deletes, counters


def deletes_before_succeed_is_stored(patch: Patch) -> None:
    """Jobs are deleted as soon as all have completed, whatever is stored."""

    def leftovers(seen: Any, stored: Any) -> Iterator[DeleteJob]:
        jobs = [seen.jobs.get(child_name(stored.name, flow.name)) for flow in stored.flows]
        if stored.deletes_jobs and all(job and job.phase == JobPhase.COMPLETED for job in jobs):
            yield from (DeleteJob(job.name, job.uid, job.metadata.resource_version) for job in jobs)

    patch.setattr(one_pass, "leftovers", leftovers)
    patch.setattr(one_pass, "may_delete_jobs", lambda jobflow: True)


def counted_before_the_write(patch: Patch) -> None:
    """Volcano's counters count what is about to be written."""
    write = one_pass.Pass._write
    count = VolcanosCounters.count

    async def written(self: Any, known: Any, wanted: Any) -> None:
        jobflow = known.seen.jobflow
        count(self._means.counters, jobflow.namespace, before=jobflow.phase, after=wanted.state.phase)
        await write(self, known, wanted)

    patch.setattr(one_pass.Pass, "_write", written)
    patch.setattr(VolcanosCounters, "count", lambda *_, **__: None)


def dependencies_do_not_matter(patch: Patch) -> None:
    """Every entry is ready."""
    patch.setattr(plan, "is_ready", lambda *_: True)


# Guards of writes


def deletes_without_uid(patch: Patch) -> None:
    """Deletes have no precondition."""
    write = KubeClient.write

    async def written(self: Any, verb: str, resource: Any, request: Any, guard: Any = None) -> bytes:
        return await write(self, verb, resource, request._replace(body=b"{}") if verb == "delete" else request, guard)

    patch.setattr(KubeClient, "write", written)


def deletes_whatever_has_become_of_it(patch: Patch) -> None:
    """Deletes go by the uid alone: a Job whose owner was taken away meanwhile goes as well."""
    write = KubeClient.write

    async def written(self: Any, verb: str, resource: Any, request: Any, guard: Any = None) -> bytes:
        if verb == "delete":
            options = msgspec.json.decode(request.body)
            options["preconditions"].pop("resourceVersion", None)
            request = request._replace(body=msgspec.json.encode(options))
        return await write(self, verb, resource, request, guard)

    patch.setattr(KubeClient, "write", written)


def statuses_without_version(patch: Patch) -> None:
    """Patches carry no resourceVersion."""
    make = status_patch

    def made(*args: Any) -> bytes:
        return msgspec.json.encode(msgspec.json.decode(make(*args))[1:])

    patch.setattr(one_pass, "status_patch", made)


def the_lease_is_not_checked(patch: Patch) -> None:
    """Whoever once led writes on."""
    patch.setattr(Leader, "check", lambda self: None)


# Wake-ups


def failures_are_not_retried(patch: Patch) -> None:
    """A key whose pass failed is forgotten."""
    patch.setattr(WorkQueue, "retry", lambda *_, **__: 0.0)


def nothing_is_looked_at_again_by_itself(patch: Patch) -> None:
    """A key that wanted to be looked at after a while is not."""
    patch.setattr(WorkQueue, "add_after", lambda *_, **__: None)


def deletions_wake_nobody(patch: Patch) -> None:
    """Handlers do not hear of what is gone."""
    tell = Informer._tell

    def told(self: Any, old: Any, new: Any, /, *, initial: bool) -> None:
        if new is not None:
            tell(self, old, new, initial=initial)

    patch.setattr(Informer, "_tell", told)


def a_relist_tells_of_no_deletions(patch: Patch) -> None:
    """What vanished while nobody watched stays in the cache."""
    exchange = Cache.replace

    def kept(self: Any, objects: Any, **options: Any) -> Any:
        return exchange(self, objects, **{**options, "keep": [it.key for it in self]})

    patch.setattr(Cache, "replace", kept)


MUTANTS: Final = {
    made.switch_off.__name__: made
    for made in (
        Mutant(no_live_look, ("churn", "plain"), ("I3", "I6")),
        Mutant(a_live_look_serves_for_ever, ("churn", "plain", "leaders"), ("I3", "I6")),
        Mutant(a_look_is_not_asked_for_its_age_once_there_is_a_connection, ("plain", "churn", "leaders"), ("I3", "I6")),
        Mutant(finished_flows_may_start_jobs, ("tampering", "two"), ("I3",)),
        Mutant(own_by_name, ("strangers", "churn"), ("I1", "I5", "I7", "I6")),
        Mutant(what_exists_already_is_ours, ("strangers", "churn"), ("I1", "I5", "I7", "L1")),
        Mutant(nothing_is_remembered, ("ttl", "hands"), ("I2", "I12", "L1", "I4")),
        Mutant(departures_are_not_noted, ("ttl",), ("I2", "I5", "L1")),
        Mutant(deletes_before_succeed_is_stored, ("plain",), ("I6", "L1")),
        Mutant(counted_before_the_write, ("plain", "failing"), ("I8",)),
        Mutant(dependencies_do_not_matter, ("plain",), ("I1",)),
        Mutant(deletes_without_uid, ("plain",), ("I10",)),
        Mutant(deletes_whatever_has_become_of_it, ("departing",), ("I6",)),
        Mutant(statuses_without_version, ("plain",), ("I10",)),
        Mutant(the_lease_is_not_checked, ("leaders",), ("I13",)),
        Mutant(failures_are_not_retried, ("plain", "two"), ("L1",)),
        Mutant(nothing_is_looked_at_again_by_itself, ("plain", "refused"), ("L1",)),
        Mutant(deletions_wake_nobody, ("hands", "strangers"), ("L1", "I2", "I5")),
        Mutant(a_relist_tells_of_no_deletions, ("hands", "churn"), ("L1",)),
    )
}
