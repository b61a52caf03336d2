"""Keep the status of JobTemplates true, and cheap: thousands of Jobs may be made from one template, or from thousands.

Nobody waits for this status, and each write of it costs the API server as much as the creation of a Job that somebody
does wait for.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from controller.jobtemplate.status import TEMPLATE, jobs_made, status_patch
from controller.runtime.turns import Turns
from shared.api.job import Job
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.kube.cache import Reader
from shared.kube.errors import NotFound

PAUSE: Final = 5.0
"""Seconds between two writes of one template's status."""

APART: Final = 0.25
"""Seconds that a worker rests after a write: a thousand templates that are used at once are written one by one."""

PATIENCE: Final = 60.0
"""Seconds for which a status that is not true any more makes way for the writes that somebody waits for."""


class Cluster(Protocol):
    """The API server, as far as JobTemplates need it."""

    async def patch_jobtemplate_status(self, key: Key, patch: bytes) -> JobTemplate:
        """Send a JSON patch to the status subresource. Raises Conflict where the patch's resourceVersion is old."""
        ...


class JobTemplateReconciler:
    """Write which Jobs exist from a template, at most once in `PAUSE` seconds, and always the true list in the end.

    `writes` bounds the writes in flight in the whole program; `monotonic` is a clock in seconds.
    """

    def __init__(
        self,
        templates: Reader[JobTemplate],
        jobs: Reader[Job],
        cluster: Cluster,
        *,
        writes: Turns,
        monotonic: Callable[[], float],
    ) -> None:
        self._templates = templates
        self._jobs = jobs
        self._cluster = cluster
        self._writes = writes
        self._monotonic = monotonic
        self._written: dict[Key, float] = {}
        self._waiting: dict[Key, float] = {}
        """Since when a template makes way."""

    async def reconcile(self, key: Key) -> float | None:
        """One pass. Returns the seconds after which to look again, None for when something wakes it.

        Raises what the API server's failures raise, for the caller to try again after a while.
        """
        template = self._templates.get(key)
        if template is None:
            self._written.pop(key, None)
            self._waiting.pop(key, None)
            return None
        now = self._monotonic()
        wait = self._written.get(key, now - PAUSE) + PAUSE - now
        if wait > 0:
            return wait
        wanted = jobs_made(self._jobs.indexed(TEMPLATE, str(key)))
        if wanted == template.status:
            self._waiting.pop(key, None)
            return None
        if self._writes.locked() and now - self._waiting.setdefault(key, now) < PATIENCE:
            return PAUSE
        self._waiting.pop(key, None)
        self._written[key] = now
        async with self._writes.of("templates"):  # one of many owners, however many they are
            try:
                await self._cluster.patch_jobtemplate_status(key, status_patch(template, wanted))
            except NotFound:
                return None
        await asyncio.sleep(APART)
        # Jobs that came and went meanwhile wake nobody if the cache shows the old status once more.
        return PAUSE
