"""Take the picture of one JobFlow that its decisions are made from, out of the caches and what is remembered.

To look at everything takes time that grows with the JobFlow, and each of its Jobs changes three times. So what was seen
a moment ago is kept, and as long as nothing but the phases of its own Jobs has changed, only those are looked at.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from controller.jobflow.memory import Look, Memory
from controller.jobflow.progress import advanced, progress_of
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.triggers import OWNER
from shared.api.job import Job, JobPhase
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.flow.names import child_name
from shared.kube.cache import Reader
from shared.rules.answer import answer
from shared.rules.jobflow import plan_faults

LOOK_AT_ALL: Final = 1.0
"""Seconds after which everything is looked at again, whatever has changed."""


class Caches(NamedTuple):
    """Local copies of what is in the cluster, each at most a little behind the truth."""

    jobflows: Reader[JobFlow]
    templates: Reader[JobTemplate]
    jobs: Reader[Job]


def look(
    jobflow: JobFlow,
    caches: Caches,
    memory: Memory,
    *,
    now: datetime,
    moment: float,
    absent: Mapping[str, str] = MappingProxyType({}),
) -> Look:
    """What is known of `jobflow` now, and how far its entries have come. `moment` is now on the monotonic clock.

    `absent` are the Jobs that a live read did not find. The look is remembered, and what changes from now on is news.
    """
    found = None if absent else _look_at_news(jobflow, caches, memory, now, moment)
    if found is None:
        seen = replace(take_snapshot(jobflow, caches, memory, now, moment), absent=absent)
        found = Look(seen, progress_of(seen), memory.shape_of(jobflow), moment, None)
    memory.look, memory.news, memory.all_is_news = found, set(), False
    return found


def _look_at_news(jobflow: JobFlow, caches: Caches, memory: Memory, now: datetime, moment: float) -> Look | None:
    """The last look with the Jobs that changed since; None where more than their phases may have changed."""
    before = memory.look
    if before is None or moment - before.at > LOOK_AT_ALL or not _says_what_was_seen(jobflow, before, memory):
        return None
    of_before = before.seen.departed or before.seen.absent or before.seen.problems
    if of_before or memory.all_is_news or memory.departed or memory.refusals:
        return None
    jobs: dict[str, Job] = {}
    for name in memory.news:
        answered, _ = memory.created.get(name, (None, 0.0))
        cached = caches.jobs.get(Key(jobflow.namespace, name))
        if name not in before.shape.entries or not (answered or (cached and name in before.seen.jobs)):
            return None
        job = cached or answered
        if job is None or job.owner_uid != jobflow.uid:
            return None
        if before.shape.entries[name].name in before.progress.completed and job.phase != JobPhase.COMPLETED:
            return None  # it depends on what the status remembers
        jobs[name] = job
    for name in jobs:
        if caches.jobs.get(Key(jobflow.namespace, name)):
            memory.created.pop(name, None)
    states = {before.shape.entries[name].name: job.phase for name, job in jobs.items()}
    progress = advanced(before.progress, states) if states else before.progress
    templates = dict(before.seen.templates)
    for flow in states:
        templates.pop(flow, None)
    seen = replace(
        before.seen,
        jobflow=jobflow,
        now=now,
        jobs={**before.seen.jobs, **jobs},
        templates=templates,
        passed=memory.steps(),
    )
    completed = progress.completed - before.progress.completed if states else ()
    ripe = {flow.name: flow for done in completed for flow in before.shape.followers.get(done, ())}
    return Look(seen, progress, before.shape, before.at, tuple(ripe.values()))


def _says_what_was_seen(jobflow: JobFlow, before: Look, memory: Memory) -> bool:
    """The JobFlow is what was looked at before, or differs in the status alone, which this process wrote after that."""
    known, now = before.seen.jobflow.metadata, jobflow.metadata
    return before.seen.jobflow is jobflow or (
        now.resource_version == memory.written_version
        and (now.uid, now.generation, now.is_deleting) == (known.uid, known.generation, known.is_deleting)
    )


def take_snapshot(jobflow: JobFlow, caches: Caches, memory: Memory, now: datetime, moment: float) -> Snapshot:
    """What is known of `jobflow` now. `moment` is now on the monotonic clock."""
    jobs = memory.own_jobs(
        {job.name: job for job in caches.jobs.indexed(OWNER, jobflow.uid)},
        lambda name: caches.jobs.get(Key(jobflow.namespace, name)),
        moment,
    )
    started = {entry.name for entry in jobflow.status.job_status_list}
    templates: dict[str, JobTemplate] = {}
    strangers: set[str] = set()
    for flow in jobflow.flows:
        name = child_name(jobflow.name, flow.name)
        if name in jobs:
            continue
        job = caches.jobs.get(Key(jobflow.namespace, name))
        if job and job.owner_uid != jobflow.uid:
            strangers.add(name)
        template = caches.templates.get(Key(jobflow.namespace, flow.name)) if name not in started else None
        if template:
            templates[flow.name] = template
    return Snapshot(
        jobflow=jobflow,
        now=now,
        jobs=jobs,
        templates=templates,
        departed=dict(memory.departed),
        absent={},
        strangers=frozenset(strangers),
        problems=memory.problems(moment),
        passed=memory.steps(),
        faults=_faults(jobflow, memory, jobs),
    )


def _faults(jobflow: JobFlow, memory: Memory, jobs: Mapping[str, Job]) -> tuple[str, ...]:
    """What makes the spec impossible to run. One that is sound is judged once."""
    generation = f"{jobflow.metadata.generation}"
    if memory.faults is None or memory.faults[0] != generation or memory.faults[1]:
        began = {entry.name for entry in jobflow.status.job_status_list} | jobs.keys()
        started = [flow.name for flow in jobflow.flows if child_name(jobflow.name, flow.name) in began]
        told = answer(plan_faults(jobflow, started=started)).causes
        memory.faults = generation, tuple(str(fault) for fault in told)
    return memory.faults[1]
