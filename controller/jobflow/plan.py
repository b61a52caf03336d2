"""Decide what one JobFlow needs next.

Every function here answers from its arguments alone. `snapshot.py` says what a decision may look at, `reconcile.py`
carries out what is decided. Once that has taken effect and nothing else has changed, there is nothing more to do.
"""

from collections.abc import Collection, Iterable, Iterator

from controller.jobflow.actions import CreateJob, DeleteJob
from controller.jobflow.build import build_job
from controller.jobflow.phase import phase_of
from controller.jobflow.progress import Progress
from controller.jobflow.snapshot import Snapshot
from shared.api.job import JobPhase
from shared.api.jobflow import FINISHED, Flow, JobFlow, Phase
from shared.api.jobtemplate import JobTemplate
from shared.flow.names import child_name


def starts(
    seen: Snapshot, progress: Progress, *, among: Iterable[Flow] | None = None, underway: Collection[str] = ()
) -> Iterator[CreateJob]:
    """Yield the Jobs whose dependencies have completed and that were never created, in the order of `spec.flows`.

    With `among` given no other entries are looked at; those in `underway` are being started as it is. Where the last
    attempt was refused, the next one waits for its time, or for another template. A name that a stranger's Job bears is
    not tried at all: when that Job goes, the JobFlow is woken.
    """
    jobflow = seen.jobflow
    if seen.faults or phase_of(seen, progress) in FINISHED:
        return
    for flow in jobflow.flows if among is None else among:
        if flow.name in progress.states or flow.name in underway or not is_ready(flow, progress):
            continue
        template, name = seen.templates.get(flow.name), child_name(jobflow.name, flow.name)
        if template is None or name in seen.strangers:
            continue
        version = template_version(template)
        problem = seen.problems.get(flow.name)
        if problem and problem.waits and problem.template_version == version:
            continue
        yield CreateJob(flow.name, name, build_job(jobflow, flow, template), version)


def is_ready(flow: Flow, progress: Progress) -> bool:
    """An entry is ready once every entry that it depends on has completed."""
    return progress.completed.issuperset(flow.targets)


def template_version(template: JobTemplate) -> str:
    """What tells one version of a template's spec from another; its status may change without."""
    return f"{template.metadata.uid}/{template.metadata.generation}"


def leftovers(seen: Snapshot, stored: JobFlow) -> Iterator[DeleteJob]:
    """Yield the Jobs that the retain policy no longer wants, once `stored`, the JobFlow as it is stored, says Succeed.

    Only Jobs that are this JobFlow's own, belong to an entry and are Completed: a status that says Succeed may have
    been written by hand.
    """
    if stored.phase != Phase.SUCCEED or not stored.deletes_jobs or stored.metadata.is_deleting:
        return
    for flow in stored.flows:
        job = seen.jobs.get(child_name(stored.name, flow.name))
        if job and job.phase == JobPhase.COMPLETED and not job.metadata.is_deleting:
            yield DeleteJob(job.name, job.uid, job.metadata.resource_version)
