"""Server-side apply in its simplest form: what is applied is merged, and nobody owns a field."""

from devcluster.patches import MERGE_PATCH, apply_patch
from devcluster.resources import JSON


class ApplyConflict(Exception):  # noqa: N818 - it is an outcome
    """Other managers own fields that are applied; (manager, field) each."""

    def __init__(self, conflicts: list[tuple[str, str]]) -> None:
        super().__init__("conflict")
        self.conflicts = conflicts


def server_side_apply(
    live: JSON | None, applied: JSON, manager: str, force: bool, now: str, schema: JSON | None, subresource: str = ""
) -> JSON:
    """Return the object that an apply makes."""
    return apply_patch(MERGE_PATCH, live or {}, applied)


def track_update(
    old: JSON | None, new: JSON, manager: str, now: str, schema: JSON | None, subresource: str = ""
) -> None:
    """Keep metadata.managedFields in step with a write that is no apply."""
