"""Tell people what goes on: the story of each JobFlow as Events, and that somebody else writes its status."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

import msgspec

from controller.cluster import METADATA_ALONE
from controller.jobflow.writers import FieldsOwner, other_writers, warning
from controller.runtime.events import Events
from controller.runtime.telling import Regarding, Told
from shared.api.jobflow import JobFlow
from shared.api.names import FLOW_API_VERSION, JOBFLOW
from shared.kube.cache import Reader
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.resources import JOBFLOWS
from shared.kube.transport import Request

log = logging.getLogger(__name__)

LOOK_EVERY: Final = 30.0
"""Seconds between two looks at who writes the status of the JobFlow that was changed last."""

SAY_EVERY: Final = 600.0
"""Seconds between two lines of the log about the same writer."""


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
    uid: str = ""
    managed_fields: tuple[FieldsOwner, ...] | None = None


class _MetadataAlone(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class StatusWriters:
    """Looks now and then whether somebody else writes the status of JobFlows, and says so loudly.

    That is Volcano's own controller where nobody has switched it off. It changes every JobFlow, so that it is enough to
    look at the one that was changed last; where nothing changes, nobody is asked.
    """

    def __init__(
        self,
        client: KubeClient,
        jobflows: Reader[JobFlow],
        narrator: EventNarrator,
        ours: str,
        monotonic: Callable[[], float],
    ) -> None:
        self._client = client
        self._jobflows = jobflows
        self._narrator = narrator
        self._ours = ours
        self._monotonic = monotonic
        self._looked_at = ""
        self._said: dict[str, float] = {}

    async def run(self) -> NoReturn:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.look()
            except (ApiError, msgspec.MsgspecError) as error:
                log.debug("writers of the status not known", extra={"error": error})

    async def look(self) -> None:
        """Look once, if anything has changed since the last time."""
        newest = max(self._jobflows, key=lambda it: _number(it.metadata.resource_version), default=None)
        if newest is None or newest.metadata.resource_version == self._looked_at:
            return
        self._looked_at = newest.metadata.resource_version
        request = Request("GET", JOBFLOWS.path(newest.namespace, newest.name), accept=METADATA_ALONE)
        body = await self._client.read("get", JOBFLOWS, request)
        metadata = msgspec.json.decode(body, type=_MetadataAlone).metadata
        for writer in other_writers(metadata.managed_fields or (), self._ours) if metadata.uid == newest.uid else ():
            self._narrator.tell(newest, [warning(writer)])
            now = self._monotonic()
            if now - self._said.get(writer, float("-inf")) >= SAY_EVERY:
                self._said[writer] = now
                log.error(warning(writer).note, extra={"writer": writer, "jobflow": str(newest.key)})


def _number(version: str) -> int:
    return int(version) if version.isascii() and version.isdecimal() else 0
