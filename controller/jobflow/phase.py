"""Say which phase a JobFlow is in.

The table is the whole policy, and Volcano's own but for what it gets wrong: a Terminated or lost Job is a failure at
once, and every transition that is due happens at once.
"""

from collections.abc import Callable, Mapping
from typing import Final

from controller.jobflow.progress import LOST, Progress, Tally
from controller.jobflow.snapshot import Snapshot
from shared.api.job import JobPhase
from shared.api.jobflow import Phase

Test = Callable[[Tally], bool]


def _has_failed(jobs: Tally) -> bool:
    return jobs.any(JobPhase.FAILED, JobPhase.TERMINATED, LOST)


def _has_begun(jobs: Tally) -> bool:
    return jobs.any(JobPhase.RUNNING, JobPhase.COMPLETING, JobPhase.COMPLETED, JobPhase.RESTARTING)


def _has_completed(jobs: Tally) -> bool:
    return jobs.all(JobPhase.COMPLETED)


TRANSITIONS: Final[Mapping[str, tuple[tuple[Test, Phase], ...]]] = {
    Phase.PENDING: ((_has_failed, Phase.FAILED), (_has_begun, Phase.RUNNING)),
    Phase.RUNNING: ((_has_completed, Phase.SUCCEED), (_has_failed, Phase.FAILED)),
    Phase.SUCCEED: (),
    Phase.FAILED: (),
    Phase.TERMINATING: (),
}


def phase_of(seen: Snapshot, progress: Progress) -> Phase:
    """The phase that this snapshot's JobFlow is in, once every transition that is due has happened.

    A spec that cannot be run keeps its phase: whoever mends it decides what is to become of it.
    """
    if seen.jobflow.metadata.is_deleting:
        return Phase.TERMINATING
    if seen.faults:
        return _known(seen.jobflow.phase)
    return settle(seen.jobflow.phase, progress.tally)


def settle(phase: str, jobs: Tally) -> Phase:
    """Follow the table from `phase` until no row applies; the first fitting row wins.

    A short Job may be Completed before anyone saw it Running. One pass then carries its JobFlow through both rows, for
    no later event would.
    """
    settled = _known(phase)
    while (after := _next(settled, jobs)) is not None:
        settled = after
    return settled


def _next(phase: Phase, jobs: Tally) -> Phase | None:
    return next((after for applies, after in TRANSITIONS[phase] if applies(jobs)), None)


def _known(phase: str) -> Phase:
    """A phase that is none (no one has looked yet, or somebody wrote nonsense) counts as Pending."""
    return Phase(phase) if phase in TRANSITIONS else Phase.PENDING
