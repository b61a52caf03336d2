"""What may be deleted. Pure: a stored object and who asks, to a verdict.

The API server hands over exactly the version that would be deleted, so a JobFlow's deletion is decided from that
alone. Whether a JobTemplate is in use cannot be seen from the JobTemplate: its guard gets the users as an argument.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from shared.api.jobflow import FINISHED, State
from shared.api.meta import ObjectMeta
from shared.api.names import ALLOW_DELETE
from shared.rules.fault import shown
from webhook.verdict import ALLOWED, Verdict, allowed, forbidden, unavailable

CLEANERS: Final = frozenset(
    {
        "system:serviceaccount:kube-system:namespace-controller",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:kube-controller-manager",
    }
)
"""Who cleans up the cluster. What they delete is already gone for its users: its namespace, or its owner."""

MOST_NAMES: Final = 5
"""How many names a message lists before it says how many more there are."""

AUDIT: Final = {"allow-delete": f"annotation {ALLOW_DELETE}"}


class StoredStatus(Struct, frozen=True, rename="camel"):
    """What a JobFlow's status says to its guard."""

    state: State = State()
    running_jobs: tuple[str, ...] | None = None


class StoredJobFlow(Struct, frozen=True):
    """A JobFlow that somebody wants deleted."""

    metadata: ObjectMeta = ObjectMeta()
    status: StoredStatus = StoredStatus()


class StoredJobTemplate(Struct, frozen=True):
    """A JobTemplate that somebody wants deleted."""

    metadata: ObjectMeta = ObjectMeta()


def delete_jobflow(jobflow: StoredJobFlow, username: str) -> Verdict:
    """A JobFlow that has not finished is not deleted by accident, for its Jobs and their work would go with it."""
    if username in CLEANERS or jobflow.metadata.is_deleting or jobflow.status.state.phase in FINISHED:
        return ALLOWED
    if is_released(jobflow.metadata):
        return allowed(audit=AUDIT)
    running = jobflow.status.running_jobs or ()
    phase = jobflow.status.state.phase or "Pending"
    loss = f"with these Jobs running: {few(running)}" if running else "with none of its Jobs running right now"
    return forbidden(
        "not-while-unfinished",
        f"the JobFlow is {phase}, {loss}; deleting it would delete its Jobs and lose their work; "
        f"{way_out('jobflow', jobflow.metadata)}",
    )


def delete_jobtemplate(template: StoredJobTemplate, username: str) -> Verdict | None:
    """What can be said of a JobTemplate's deletion without knowing who uses it; None where that decides."""
    if username in CLEANERS or template.metadata.is_deleting:
        return ALLOWED
    return allowed(audit=AUDIT) if is_released(template.metadata) else None


def delete_used_jobtemplate(template: StoredJobTemplate, users: Sequence[str]) -> Verdict:
    """A JobTemplate stays while a JobFlow that has not finished names it, for that JobFlow could not go on."""
    if not users:
        return ALLOWED
    return forbidden(
        "not-while-in-use",
        f"JobFlows that have not finished use the JobTemplate: {few(users)}; delete it once they have finished; "
        f"{way_out('jobtemplate', template.metadata)}",
    )


def cannot_verify(template: StoredJobTemplate) -> Verdict:
    """The API server did not say in time who uses the JobTemplate, and it is not deleted on a guess."""
    return unavailable(
        "cannot-verify",
        f"cannot verify that no JobFlow uses it; try again; {way_out('jobtemplate', template.metadata)}",
    )


def is_released(metadata: ObjectMeta) -> bool:
    """Somebody has said that this object may go."""
    return metadata.annotation(ALLOW_DELETE) == "true"


def way_out(kind: str, metadata: ObjectMeta) -> str:
    """How to delete it all the same."""
    where = f"{metadata.name[:253]} -n {metadata.namespace[:63]}"
    return f"to delete it all the same, first run: kubectl annotate {kind} {where} {ALLOW_DELETE}=true"


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    listed = ", ".join(map(shown, names[:MOST_NAMES]))
    return f"{listed} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else listed
