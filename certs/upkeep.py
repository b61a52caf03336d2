"""Bring a cluster's certificates up to date: look, ask `rotation.py` what is next, do it, and look again.

Waits are counted from the moment at which this very process has seen all as it is: nobody's clock is compared with
another's, and whoever comes after one that was killed, or beside one that works, simply waits for itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Protocol, TypeVar

from cryptography import x509

from certs.cluster import Look, Outdated
from certs.issue import Pair, issue_ca, issue_server
from certs.keys import new_key, new_serial
from certs.rotation import IssueAuthority, IssueServer, Publish, Step, Waits, Wanted, next_step
from shared.kube.backoff import Backoff
from shared.kube.errors import ApiError, Invalid

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0

MOST_STEPS = 40
"""Steps and waits of one run; a whole rotation of the CA takes six."""


class Contested(Exception):
    """What was done was undone by somebody else, again and again."""


class Objects(Protocol):
    """The objects that certificates live in; `cluster.py` has them."""

    async def look(self) -> Look:
        """Read them all."""
        ...

    async def store_authority(self, looked: Look, ca: Pair) -> None:
        """Store a CA with its key."""
        ...

    async def store_server(self, looked: Look, server: Pair, ca: x509.Certificate) -> None:
        """Store what the webhook serves with."""
        ...

    async def publish(self, looked: Look, bundles: tuple[bytes, ...]) -> None:
        """Write the CA bundles."""
        ...


async def patiently(attempt: Callable[[], Awaitable[T]], patience: float, random: Random) -> T:
    """Try until it works, for `patience` seconds. Raises what the last attempt raised; Invalid at once."""
    loop = asyncio.get_running_loop()
    backoff = Backoff(random, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
    until = loop.time() + patience
    while True:
        try:
            return await attempt()
        except (ApiError, Outdated) as failed:
            pause = max(backoff.after_failure(loop.time()), (isinstance(failed, ApiError) and failed.retry_after) or 0)
            if isinstance(failed, Invalid) or loop.time() + pause > until:
                raise
            log.info("trying again", extra={"reason": str(failed), "seconds": round(pause, 1)})
        await asyncio.sleep(pause)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass
class Upkeep:
    """One run of it. `now` is the wall clock, by which certificates are valid."""

    objects: Objects
    wanted: Wanted
    waits: Waits
    patience: float
    """Seconds for which the API server may fail or refuse before that is a failure of ours."""
    random: Random
    now: Callable[[], datetime] = utc_now

    async def run(self) -> None:
        """Do all that is to be done, with all waits.

        Raises ApiError or Outdated once the patience is at its end, and Contested where there is no end to it.
        """
        watch = _Watch()
        for _ in range(MOST_STEPS):
            left = await patiently(lambda: self._get_on(watch), self.patience, self.random)
            if left is None:
                return
            await asyncio.sleep(left)
        raise Contested("there is always something left to do: somebody else writes the same objects")

    async def _get_on(self, watch: "_Watch") -> float | None:
        """Look, and do the next step or return how long to wait with it; None once there is none."""
        looked = await self.objects.look()
        now = self.now().astimezone(UTC).replace(microsecond=0)
        step = next_step(looked.seen, self.wanted, now, self.waits)
        if step is None:
            log.info("certificates are up to date", extra=_expiries(looked))
            return None
        left = step.after.total_seconds() - watch.stood(looked.version)
        if left > 0:
            log.info("waiting", extra={"seconds": round(left, 1), "reason": step.why})
            return left
        await self._carry_out(step, looked, now)
        return 0

    async def _carry_out(self, step: Step, looked: Look, now: datetime) -> None:
        match step:
            case IssueAuthority():
                ca = issue_ca(new_key(), serial=new_serial(), now=now, name=self.wanted.authority)
                await self.objects.store_authority(looked, ca)
                log.info("certificate authority issued", extra={"reason": step.why, "expires": _end(ca.certificate)})
            case IssueServer(ca):
                server = issue_server(new_key(), ca=ca, names=self.wanted.names, serial=new_serial(), now=now)
                await self.objects.store_server(looked, server, ca.certificate)
                about = {"reason": step.why, "expires": _end(server.certificate), "names": self.wanted.names}
                log.info("server certificate issued", extra=about)
            case Publish(bundles):
                await self.objects.publish(looked, bundles)
                log.info("bundle published", extra={"reason": step.why})


class _Watch:
    """For how long all has stood as it is, since this process first saw it so."""

    def __init__(self) -> None:
        self._version: tuple[str, ...] = ()
        self._since = 0.0

    def stood(self, version: tuple[str, ...]) -> float:
        """Seconds since `version` was first seen, with none seen in between."""
        now = asyncio.get_running_loop().time()
        if version != self._version:
            self._version, self._since = version, now
        return now - self._since


def _expiries(looked: Look) -> dict[str, str]:
    ca, server = looked.seen.ca, looked.seen.server
    return {
        "ca_expires": _end(ca.certificate) if ca else "",
        "server_expires": _end(server.certificate) if server else "",
    }


def _end(certificate: x509.Certificate) -> str:
    return certificate.not_valid_after_utc.isoformat()
