"""Say what a pass has to tell of a JobFlow: the Events that `kubectl describe` shows as its story.

What has happened is told once, when the status that says so was stored: it is what differs from the status before.
What keeps a JobFlow from going on is told when the status says it first, and again where it says something else.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

from controller.jobflow.explain import (
    JOB_FAILED,
    JOB_LOST,
    JOB_REFUSED,
    NAME_CONFLICT,
    SPEC_INVALID,
    TEMPLATE_NOT_FOUND,
    matters,
)
from controller.jobflow.ladder import SHORTENED
from controller.jobflow.progress import LOST, Progress
from controller.jobflow.snapshot import Snapshot
from controller.runtime.telling import Told
from shared.api.event import NORMAL, WARNING
from shared.api.job import JobPhase
from shared.api.jobflow import JobFlow, JobFlowStatus, Phase

OBSTACLES_APART: Final = 60.0
"""Seconds between two Events that say different things of the same obstacle."""

ACTIONS: Final[Mapping[str, str]] = {
    SPEC_INVALID: "Validate",
    NAME_CONFLICT: "CreateJob",
    JOB_REFUSED: "CreateJob",
    TEMPLATE_NOT_FOUND: "CreateJob",
}
"""What the controller was about when it met an obstacle."""


class Narrator(Protocol):
    """Tells people what happens to JobFlows. It takes no time and never fails."""

    def tell(self, jobflow: JobFlow, story: Iterable[Told]) -> None:
        """Tell it of `jobflow`."""
        ...


class Silence:
    """Tells nobody anything."""

    def tell(self, jobflow: JobFlow, story: Iterable[Told]) -> None:
        """Tell nobody."""


def of_status(seen: Snapshot, progress: Progress, after: JobFlowStatus) -> Iterator[Told]:
    """What is to be told once the status `after`, which was made from `seen`, is stored."""
    before = seen.jobflow.status
    yield from _created(before, after)
    yield from obstacles(seen, progress, after)
    yield from _ended(before, after, matters(seen, progress, Phase.FAILED))
    yield from _truncated(before, after)
    yield from _finished(before, after)


def obstacles(seen: Snapshot, progress: Progress, after: JobFlowStatus) -> Iterator[Told]:
    """What keeps entries from starting, if the stored status does not say so yet.

    Volcano's own CRD drops what the status says about that: then it is told each time, and whoever writes Events folds
    it.
    """
    if after.state.phase not in (Phase.PENDING, Phase.RUNNING):
        return
    said = seen.jobflow.status.state.message or ""
    for reason, text in matters(seen, progress, Phase(after.state.phase)).items():
        if reason in ACTIONS and text not in said:
            yield Told(WARNING, reason, ACTIONS[reason], text, apart=OBSTACLES_APART)


def of_deletes(jobs: Iterable[str]) -> Iterator[Told]:
    """What is to be told once Jobs were deleted, as the retain policy wants it."""
    names = tuple(sorted(jobs))
    if names:
        texts = "Deleted {count} Jobs, as jobRetainPolicy says: {names}"
        yield Told(NORMAL, "JobsDeleted", "DeleteJobs", 'Deleted Job "{}", as jobRetainPolicy says', texts, names)


def _created(before: JobFlowStatus, after: JobFlowStatus) -> Iterator[Told]:
    known = {entry.name for entry in before.job_status_list}
    new = tuple(entry.name for entry in after.job_status_list if entry.name not in known)
    if new:
        yield Told(NORMAL, "JobsCreated", "CreateJobs", 'Created Job "{}"', "Created {count} Jobs: {names}", new)


def _ended(before: JobFlowStatus, after: JobFlowStatus, why: Mapping[str, str]) -> Iterator[Told]:
    known = {entry.name: entry.state for entry in before.job_status_list}
    new = {entry.name: entry.state for entry in after.job_status_list if known.get(entry.name) != entry.state}
    failed = tuple(name for name, state in new.items() if state in (JobPhase.FAILED, JobPhase.TERMINATED))
    lost = tuple(name for name, state in new.items() if state == LOST)
    if failed:
        yield Told(WARNING, JOB_FAILED, "WatchJobs", 'Job "{}" has failed', "{count} Jobs have failed: {names}", failed)
    if lost:
        one = why.get(JOB_LOST, "") if len(lost) == 1 else ""
        text = one.replace("{", "{{").replace("}", "}}") if f'"{lost[0]}"' in one and ";" not in one else ""
        texts = "{count} Jobs have vanished before they finished: {names}"
        yield Told(WARNING, JOB_LOST, "WatchJobs", text or 'Job "{}" has vanished before it finished', texts, lost)


def _truncated(before: JobFlowStatus, after: JobFlowStatus) -> Iterator[Told]:
    if (note := _shortening(after)) and note != _shortening(before):
        yield Told(NORMAL, "StatusTruncated", "WriteStatus", note)


def _shortening(status: JobFlowStatus) -> str:
    message = status.state.message or ""
    return message.partition(";")[0] if message.startswith(SHORTENED) else ""


def _finished(before: JobFlowStatus, after: JobFlowStatus) -> Iterator[Told]:
    if after.state.phase == before.state.phase:
        return
    if after.state.phase == Phase.SUCCEED:
        count = len(after.completed_jobs)
        text = "Its Job has completed" if count == 1 else f"All {count} Jobs have completed"
        yield Told(NORMAL, "JobFlowSucceeded", "Finish", text)
    elif after.state.phase == Phase.FAILED:
        text = f"Nothing new is started: {after.state.message}" if after.state.message else "Nothing new is started"
        yield Told(WARNING, "JobFlowFailed", "Finish", text)
