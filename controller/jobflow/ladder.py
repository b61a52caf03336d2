"""Keep a status small enough to be stored: etcd refuses an object over 1.5 MB, and a JobFlow may have 5,000 entries.

What the controller itself must remember, which entry was created and which Completed, is never left out.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from controller.jobflow.explain import shortened
from controller.jobflow.progress import LOST
from controller.jobflow.status import WAITING
from shared.api.job import FINAL
from shared.api.jobflow import JobFlowStatus, JobStatus

SHORTENED: Final = "status shortened to fit: "
"""What the message of a status begins with that something was left out of."""

LARGEST: Final = 1_400_000
"""Bytes of JSON that the whole object may take."""

_FINISHED: Final = FINAL | {LOST}


def fitted(status: JobFlowStatus, besides: int) -> JobFlowStatus:
    """The status, less what has to go for the whole object to fit, and the message says what went.

    `besides` is what the object takes without its status, in bytes of JSON.
    """
    if size_of(status) + besides <= LARGEST:
        return status
    shrunk, went = status, ""
    for what, shorten in _RUNGS:
        shrunk, went = shorten(shrunk), what
        told = _telling(shrunk, went)
        if size_of(told) + besides <= LARGEST:
            return told
    return _telling(shrunk, went)


def size_of(status: JobFlowStatus) -> int:
    """Bytes of JSON that a status takes."""
    return len(msgspec.json.encode(status))


def _telling(status: JobFlowStatus, went: str) -> JobFlowStatus:
    note = f"{SHORTENED}{went}"
    said = f"{note}; {status.state.message}" if status.state.message else note
    return replace(status, state=replace(status.state, message=shortened(said)))


def _records(status: JobFlowStatus, change: Callable[[JobStatus], JobStatus]) -> JobFlowStatus:
    records = tuple(change(it) if it.state in _FINISHED else it for it in status.job_status_list)
    return replace(status, job_status_list=records)


def _shorten_histories(status: JobFlowStatus) -> JobFlowStatus:
    def change(it: JobStatus) -> JobStatus:
        histories = it.running_histories
        return it if len(histories) < 3 else replace(it, running_histories=(histories[0], histories[-1]))

    return _records(status, change)


def _drop_histories(status: JobFlowStatus) -> JobFlowStatus:
    return _records(status, lambda it: replace(it, running_histories=()))


def _drop_conditions(status: JobFlowStatus) -> JobFlowStatus:
    return replace(status, conditions={name: it for name, it in status.conditions.items() if it.phase not in _FINISHED})


def _drop_times(status: JobFlowStatus) -> JobFlowStatus:
    return _records(status, lambda it: JobStatus(name=it.name, state=it.state))


def _drop_waiting(status: JobFlowStatus) -> JobFlowStatus:
    return replace(status, conditions={name: it for name, it in status.conditions.items() if it.phase != WAITING})


_RUNGS: Final[Sequence[tuple[str, Callable[[JobFlowStatus], JobFlowStatus]]]] = (
    ("histories of finished Jobs have first and last phase only", _shorten_histories),
    ("histories of finished Jobs left out", _drop_histories),
    ("histories and conditions of finished Jobs left out", _drop_conditions),
    ("histories, conditions, times and counts of finished Jobs left out", _drop_times),
    ("all of finished Jobs but their states, and conditions of waiting entries, left out", _drop_waiting),
)
