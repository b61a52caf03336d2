"""What is judged for which kind and operation, as a table: `ROWS`.

Judging is pure and may run in any thread. Where a verdict depends on what only the API server knows now, it is
`AskUsers`: whoever answers the request looks that up and lets it decide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shared.api.job_spec import JobTemplateInFull
from shared.api.jobflow import JobFlow
from shared.api.names import DEFAULT_MAX_FLOWS, JOBFLOW, JOBTEMPLATE
from shared.rules.difference import differences, meaning
from shared.rules.fault import SPEC
from shared.rules.jobflow import faults_on_create
from shared.rules.jobflow_update import faults_on_update
from shared.rules.jobflow_warnings import TemplateFacts, warnings_on_create
from shared.rules.jobtemplate import DEFAULTS, faults_in_jobtemplate
from webhook import guards
from webhook.glance import is_plainly_right
from webhook.review import Body, MalformedReviewError, Operation, Request, read_review, write_review
from webhook.shapes import MisshapenError, read
from webhook.verdict import ALLOWED, Verdict, allowed, broken, invalid, malformed


class Known(Struct, frozen=True):
    """What judging may depend on besides the request."""

    max_flows: int = DEFAULT_MAX_FLOWS
    templates: Callable[[str], TemplateFacts | None] = lambda namespace: None
    """What a namespace has of JobTemplates, None while that is not known."""


@dataclass(frozen=True, slots=True)
class AskUsers:
    """The verdict depends on who uses this JobTemplate."""

    template: guards.StoredJobTemplate
    namespace: str

    @property
    def name(self) -> str:
        """The JobTemplate's."""
        return self.template.metadata.name

    def decide(self, users: Sequence[str]) -> Verdict:
        """The verdict, now that the first few users are known."""
        return guards.delete_used_jobtemplate(self.template, users)

    def give_up(self) -> Verdict:
        """The verdict where the users could not be known in time."""
        return guards.cannot_verify(self.template)


class Judged(Struct, frozen=True):
    """A request, None where there is none that could be read, and what was decided about it."""

    uid: str
    resource: str
    request: Request | None
    verdict: Verdict | AskUsers
    error: Exception | None = None
    """A fault of ours, because of which it could not be judged. It is for the log."""

    @property
    def operation(self) -> str:
        """CREATE, UPDATE, DELETE, or unknown."""
        return self.request.operation.value if self.request else UNKNOWN

    def without_objects(self) -> "Judged":
        """The same, less what takes memory and has been judged."""
        if self.request is None:
            return self
        request = replace(self.request, name=self.request.object_name, object=None, old_object=None)
        return replace(self, request=request)

    def answer(self, verdict: Verdict) -> bytes:
        """The verdict as it is sent."""
        name = self.request.object_name if self.request else ""
        return write_review(self.uid, verdict, KINDS[self.resource], name)


def judge(body: Body, resource: str, known: Known) -> Judged:
    """What is to be answered to `body`, which was sent to the path of `resource`.

    Raises MalformedReviewError for what cannot even be answered with a review, and nothing else.
    """
    try:
        request = read_review(body, resource, KINDS[resource])
    except MalformedReviewError as wrong:
        if wrong.uid is None:
            raise
        return Judged(wrong.uid, resource, None, malformed(str(wrong)))
    judged = partial(Judged, request.uid, resource, request)
    try:
        return judged(ROWS[resource, request.operation](request, known))
    except MisshapenError as wrong:
        return judged(invalid(wrong.faults))
    except Exception as error:
        return judged(broken(), error)


def create_jobflow(request: Request, known: Known) -> Verdict:
    """A JobFlow that can never finish is refused before it begins."""
    jobflow = read(request.new, JobFlow)
    size = len(msgspec.json.encode(request.new))
    if not is_plainly_right(jobflow, known.max_flows, size):
        faults = faults_on_create(jobflow, max_flows=known.max_flows, size=size)
        if faults:
            return invalid(faults)
    return allowed(warnings_on_create(jobflow, known.templates(request.namespace)))


def update_jobflow(request: Request, _: Known) -> Verdict:
    """A JobFlow's spec stays as it was created; everything else may change."""
    faults = faults_on_update(request.old.get("spec"), request.new.get("spec"))
    return invalid(faults) if faults else ALLOWED


def delete_jobflow(request: Request, _: Known) -> Verdict:
    """Unfinished JobFlows are not deleted by accident."""
    return guards.delete_jobflow(read(request.old, guards.StoredJobFlow), request.user_info.username)


def create_jobtemplate(request: Request, _: Known) -> Verdict:
    """A JobTemplate is one that Volcano takes as a Job."""
    faults = faults_in_jobtemplate(read(request.new, JobTemplateInFull))
    return invalid(faults) if faults else ALLOWED


def update_jobtemplate(request: Request, known: Known) -> Verdict:
    """A JobTemplate may change, for JobFlows that come to it later; it is then judged as a new one."""
    old, new = (meaning(each.get("spec"), DEFAULTS) for each in (request.old, request.new))
    if not any(differences(old, new, SPEC)):
        return ALLOWED
    return create_jobtemplate(request, known)


def delete_jobtemplate(request: Request, _: Known) -> Verdict | AskUsers:
    """JobTemplates that unfinished JobFlows need are not deleted."""
    template = read(request.old, guards.StoredJobTemplate)
    verdict = guards.delete_jobtemplate(template, request.user_info.username)
    return verdict or AskUsers(template, request.namespace)


UNKNOWN: Final = "unknown"
"""The operation of a request that could not be read."""

KINDS: Final[Mapping[str, str]] = {"jobflows": JOBFLOW, "jobtemplates": JOBTEMPLATE}
"""Resources that are judged, and the kinds of their objects."""

ROWS: Final[Mapping[tuple[str, Operation], Callable[[Request, Known], Verdict | AskUsers]]] = {
    ("jobflows", Operation.CREATE): create_jobflow,
    ("jobflows", Operation.UPDATE): update_jobflow,
    ("jobflows", Operation.DELETE): delete_jobflow,
    ("jobtemplates", Operation.CREATE): create_jobtemplate,
    ("jobtemplates", Operation.UPDATE): update_jobtemplate,
    ("jobtemplates", Operation.DELETE): delete_jobtemplate,
}
