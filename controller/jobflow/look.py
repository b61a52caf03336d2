"""Take the picture of one JobFlow that its decisions are made from, out of the caches and what is remembered."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from controller.jobflow.memory import Memory
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.triggers import OWNER
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.flow.names import child_name
from shared.kube.cache import Reader
from shared.rules.answer import answer
from shared.rules.jobflow import plan_faults


class Caches(NamedTuple):
    """Local copies of what is in the cluster, each at most a little behind the truth."""

    jobflows: Reader[JobFlow]
    templates: Reader[JobTemplate]
    jobs: Reader[Job]


def take_snapshot(jobflow: JobFlow, caches: Caches, memory: Memory, now: datetime, moment: float) -> Snapshot:
    """What is known of `jobflow` now. `moment` is now on the monotonic clock."""
    jobs = memory.own_jobs({job.name: job for job in caches.jobs.indexed(OWNER, jobflow.uid)}, moment)
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
        passed={name: tuple(steps) for name, steps in memory.passed.items()},
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
