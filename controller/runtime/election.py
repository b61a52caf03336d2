"""Decide when a Lease may be claimed, and what is written into it. Nothing here reads a clock: `leader.py` does.

What others have written is judged as client-go judges it: a Lease has run out when its record has not *changed* for as
long as it says itself, measured on the clock of whoever looks. The times in it were written by another clock, and are
never compared.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from shared.api.lease import LEASE_API_VERSION, Lease, LeaseSpec
from shared.api.meta import Key
from shared.api.times import format_micro_time

JSON = dict[str, Any]

NEVER: Final = float("-inf")
"""A moment before all others."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long who has to wait, in seconds; Kubernetes' names and defaults.

    A write that is sent within `renew_deadline` of the last renewal has to end within `lease_duration` of it.
    """

    lease_duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(slots=True)
class Sight:
    """The Lease as one candidate has seen it, and since when it has looked like that. Moments are monotonic seconds."""

    record: LeaseSpec | None = None
    since: float = NEVER
    deleted: bool = False

    def see(self, lease: Lease | None, now: float) -> None:
        """Take in what was just read; None for a Lease that is not there.

        A Lease that somebody has deleted keeps the record that it had: its holder may not know yet, and goes on
        writing until it does. It may have been renewed after we last saw it, so a whole term is left to its holder.
        """
        if lease is None:
            self.since, self.deleted = (self.since if self.deleted else now), True
            return
        self.deleted = False
        if lease.record != self.record:
            self.record, self.since = lease.record, now

    def free_at(self, identity: str, terms: Terms) -> float:
        """From when on `identity` may claim the Lease."""
        if self.record is None or self.record.holder_identity in (None, "", identity):
            return NEVER
        return self.since + (self.record.lease_duration_seconds or terms.lease_duration)


def new_lease(key: Key) -> JSON:
    """A Lease that nobody holds, as it is before it is claimed for the first time."""
    return {
        "apiVersion": LEASE_API_VERSION,
        "kind": "Lease",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "spec": {},
    }


def claimed(lease: JSON, identity: str, terms: Terms, now: datetime) -> JSON:
    """The Lease with `identity` as its holder from now on; all that is not about that stays."""
    before = _record(lease)
    transitions = {} if before == LeaseSpec() else {"leaseTransitions": (before.lease_transitions or 0) + 1}
    return _changed(
        lease,
        holderIdentity=identity,
        leaseDurationSeconds=terms.lease_duration,
        acquireTime=format_micro_time(now),
        renewTime=format_micro_time(now),
        **{"leaseTransitions": 0, **transitions},
    )


def renewed(lease: JSON, terms: Terms, now: datetime) -> JSON:
    """The Lease as its holder renews it."""
    return _changed(lease, leaseDurationSeconds=terms.lease_duration, renewTime=format_micro_time(now))


def released(lease: JSON, now: datetime) -> JSON:
    """The Lease as its holder gives it back: nobody's, and everybody may claim it at once (as client-go does it)."""
    at = format_micro_time(now)
    return _changed(lease, holderIdentity="", leaseDurationSeconds=1, acquireTime=at, renewTime=at)


def _record(lease: JSON) -> LeaseSpec:
    return msgspec.convert(lease, Lease).record


def _changed(lease: JSON, **fields: object) -> JSON:
    return {**lease, "spec": {**(lease.get("spec") or {}), **fields}}
