"""Write a change of status as a JSON patch (RFC 6902) that carries what differs and little else.

A status of 1,000 entries is 400 KB, and most of it stays as it was. The patch carries the resourceVersion that it was
made from: the API server answers Conflict if the object is another by then (Kubernetes' optimistic concurrency).
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from shared.api.jobflow import JobFlow, JobFlowStatus

JSON = Any
Operation = dict[str, JSON]

MOST_OPERATIONS: Final = 5_000
"""More become one: the API server refuses a patch of more than 10,000."""

MANY: Final = 100
"""Entries of a status of which half may have changed before it is sent as a whole."""

_OWN: Final[dict[str, Any]] = {
    "progress": None,
    "observed_generation": None,
    "start_time": None,
    "completion_time": None,
}


def differs(stored: JobFlowStatus, wanted: JobFlowStatus) -> bool:
    """A write would change something.

    Volcano's own CRD prunes the fields that only ours knows. A stored status with a phase but none of those fields came
    back from such a CRD, or from Volcano's controller, and they are no reason to write.
    """
    if stored.state.phase and stored == _volcanos(stored):
        return stored != _volcanos(wanted)
    return stored != wanted


def _volcanos(status: JobFlowStatus) -> JobFlowStatus:
    """The status with Volcano's fields alone."""
    return replace(status, **_OWN, state=replace(status.state, reason=None, message=None))


def status_patch(stored: JobFlow, wanted: JobFlowStatus) -> bytes:
    """The JSON patch that makes `wanted` of the status in `stored`, and of no other version of that object."""
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": stored.metadata.resource_version}
    whole = [guard, _add("/status", wanted)]
    if _is_mostly_new(stored.status, wanted):
        return msgspec.json.encode(whole)
    before, after = msgspec.to_builtins(stored.status), msgspec.to_builtins(wanted)
    operations = list(_members("/status", before, after))
    return msgspec.json.encode([guard, *operations] if before and len(operations) <= MOST_OPERATIONS else whole)


def _is_mostly_new(stored: JobFlowStatus, wanted: JobFlowStatus) -> bool:
    """To look for what stays, and to tell it apart, would cost more than to send all."""
    before, after = stored.job_status_list, wanted.job_status_list
    same = sum(one == other for one, other in zip(before, after, strict=False))
    return len(after) > MANY and same < len(after) / 2


def _members(path: str, before: dict[str, JSON], after: dict[str, JSON]) -> Iterator[Operation]:
    for key in sorted(before.keys() - after.keys()):
        yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        below = f"{path}/{_escaped(key)}"
        if key not in before:
            yield _add(below, value)
        elif before[key] != value:
            yield from _changed(below, before[key], value)


def _changed(path: str, before: JSON, after: JSON) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(path, before, after)
    elif isinstance(before, tuple) and isinstance(after, tuple):  # what msgspec makes of a tuple
        yield from _items(path, before, after)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _items(path: str, before: tuple[JSON, ...], after: tuple[JSON, ...]) -> Iterator[Operation]:
    """Keep the common beginning and end of two lists, and change what lies between."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    both = min(len(old), len(new))
    for i in range(both):
        if old[i] != new[i]:
            yield from _changed(f"{path}/{head + i}", old[i], new[i])
    for i in reversed(range(both, len(old))):
        yield {"op": "remove", "path": f"{path}/{head + i}"}
    for i in range(both, len(new)):
        yield _add(f"{path}/{head + i}", new[i])


def _add(path: str, value: JSON) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
