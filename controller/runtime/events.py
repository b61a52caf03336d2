"""Write Events (`events.k8s.io/v1`), in the background, folded, and never more than a cluster bears.

    events.tell(regarding, told)    # at once, whatever becomes of it
    await events.run()              # writes them, for ever
    await events.finish(0.5)        # before the end

Whoever tells never waits and never hears of a failure: an Event is a service to people, and no work depends on it.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Any, Final, NoReturn

import msgspec
from prometheus_client import CollectorRegistry, Counter

from controller.runtime.telling import Regarding, Telling, Told, Waiting, Written
from shared.api.event import EVENT_API_VERSION
from shared.api.meta import Key
from shared.api.times import format_micro_time
from shared.kube.backoff import Backoff
from shared.kube.client import MERGE_PATCH, KubeClient
from shared.kube.errors import AlreadyExists, ApiError, NotFound, Refused, TooManyRequests, Unauthorized, Unavailable
from shared.kube.pacing import Rate
from shared.kube.resources import EVENTS
from shared.kube.transport import Guard

log = logging.getLogger(__name__)

A_SECOND: Final = 10.0
"""Events that are written in a second on average."""

BURST: Final = 100
"""Events that are written at once after a quiet while."""

LONGEST_PREFIX: Final = 230
"""Characters of the object's name that the Event's name begins with. It has 17 more, and may have 253."""

LONGEST_INSTANCE: Final = 128


class EventMetrics:
    """What became of what was told, by type and outcome."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._told = Counter(
            "jobflow_events",
            "What was told of objects: written as an Event, folded into another one, dropped for want of room, or "
            "refused by the API server.",
            ("type", "outcome"),
            registry=registry,
        )

    def count(self, told: Told, outcome: str) -> None:
        """Something that was told is `written`, `folded`, `dropped` or `refused`."""
        self._told.labels(told.type, outcome).inc()


class Events:
    """The Events of one process. `controller` says which program it is, `instance` which of its processes."""

    def __init__(
        self,
        client: KubeClient,
        *,
        controller: str,
        instance: str,
        random: Random,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        metrics: EventMetrics,
        guard: Guard | None = None,
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance[:LONGEST_INSTANCE]
        self._random = random
        self._clock = clock
        self._monotonic = monotonic
        self._metrics = metrics
        self._guard = guard
        self._telling = Telling()
        self._news = asyncio.Event()
        self._rate = Rate(A_SECOND, BURST)
        self._backoff = Backoff(random, first=1.0, healthy=60.0)

    def tell(self, regarding: Regarding, told: Told) -> None:
        """Take it in, to be written soon, and drop what there is no room for."""
        before = len(self._telling)
        dropped = self._telling.tell(regarding, told, self._clock(), self._monotonic())
        if dropped:
            self._metrics.count(dropped, "dropped")
        elif len(self._telling) == before:
            self._metrics.count(told, "folded")
        self._news.set()

    async def run(self) -> NoReturn:
        """Write what is told, for ever."""
        while True:
            self._news.clear()
            due = self._telling.next_due()
            if due is None or due > self._monotonic():
                await self._wait(None if due is None else due - self._monotonic())
                continue
            await self._rate.turn()
            await self._write_next(self._monotonic())

    async def finish(self, within: float) -> None:
        """Write what waits, without waiting for more of its kind, as far as that takes no longer than `within`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._telling.next_due() is not None:
                    await self._rate.turn()
                    await self._write_next(math.inf)

    async def _write_next(self, now: float) -> None:
        waiting = self._telling.take(now)
        if waiting is None:
            return
        try:
            await self._write(waiting)
        except asyncio.CancelledError:
            self._telling.put_back(waiting, self._monotonic())
            raise
        except Exception:
            log.exception("event not written")  # work goes on without it, and the next ones may be better

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _write(self, waiting: Waiting) -> None:
        written = self._telling.written(waiting.matter)
        try:
            if written and written.note == waiting.told.note:
                await self._count(waiting, written)
            else:
                await self._create(waiting)
        except (Unavailable, TooManyRequests, Unauthorized) as error:
            pause = max(error.retry_after or 0.0, self._backoff.after_failure(self._monotonic()))
            log.debug("event not written, trying again", extra={"error": error, "retry_in": pause})
            self._telling.put_back(waiting, self._monotonic() + pause)
            await asyncio.sleep(pause)
        except ApiError as error:
            # Its namespace is going, the role lacks the verb, this replica leads no longer: nothing mends that here.
            self._metrics.count(waiting.told, "refused")
            log.debug("event refused", extra={"error": error, "reason": waiting.told.reason})
        else:
            self._metrics.count(waiting.told, "written")

    async def _create(self, waiting: Waiting) -> None:
        regarding, note = waiting.regarding, waiting.told.note
        waiting.name = waiting.name or self._name(waiting)
        key = Key(regarding.namespace, waiting.name)
        body = msgspec.json.encode(self._event(waiting, key, note))
        with suppress(AlreadyExists):  # the answer to an earlier attempt was lost
            await self._client.create(EVENTS, key.namespace, body, guard=self._guard)
        self._telling.wrote(waiting.matter, Written(key, note, 1, self._monotonic()))

    def _name(self, waiting: Waiting) -> str:
        """A name that no other Event has, and by which those of an object are sorted by time, as people read them."""
        moment = int(waiting.at.timestamp() * 1_000_000) << 12 | self._random.getrandbits(12)
        return f"{waiting.regarding.name[:LONGEST_PREFIX].rstrip('-.')}.{moment:016x}"

    async def _count(self, waiting: Waiting, written: Written) -> None:
        """Write how often it was told by now."""
        series = {"count": written.count, "lastObservedTime": format_micro_time(waiting.at)}
        body = msgspec.json.encode({"series": series})
        try:
            await self._client.patch(EVENTS, written.event, body, content_type=MERGE_PATCH, guard=self._guard)
        except NotFound:  # Events do not live long: an hour, unless the API server was told otherwise
            self._telling.forget(waiting.matter)
            await self._create(waiting)
            return
        except Refused:
            self._telling.forget(waiting.matter)
            raise
        self._telling.wrote(waiting.matter, Written(written.event, written.note, written.count, self._monotonic()))

    def _event(self, waiting: Waiting, key: Key, note: str) -> dict[str, Any]:
        regarding = waiting.regarding
        return {
            "apiVersion": EVENT_API_VERSION,
            "kind": "Event",
            "metadata": {"namespace": key.namespace, "name": key.name},
            "eventTime": format_micro_time(waiting.at),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "type": waiting.told.type,
            "reason": waiting.told.reason,
            "action": waiting.told.action,
            "note": note,
            "regarding": {
                "apiVersion": regarding.api_version,
                "kind": regarding.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
            },
        }
