"""Leader election: of several replicas one works, and the others know everything and stand by.

    leader = Leader(client, key, identity, Terms(), ...)
    await leader.acquire(when)      # returns once the Lease is ours
    await leader.hold()             # renews it for ever; raises LeaseLost
    await leader.release()          # gives it back

`leader.check` is the guard that is called right before every write. It refuses once the Lease was not renewed for
`renew_deadline`, by a clock that no one sets: a write that it lets through has ended (`client.TIMEOUT`) before any
other replica may claim the Lease, however long this process was stopped meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Final, NoReturn

import msgspec
from prometheus_client import CollectorRegistry, Gauge

from controller.runtime.election import JSON, NEVER, Sight, Terms, claimed, new_lease, released, renewed
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from shared.kube.resources import LEASES
from shared.kube.transport import Request

log = logging.getLogger(__name__)

RELEASE_WITHIN: Final = 1.0
"""Seconds that giving the Lease back may take: the program is asked to end, and others find out by themselves."""

AGAIN: Final = 60.0
"""Seconds after which trouble that lasts is logged again."""

HUNG: Final = 5.0
"""Seconds past its deadline after which a leader that has not ended by itself never will."""


SHORTEST: Final = 0.01
"""Seconds that pass between two looks at the clock, at least."""


class NotLeading(ApiError):
    """Nothing was sent: the Lease is not ours, or was not renewed in time."""

    def __init__(self) -> None:
        super().__init__("this replica does not lead", reason="NotLeading")


class LeaseLost(Exception):
    """The Lease is not ours any more, or may soon not be. Whoever led has to end, and may then stand by again."""


class LeaderMetrics:
    """Whether this replica leads, under client-go's name."""

    def __init__(self, registry: CollectorRegistry, lease: Key) -> None:
        self._leads = Gauge(
            "leader_election_master_status",
            "1 for the replica that leads, 0 for one that stands by; `name` is that of the Lease.",
            ("name",),
            registry=registry,
        ).labels(lease.name)

    def leads(self, yes: bool) -> None:
        """This replica leads from now on, or no longer."""
        self._leads.set(yes)


class Leader:
    """One replica's part in the election.

    `monotonic` never steps back, and should go on while the machine sleeps. `clock` is only for the times that people
    read in the Lease. `client` should have no limit of its own on requests: a renewal cannot wait behind other work.
    """

    def __init__(
        self,
        client: KubeClient,
        lease: Key,
        identity: str,
        terms: Terms,
        *,
        random: Random,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        metrics: LeaderMetrics | None = None,
    ) -> None:
        self.lease = lease
        self.identity = identity
        self._client = client
        self._terms = terms
        self._random = random
        self._clock = clock
        self._monotonic = monotonic
        self._metrics = metrics or LeaderMetrics(CollectorRegistry(), lease)
        self._metrics.leads(False)
        self._sight = Sight()
        self._stored: JSON | None = None
        """The Lease as the API server answered it last; None where it is not there."""
        self._until: float | None = None
        """Until when we lead; None while we do not."""
        self._told = ""
        self._told_at = NEVER

    @property
    def leads(self) -> bool:
        """Writes may be sent."""
        return self._until is not None and self._monotonic() < self._until

    def check(self) -> None:
        """Raise NotLeading unless writes may be sent: the guard of every write."""
        if not self.leads:
            raise NotLeading

    @property
    def has_run_out(self) -> bool:
        """We have led, and did not renew the Lease in time."""
        return self._until is not None and self._monotonic() >= self._until

    def trouble(self) -> str | None:
        """Why only a restart helps, None while all is well: what liveness asks."""
        over = self._monotonic() - self._until if self._until is not None else 0.0
        return f"the lease ran out {over:.0f} s ago and nobody has noticed" if over > HUNG else None

    async def acquire(self, when: asyncio.Event) -> None:
        """Return once the Lease is ours. It is watched at once, and not claimed before `when` is set."""
        while True:
            began = self._monotonic()
            try:
                async with asyncio.timeout(self._terms.renew_deadline):
                    if await self._claim_if_free(may=when.is_set()):
                        return
            except (ApiError, TimeoutError) as error:
                self._tell("lease cannot be had for now", error=error or "no answer in time")
            # Not in step with other candidates, and never later than a leader that was killed is out of time.
            pause = self._terms.retry_period * self._random.uniform(0.5, 1.0)
            free_in = self._sight.free_at(self.identity, self._terms) - self._monotonic()
            pause = min(pause, free_in) if free_in > 0 else pause
            await _set_within(when, max(SHORTEST, began + pause - self._monotonic()))

    async def hold(self) -> NoReturn:
        """Renew the Lease for ever. Raises LeaseLost as soon as it is another's, is gone, or has run out."""
        error: BaseException | None = None
        began = self._monotonic()
        while True:
            due = min(began + self._terms.retry_period, self._until or 0.0)
            await asyncio.sleep(max(SHORTEST, due - self._monotonic()))
            began = self._monotonic()
            left = (self._until or 0.0) - began
            if left <= 0:
                raise self._lost(f"it was not renewed for {self._terms.renew_deadline:g} s: {error or 'no time to'}")
            try:
                async with asyncio.timeout(left):
                    await self._renew()
                error = None
            except (ApiError, TimeoutError) as failed:
                error = failed if str(failed) else TimeoutError("no answer in time")
                self._tell("lease was not renewed, trying again", error=error)

    async def release(self) -> None:
        """Lead no longer, and say so in the Lease if it is still ours. To be called once nothing writes any more."""
        led, self._until = self.leads, None
        self._metrics.leads(False)
        if not led:
            return
        try:
            async with asyncio.timeout(RELEASE_WITHIN):
                try:
                    await self._put(released(self._stored or {}, self._clock()))
                except Conflict:  # a renewal was still on its way when we stopped renewing
                    await self._look()
                    if self._stored is None or self._sight.record is None or not self._is_ours():
                        return
                    await self._put(released(self._stored, self._clock()))
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released, others have to wait for its end", extra=self._about(error=error))
        else:
            log.info("lease released", extra=self._about())

    # One attempt each

    async def _claim_if_free(self, *, may: bool) -> bool:
        await self._look()
        if self._sight.free_at(self.identity, self._terms) > self._monotonic():
            self._tell("standing by", holder=self._sight.record.holder_identity if self._sight.record else "")
            return False
        if not may:
            return False
        asked_at = self._monotonic()
        wanted = claimed(self._stored or new_lease(self.lease), self.identity, self._terms, self._clock())
        try:
            await (self._put(wanted) if self._stored is not None else self._create(wanted))
        except (AlreadyExists, Conflict):
            self._tell("another was faster to claim the lease")
            return False
        self._until = asked_at + self._terms.renew_deadline
        self._metrics.leads(True)
        self._told = ""
        log.info("leading", extra=self._about())
        return True

    async def _renew(self) -> None:
        asked_at = self._monotonic()
        try:
            await self._put(renewed(self._stored or {}, self._terms, self._clock()))
        except (Conflict, NotFound):
            await self._look()
            if self._stored is None:
                raise self._lost("somebody has deleted it") from None
            if not self._is_ours():
                holder = self._sight.record.holder_identity if self._sight.record else None
                raise self._lost(f"it is held by {holder or 'nobody'}") from None
            # Somebody has changed something else in it, or an earlier renewal has taken effect with no answer.
            asked_at = self._monotonic()
            await self._put(renewed(self._stored, self._terms, self._clock()))
        if self._until is not None:
            self._until = asked_at + self._terms.renew_deadline
        if self._told:
            log.info("lease renewed again", extra=self._about())
            self._told = ""

    def _is_ours(self) -> bool:
        return self._sight.record is not None and self._sight.record.holder_identity == self.identity

    def _lost(self, why: str) -> LeaseLost:
        self._until = None
        self._metrics.leads(False)
        return LeaseLost(f"lost the lease {self.lease}: {why}")

    # Requests

    async def _look(self) -> None:
        request = Request("GET", LEASES.path(self.lease.namespace, self.lease.name))
        try:
            self._take(await self._client.read("get", LEASES, request))
        except NotFound:
            self._stored = None
            self._sight.see(None, self._monotonic())

    async def _create(self, lease: JSON) -> None:
        request = Request("POST", LEASES.path(self.lease.namespace), body=msgspec.json.encode(lease))
        self._take(await self._client.write("create", LEASES, request))

    async def _put(self, lease: JSON) -> None:
        """Replace the Lease that `lease` was made from, and no other: it has the resourceVersion of that one."""
        path = LEASES.path(self.lease.namespace, self.lease.name)
        self._take(await self._client.write("update", LEASES, Request("PUT", path, (), msgspec.json.encode(lease))))

    def _take(self, body: bytes) -> None:
        # It is written back whole, so it is kept whole: others may have fields in it that this program does not know.
        lease = LEASES.decode(body)
        self._stored = msgspec.json.decode(body)
        self._sight.see(lease, self._monotonic())

    # What people read

    def _about(self, **more: object) -> dict[str, object]:
        return {"lease": str(self.lease), "identity": self.identity, **more}

    def _tell(self, what: str, **more: object) -> None:
        """Log it, but while it stays the same not again, or trouble not before a minute has passed."""
        told, now = f"{what} {more}", self._monotonic()
        if told != self._told or ("error" in more and now - self._told_at >= AGAIN):
            self._told, self._told_at = told, now
            log.log(logging.WARNING if "error" in more else logging.INFO, what, extra=self._about(**more))


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    """Wait until the event is set, or for so long; if it is set already, for so long."""
    if event.is_set():
        await asyncio.sleep(seconds)
        return
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
