"""The JobTemplate: a Volcano Job spec under a name."""

from msgspec import Raw, Struct

from shared.api.meta import Named


class JobTemplateStatus(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """`status` of a JobTemplate. The list's name is Volcano's; it holds the Jobs made from this template."""

    job_depends_on_list: tuple[str, ...] = ()


class JobTemplate(Named, frozen=True, gc=False):
    """`flow.volcano.sh/v1alpha1` JobTemplate, its Job spec kept as the JSON that it came in.

    A Job is made from exactly that, so that no field that this program does not know is lost.
    """

    spec: Raw = Raw(b"{}")
    status: JobTemplateStatus = JobTemplateStatus()
