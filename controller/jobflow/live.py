"""Keep the promise that a create or delete is sent at most a second after a live look allowed it.

A cache may lag behind: the JobFlow may be finished, deleted, or deleted and created again under its name, and only the
API server knows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from controller.jobflow.cluster import Cluster
from controller.jobflow.ladder import size_of
from controller.jobflow.memory import Memory
from shared.api.jobflow import FINISHED, JobFlow, Phase
from shared.api.meta import Named
from shared.kube.cache import is_newer
from shared.kube.errors import ApiError, NotFound
from shared.kube.transport import Guard

T = TypeVar("T")

FRESH: Final = 1.0
"""Seconds from asking after which what a live look showed is too old to act on."""

ATTEMPTS: Final = 2
"""Looks in a row that may come too late, because the API server takes more than a second to answer each or this process
was stopped meanwhile. What the last one showed is as good as can be had."""

SOON: Final = 0.6
"""Seconds after which the next look is sent, if there is more to be acted on; where the API server is busy it is sent
sooner by twice the time that the last one took, so that nothing is held up meanwhile."""

APART: Final = 0.25
"""Seconds between two looks at least, while an earlier one is good."""

MOST: Final = 4
"""Looks that may be under way at the same time."""


class Superseded(Exception):
    """The JobFlow is not any more what was decided on. What it is now is remembered, unless it is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        super().__init__("gone" if gone else "changed")
        self.gone = gone


class Late(Exception):
    """Nothing was sent: the look that allowed it is more than a second ago by now."""


class LiveLook:
    """Live looks at the JobFlow of one pass. A look serves all that is sent within a second of its answer.

    While a look is good, the next ones are on their way: whoever creates a thousand Jobs need not wait for them.
    """

    def __init__(self, jobflow: JobFlow, memory: Memory, cluster: Cluster, monotonic: Callable[[], float]) -> None:
        self._jobflow = jobflow
        self._memory = memory
        self._cluster = cluster
        self._monotonic = monotonic
        self._listing: tuple[JobFlow | None, frozenset[str]] = (None, frozenset())
        self._looks: list[asyncio.Task[None]] = []
        """Those under way, the last one begun last."""
        self._begun_at = float("-inf")
        self._took = 0.0
        """Seconds that the last look took."""
        self._unforeseen: BaseException | None = None
        self.writing: asyncio.Task[None] | None = None
        """Our own write of the status, while it is under way: what it stores is no news."""

    async def allowing(self, allows: Callable[[JobFlow], bool], write: Callable[[Guard], Awaitable[T]]) -> T:
        """Write once a look of the last second allows it.

        `write` has to call the guard it is given right before it sends, whatever it waits for until then.
        Raises what `require` and `write` raise.
        """
        for _ in range(ATTEMPTS):
            guard = await self.require(allows)
            try:
                return await write(guard)
            except Late:
                pass  # it had to wait for a connection or its turn, or this process was stopped
        await self.require(allows)
        return await write(_anyway)

    async def require(self, allows: Callable[[JobFlow], bool]) -> Guard:
        """Return if a look of the last second allows it, else look once more.

        What is returned raises Late when that look is too old to act on.
        Raises Superseded if the JobFlow is gone, has another spec, or does not allow it.
        """
        if self._age() <= FRESH and self._is_allowed(allows):
            if self._age() > SOON - 2 * self._took and self._may_look_ahead():
                self._begin()
            return self._until(FRESH - self._age())
        for _ in range(ATTEMPTS):
            await self._news()
            if not self._is_allowed(allows):
                raise Superseded
            if self._age() <= FRESH:
                return self._until(FRESH - self._age())
        return self._until(FRESH)

    def _until(self, seconds: float) -> Guard:
        until = self._monotonic() + seconds

        def guard() -> None:
            if self._monotonic() > until:
                raise Late

        return guard

    def _may_look_ahead(self) -> bool:
        return self._monotonic() - self._begun_at > APART and len(self._looks) < MOST

    async def _news(self) -> None:
        """Wait for the latest look, or until an earlier one says what is so now. Raises what the latest one raises."""
        latest = self._looks[-1] if self._looks else self._begin()
        while not latest.done():
            await asyncio.wait(self._looks, return_when=asyncio.FIRST_COMPLETED)
            if self._age() <= FRESH:
                break
        if latest.done():
            latest.result()

    def tells_of(self, job: str) -> bool:
        """The last look showed that this Job was created before: another controller may have done it meanwhile."""
        live = self._memory.confirmed
        if live is not self._listing[0]:
            self._listing = (
                live,
                frozenset(entry.name for entry in live.status.job_status_list) if live else frozenset(),
            )
        return job in self._listing[1]

    async def look(self) -> None:
        """Read the JobFlow, whatever is known of it. Raises Superseded if it is gone, though one may have its name."""
        asked_at = self._monotonic()
        try:
            live = await self._cluster.get_jobflow(self._jobflow.key)
        except NotFound:
            raise Superseded(gone=True) from None
        if live.jobflow.uid != self._jobflow.uid:
            raise Superseded(gone=True)
        self._memory.learn(live, asked_at, size_of(live.jobflow.status))

    async def _glance(self) -> None:
        """See whether the JobFlow is still the version that is known, which costs little; if not, look."""
        asked_at = self._monotonic()
        try:
            metadata = await self._cluster.get_jobflow_metadata(self._jobflow.key, len(self._jobflow.flows))
        except NotFound:
            raise Superseded(gone=True) from None
        self._took = self._monotonic() - asked_at
        if self.writing and metadata.resource_version != self._known.metadata.resource_version:
            await asyncio.wait([self.writing])
        known = self._known
        if (metadata.uid, metadata.resource_version) == (known.uid, known.metadata.resource_version):
            self._memory.confirm(known, asked_at)
        elif metadata.uid != known.uid or known is not self._memory.confirmed or not is_newer(known, Named(metadata)):
            await self.look()
        # Else the answer to our own write has overtaken this look, and is as good.

    @property
    def _known(self) -> JobFlow:
        return self._memory.newest or self._jobflow

    def _begin(self) -> asyncio.Task[None]:
        self._begun_at = self._monotonic()
        look = asyncio.ensure_future(self._glance())
        self._looks.append(look)
        look.add_done_callback(self._ended)
        return look

    def _ended(self, look: asyncio.Task[None]) -> None:
        self._looks.remove(look)
        fault = None if look.cancelled() else look.exception()
        # What may happen any day, whoever waits for the look hears of; nobody may be waiting.
        if fault and not isinstance(fault, (ApiError, Superseded)):
            self._unforeseen = fault

    async def close(self) -> None:
        """Let go of looks that nobody waits for."""
        for look in self._looks:
            look.cancel()
        if self._looks:
            await asyncio.wait(self._looks)

    def check(self) -> None:
        """Raise what a look has met that was not foreseen, and that perhaps nobody waited for."""
        if self._unforeseen:
            raise self._unforeseen

    def _age(self) -> float:
        at = self._memory.confirmed_at
        return float("inf") if at is None else self._monotonic() - at

    def _is_allowed(self, allows: Callable[[JobFlow], bool]) -> bool:
        live = self._memory.confirmed
        if live is None or live.metadata.generation != self._jobflow.metadata.generation:
            return False
        return allows(live)


def _anyway() -> None:
    """What the last of several looks showed is as good as can be had."""


def may_start_jobs(jobflow: JobFlow) -> bool:
    """A JobFlow that is finished, or being deleted, starts nothing."""
    return not jobflow.metadata.is_deleting and jobflow.phase not in FINISHED


def may_delete_jobs(jobflow: JobFlow) -> bool:
    """Jobs go only once Succeed is stored, and the policy is to delete."""
    return not jobflow.metadata.is_deleting and jobflow.phase == Phase.SUCCEED and jobflow.deletes_jobs
