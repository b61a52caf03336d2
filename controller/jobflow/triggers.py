"""Say which JobFlows are to be looked at again when something has changed.

Functions of what was and what is; the informers call them, and what they yield goes into the queue. A change carries
no meaning beyond that: every decision is made from what is true when its turn comes.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from controller.runtime.workqueue import Priority
from shared.api.job import Job
from shared.api.jobflow import FINISHED, JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.api.names import FLOW_GROUP, JOBFLOW
from shared.kube.cache import Reader

Wake = tuple[Key, Priority]

OWNER: Final = "owner"
"""Index of Jobs by the uid of their controlling owner."""

TEMPLATE: Final = "template"
"""Index of unfinished JobFlows by the JobTemplates that they name, as `<namespace>/<name>`."""


def owner_uids(job: Job) -> Iterable[str]:
    """The values of a Job in the index `OWNER`."""
    return (job.owner_uid,) if job.owner_uid else ()


def template_keys(jobflow: JobFlow) -> Iterable[str]:
    """The values of a JobFlow in the index `TEMPLATE`. One that starts nothing any more waits for no template."""
    if jobflow.phase in FINISHED:
        return ()
    return tuple({str(Key(jobflow.namespace, flow.name)) for flow in jobflow.flows})


def on_jobflow(old: JobFlow | None, new: JobFlow | None) -> Iterator[Wake]:
    """A JobFlow was added, changed or deleted."""
    jobflow = new or old
    if jobflow:
        yield jobflow.key, priority_of(jobflow)


def on_job(old: Job | None, new: Job | None, jobflows: Reader[JobFlow]) -> Iterator[Wake]:
    """A Job was added, changed or deleted: its owner, and the JobFlow that wants its name for a Job of its own.

    The latter waits for a stranger's Job to go. Both old and new count, for an owner may have been taken away.
    """
    for job in (old, new):
        owner = job.metadata.controller if job else None
        if job and owner and owner.kind == JOBFLOW and owner.api_version.partition("/")[0] == FLOW_GROUP:
            yield Key(job.metadata.namespace, owner.name), Priority.STARTED
    job = new or old
    if job and (old is None or new is None or old.owner_uid != new.owner_uid):
        for jobflow in claimants(job, jobflows):
            yield jobflow.key, Priority.STARTED


def claimants(job: Job, jobflows: Reader[JobFlow]) -> Iterator[JobFlow]:
    """The JobFlows that `job` is not of, and one of whose child names it bears: wherever a hyphen may divide it."""
    at = job.name.find("-")
    while at > 0:
        jobflow = jobflows.get(Key(job.metadata.namespace, job.name[:at]))
        if jobflow and jobflow.uid != job.owner_uid and any(flow.name == job.name[at + 1 :] for flow in jobflow.flows):
            yield jobflow
        at = job.name.find("-", at + 1)


def on_jobtemplate(old: JobTemplate | None, new: JobTemplate | None, jobflows: Reader[JobFlow]) -> Iterator[Wake]:
    """A JobTemplate was added, changed or deleted: the unfinished JobFlows that name it. A new status is no change."""
    template = new or old
    if template is None or (old and new and old.spec == new.spec):
        return
    for jobflow in jobflows.indexed(TEMPLATE, str(template.key)):
        yield jobflow.key, priority_of(jobflow)


def priority_of(jobflow: JobFlow) -> Priority:
    """What was started comes before what is new, so that a thousand JobFlows posted at once end one after the other."""
    return Priority.STARTED if jobflow.status.job_status_list else Priority.NEW
