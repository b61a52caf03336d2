"""What may become of a Job: the phases that Volcano's Job controller takes it through, and how it goes.

Facts of Volcano's Job controller: it may restart, suspend, complete or terminate a Job by a policy in any phase that is
not final; a Job that ran may be pending again; what is suspended may be resumed, which is a restart.
"""

from collections.abc import Mapping
from typing import Final

from shared.api.job import JobPhase

P = JobPhase
NEW: Final = ""
"""A Job that its controller has not seen yet."""

_BY_POLICY: Final = (P.RESTARTING, P.ABORTING, P.COMPLETING, P.TERMINATING)

EVERY_PHASE: Final[Mapping[str, tuple[str, ...]]] = {
    NEW: (P.PENDING,),
    P.PENDING: (P.RUNNING, P.FAILED, *_BY_POLICY),
    P.RUNNING: (P.PENDING, P.COMPLETED, P.FAILED, *_BY_POLICY),
    P.RESTARTING: (P.PENDING, P.FAILED, P.TERMINATING),
    P.ABORTING: (P.ABORTED, P.RESTARTING),
    P.ABORTED: (P.RESTARTING,),
    P.COMPLETING: (P.COMPLETED, P.FAILED),
    P.TERMINATING: (P.TERMINATED,),
    P.COMPLETED: (),
    P.TERMINATED: (),
    P.FAILED: (),
}
"""After each phase those that may follow."""

SOME_PHASES: Final[Mapping[str, tuple[str, ...]]] = {
    NEW: (P.RUNNING, P.ABORTED),
    P.RUNNING: (NEW, P.COMPLETED, P.FAILED, P.ABORTED),
    P.ABORTED: (P.RUNNING,),
    P.COMPLETED: (),
    P.FAILED: (),
}
"""One phase of each kind that a JobFlow may tell apart: not begun, running, suspended, and the two ends."""

FEWEST_PHASES: Final[Mapping[str, tuple[str, ...]]] = {
    NEW: (P.RUNNING,),
    P.RUNNING: (NEW, P.COMPLETED, P.FAILED),
    P.COMPLETED: (),
    P.FAILED: (),
}
"""The same without those that are suspended."""
