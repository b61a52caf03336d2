"""Say which Jobs exist from a JobTemplate, and which templates a change of a Job touches."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from shared.api.job import Job
from shared.api.jobtemplate import JobTemplate, JobTemplateStatus
from shared.api.meta import Key
from shared.api.names import CREATED_BY_JOBTEMPLATE, FLOW_GROUP, JOBFLOW

LONGEST: Final = 1000
"""Jobs that a template's status names; the first by name, where there are more."""

TEMPLATE: Final = "template"
"""Index of Jobs by the JobTemplate that they were made from, as `<namespace>/<name>`."""


def template_of(job: Job) -> Key | None:
    """The JobTemplate that a JobFlow made this Job from.

    The annotation tells, for the label may be cut. It is `<namespace>.<name>`; a namespace has no dot, a name may.
    """
    owner = job.metadata.controller
    if not owner or owner.kind != JOBFLOW or owner.api_version.partition("/")[0] != FLOW_GROUP:
        return None
    namespace, _, name = (job.metadata.annotation(CREATED_BY_JOBTEMPLATE) or "").partition(".")
    return Key(namespace, name) if name and namespace == job.metadata.namespace else None


def template_keys(job: Job) -> Iterable[str]:
    """The values of a Job in the index `TEMPLATE`."""
    template = template_of(job)
    return (str(template),) if template else ()


def on_job(old: Job | None, new: Job | None) -> Iterator[Key]:
    """The templates to look at when a Job came, went, or says that it is from another template."""
    before, after = (template_of(job) if job else None for job in (old, new))
    if before != after:
        yield from (key for key in (before, after) if key)


def on_jobtemplate(old: JobTemplate | None, new: JobTemplate | None) -> Iterator[Key]:
    """A template that is new, or whose status somebody wrote, is looked at."""
    if new and (old is None or old.status != new.status):
        yield new.key


def jobs_made(jobs: Iterable[Job]) -> JobTemplateStatus:
    """The status that is true when `jobs` exist from a template."""
    return JobTemplateStatus(job_depends_on_list=tuple(sorted(job.name for job in jobs)[:LONGEST]))


def status_patch(template: JobTemplate, wanted: JobTemplateStatus) -> bytes:
    """The JSON patch that makes `wanted` of the status of this version of the template, and of no other."""
    names = list(wanted.job_depends_on_list)
    return msgspec.json.encode(
        [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": template.metadata.resource_version},
            {"op": "add", "path": "/status", "value": {"jobDependsOnList": names} if names else {}},
        ]
    )
