"""Tell people what goes on: the story of each JobFlow as Events, and that somebody else writes its status."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

import msgspec

from controller.cluster import METADATA_ALONE
from controller.jobflow.writers import FieldsOwner, other_writers, warning
from controller.own_writes import OwnWrites
from controller.runtime.events import Events
from controller.runtime.telling import Regarding, Told
from shared.api.jobflow import JobFlow
from shared.api.names import FLOW_API_VERSION, JOBFLOW
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.resources import JOBFLOWS
from shared.kube.transport import Request

log = logging.getLogger(__name__)

SETTLED: Final = 15.0
"""Seconds after which what others wrote before this replica led has been shown."""

APART: Final = 5.0
"""Seconds between two questions who writes the status."""

AGAIN: Final = 600.0
"""Seconds within which a second write by others is no accident, and after which that is said again in the log."""


class EventNarrator:
    """Tells the story of JobFlows as Events. It takes no time and never fails: no pass depends on it."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def tell(self, jobflow: JobFlow, story: Iterable[Told]) -> None:
        """Tell it of `jobflow`."""
        regarding = Regarding(FLOW_API_VERSION, JOBFLOW, jobflow.namespace, jobflow.name, jobflow.uid)
        try:
            for told in story:
                self._events.tell(regarding, told)
        except Exception:
            log.exception("story not told", extra={"jobflow": str(jobflow.key)})


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: tuple[FieldsOwner, ...] | None = None


class _MetadataAlone(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class StatusWriters:
    """Notices when somebody else writes the status of JobFlows again and again, and says so loudly.

    That is Volcano's own controller where nobody has switched it off. A change of a status that is none of our own
    makes it ask the API server at once who has written, for a moment later we may have undone it.
    """

    def __init__(
        self,
        client: KubeClient,
        own: OwnWrites,
        narrator: EventNarrator,
        ours: str,
        monotonic: Callable[[], float],
    ) -> None:
        """`ours` is our name in `managedFields`."""
        self._client = client
        self._own = own
        self._narrator = narrator
        self._ours = ours
        self._monotonic = monotonic
        self._changed = asyncio.Event()
        self._suspect: JobFlow | None = None
        self._seen_at = float("-inf")
        self._said_at = float("-inf")

    def on_jobflow(self, old: JobFlow | None, new: JobFlow | None) -> tuple[()]:
        """A JobFlow was added, changed or deleted. Nobody has to look at it for that."""
        if old is None or new is None or self._own.may_include(new.key, new.metadata.resource_version):
            return ()
        if old.uid == new.uid and old.status != new.status:
            self._suspect = new
            self._changed.set()
        return ()

    async def run(self) -> NoReturn:
        """Ask for ever. What the leader before us has written may be shown late, and is no reason."""
        await asyncio.sleep(SETTLED)
        while True:
            self._suspect = None
            self._changed.clear()
            await self._changed.wait()
            if self._suspect is not None:
                await self._look_at(self._suspect)
            await asyncio.sleep(APART)

    async def _look_at(self, jobflow: JobFlow) -> None:
        try:
            writers = await self._writers(jobflow)
        except (ApiError, msgspec.MsgspecError) as error:
            log.debug("writers of the status not known", extra={"error": error})
            return
        now, before = self._monotonic(), self._seen_at
        self._seen_at = now
        if now - before > AGAIN:
            return  # once is what a person does
        told = warning(writers)
        self._narrator.tell(jobflow, [told])
        if now - self._said_at >= AGAIN:
            self._said_at = now
            log.error(told.note, extra={"jobflow": str(jobflow.key)})

    async def _writers(self, jobflow: JobFlow) -> list[str]:
        request = Request("GET", JOBFLOWS.path(jobflow.namespace, jobflow.name), accept=METADATA_ALONE)
        body = await self._client.read("get", JOBFLOWS, request)
        owners = msgspec.json.decode(body, type=_MetadataAlone).metadata.managed_fields
        return other_writers(owners or (), self._ours)
