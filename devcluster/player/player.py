"""Play the Jobs of an API server: list and watch them, and write what `phases.py` decides."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from devcluster.player.phases import PlayedJob, Remove, Rules, Status, Wait, Write, next_step
from shared.kube.client import JSON_PATCH, KubeClient
from shared.kube.errors import ApiError, NotFound, Refused
from shared.kube.resources import Resource, Unread
from shared.kube.watch import Change

log = logging.getLogger(__name__)

PLAYED_JOBS: Resource[PlayedJob] = Resource("batch.volcano.sh", "v1alpha1", "jobs", PlayedJob)

PAUSE = 0.5  # seconds after a failure of the API server


class Player:
    """Takes every Job (of one namespace, if it is given) through its phases, until it is cancelled.

    At most `writes` requests are on their way at the same time.
    """

    def __init__(
        self,
        client: KubeClient,
        rules: Rules,
        *,
        namespace: str | None = None,
        writes: int = 64,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._rules = rules
        self._namespace = namespace
        self._writes = asyncio.Semaphore(writes)
        self._clock = clock
        self._jobs: dict[str, PlayedJob] = {}  # by uid, the newest that was seen
        self._entered: dict[str, tuple[str, datetime]] = {}  # by uid: a phase that this player wrote, and exactly when
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._busy: set[str] = set()
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Play until cancelled. Failures of the API server are waited out."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                while True:
                    try:
                        await self._follow()
                    except ApiError as error:
                        log.warning("cannot follow the jobs", extra={"error": str(error)})
                        await asyncio.sleep(error.retry_after or PAUSE)
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _follow(self) -> None:
        """List once, then watch for as long as the server remembers where we are."""
        version = ""
        listed: dict[str, PlayedJob] = {}
        async for page in self._client.list_pages(PLAYED_JOBS, namespace=self._namespace):
            version = page.version
            listed.update((job.metadata.uid, job) for job in page.items if not isinstance(job, Unread))
        for uid in self._jobs.keys() - listed.keys():
            self._forget(uid)
        for job in listed.values():
            self._see(job)
        while True:
            async with self._client.watch(PLAYED_JOBS, version, namespace=self._namespace) as events:
                async for event in events:
                    version = event.version or version
                    if isinstance(event, Change):
                        if event.deleted:
                            self._forget(event.object.metadata.uid)
                        else:
                            self._see(event.object)

    def _see(self, job: PlayedJob) -> None:
        uid = job.metadata.uid
        known = self._jobs.get(uid)
        if known is not None and _version(job) <= _version(known):
            return  # an echo of our own write, or older
        self._jobs[uid] = job
        if uid not in self._busy:
            self._consider(uid)

    def _consider(self, uid: str) -> None:
        """Start what is due for a Job, or set its alarm clock."""
        if timer := self._timers.pop(uid, None):
            timer.cancel()
        job = self._jobs.get(uid)
        if job is None:
            return
        phase, since = self._entered.get(uid, ("", None))
        step = next_step(job, self._clock(), self._rules, since if phase == job.phase else None)
        match step:
            case Wait(seconds):
                self._alarm(uid, seconds)
            case Write(status):
                self._start(uid, self._write(job, status))
            case Remove():
                self._start(uid, self._remove(job))

    def _alarm(self, uid: str, seconds: float) -> None:
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, self._consider, uid)

    def _start(self, uid: str, work: Any) -> None:
        self._busy.add(uid)
        self._tasks.create_task(self._carry_out(uid, work))

    async def _carry_out(self, uid: str, work: Any) -> None:
        try:
            async with self._writes:
                await work
        except NotFound:
            self._forget(uid)
        except Refused as refusal:
            # It would be refused again. When somebody changes the Job, the watch says so, and it is looked at anew.
            log.warning("a job's status is refused", extra={"uid": uid, "error": str(refusal)})
        except ApiError as error:
            log.warning("a job's status cannot be written", extra={"uid": uid, "error": str(error)})
            self._busy.discard(uid)
            self._alarm(uid, error.retry_after or PAUSE)
        else:
            self._busy.discard(uid)
            self._consider(uid)
        finally:
            self._busy.discard(uid)

    async def _write(self, job: PlayedJob, status: Status) -> None:
        uid = job.metadata.uid
        # The test keeps the status of one Job from getting into another that took its name meanwhile: the API server
        # ignores all metadata in a merge patch of a status.
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "add", "path": "/status", "value": status},
        ]
        body = msgspec.json.encode(patch)
        stored = await self._client.patch(PLAYED_JOBS, job.key, body, content_type=JSON_PATCH, subresource="status")
        if stored.phase != job.phase:
            self._entered[uid] = (stored.phase, self._clock())
        known = self._jobs.get(uid)
        if known is not None and _version(stored) > _version(known):
            self._jobs[uid] = stored

    async def _remove(self, job: PlayedJob) -> None:
        uid = job.metadata.uid
        await self._client.delete(PLAYED_JOBS, job.key, uid=uid, propagation="Foreground")
        self._forget(uid)

    def _forget(self, uid: str) -> None:
        self._jobs.pop(uid, None)
        self._entered.pop(uid, None)
        if timer := self._timers.pop(uid, None):
            timer.cancel()


def _version(job: PlayedJob) -> int:
    # Both kube-apiserver and the embedded server count in decimal numbers.
    return int(job.metadata.resource_version)
