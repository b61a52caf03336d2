"""Keep a cache in line with the API server: list, then watch, and list again whenever the watch cannot be trusted.

    reflector = Reflector(client, JOBS, cache, random, on_change)
    async with asyncio.TaskGroup() as group:
        group.create_task(reflector.run())
        await reflector.synced.wait()

`on_change` hears of every difference once the cache holds it, what a relist found included: an object that vanished
while nobody watched comes with its last known state.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from random import Random
from typing import Final, Generic, NoReturn, Protocol, TypeVar

from shared.api.meta import Key
from shared.kube.backoff import Backoff
from shared.kube.cache import Cache, Difference
from shared.kube.client import PAGE, KubeClient
from shared.kube.errors import ApiError, BrokenStream, Gone, TooManyRequests, Unauthorized, Unavailable
from shared.kube.resources import Resource, T, Unread
from shared.kube.watch import Bookmark, Change, Unclear

log = logging.getLogger(__name__)

WATCH_LASTS: Final = (300.0, 600.0)
"""Bounds of the seconds after which the server is asked to end a watch, so that many do not end together."""

SILENCE: Final = 120.0
"""Seconds without a byte after which a connection counts as dead. Bookmarks come about once a minute."""

TOO_SHORT: Final = 1.0
"""A watch that ends sooner than this is a failure, however politely it ended."""

LONGEST_PAUSE: Final = 10.0
"""Seconds between two tries, after many failures. A place in the watch that has expired costs two of them, and
within half a minute of the last trouble the cache must be current again."""

TRIES_TO_RESUME: Final = 5
"""Failures in a row, answered by the server, after which the place in the watch is given up for a list."""

SILENCES: Final = 2
"""Watches in a row that brought nothing at all, after which a list is asked for: something may hold events back."""

OLD_LISTS: Final = 3
"""Lists in a row that may be older than what was seen before, until an older state is taken for the truth."""

SLICE: Final = 200
"""Differences that are told in one go before others get a turn."""

OUT_OF_TOUCH: Final = 300.0
"""Seconds without a good answer after which a cache can no longer be called current."""

C_contra = TypeVar("C_contra", contravariant=True)


class OnChange(Protocol[C_contra]):
    """Hears of a difference. It must neither wait nor raise."""

    def __call__(self, old: C_contra | None, new: C_contra | None, /, *, initial: bool) -> None:
        """`initial` says that this belongs to the first list."""
        ...


class Reflector(Generic[T]):
    """One kind, of all namespaces or of one."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[T],
        cache: Cache[T],
        random: Random,
        on_change: OnChange[T],
        *,
        namespace: str | None = None,
        page: int = PAGE,
    ) -> None:
        self.synced = asyncio.Event()
        """Set once the first list is in the cache and was told."""
        self._client = client
        self._resource = resource
        self._cache = cache
        self._random = random
        self._on_change = on_change
        self._namespace = namespace
        self._page = page
        self._backoff = Backoff(random, longest=LONGEST_PAUSE)
        self._version: str | None = None
        """Where the next watch begins; None where only a list can tell."""
        self._newest = 0
        self._old_lists = 0
        self._whole = False
        """The next list asks for everything at once: page by page it was outrun by the server's forgetting."""
        self._failures = 0
        self._silences = 0
        self._trouble = "not listed yet"
        self._in_touch_at: float | None = None

    def trouble(self) -> str | None:
        """Why the cache must not be taken for the present state, None while all is well."""
        if not self.synced.is_set():
            return self._trouble
        silent = asyncio.get_running_loop().time() - (self._in_touch_at or 0)
        return f"out of touch for {silent:.0f} s: {self._trouble}" if silent > OUT_OF_TOUCH else None

    async def run(self) -> NoReturn:
        """Go on for ever. Whatever the server does, it is asked again, never without a pause."""
        while True:
            pause = 0.0
            try:
                await self._follow(self._version or await self._list())
            except ApiError as trouble:
                pause = self._after(trouble)
            await asyncio.sleep(pause)

    async def _list(self) -> str:
        """Bring the cache in line with a whole list, and return the version from which to watch."""
        initial = not self.synced.is_set()
        listed: list[T] = []
        unread: set[Key] = set()
        version = ""
        limit, self._whole = 0 if self._whole else self._page, False
        pages = self._client.list_pages(self._resource, namespace=self._namespace, limit=limit)
        try:
            async with aclosing(pages):
                async for page in pages:
                    version = page.version
                    self._take_page(page.items, listed, unread)
        except Gone:
            self._whole = True
            raise
        self._refuse_older(version)
        self._reached(version)
        await self._tell(self._cache.replace(listed, keep=unread, within=self._namespace), initial)
        self._all_is_well()
        if initial:
            log.info("listed", extra={"resource": self._resource.plural, "objects": len(listed)})
            self.synced.set()
        return version

    def _take_page(self, items: Iterable[T | Unread], listed: list[T], unread: set[Key]) -> None:
        for item in items:
            if isinstance(item, Unread):
                self._report(item)
                unread.add(item.metadata.key)
                continue
            # What has not changed is kept as it is, or a relist would for a while hold everything twice.
            known = self._cache.get(item.key)
            same = known is not None and known.metadata.resource_version == item.metadata.resource_version
            listed.append(known if known is not None and same and known.metadata.uid == item.metadata.uid else item)

    def _refuse_older(self, version: str) -> None:
        """A server that lags must not take us back in time; one that was restored from a backup has to."""
        if not version:
            raise Unavailable("a list without a resource version", reason="NoVersion")
        if self._old(version) and self._old_lists < OLD_LISTS:
            self._old_lists += 1
            raise Unavailable(f"a list as of {version}, and {self._newest} was seen before", reason="OldList")
        self._old_lists = 0

    def _old(self, version: str) -> bool:
        return version.isdecimal() and int(version) < self._newest

    async def _tell(self, differences: Iterable[Difference[T]], initial: bool) -> None:
        for count, (old, new) in enumerate(differences, 1):
            self._on_change(old, new, initial=initial)
            if count % SLICE == 0:
                await asyncio.sleep(0)

    async def _follow(self, version: str) -> None:
        """Watch from `version` until the server ends it."""
        clock = asyncio.get_running_loop().time
        async with self._client.watch(
            self._resource,
            version,
            namespace=self._namespace,
            lasting=self._random.uniform(*WATCH_LASTS),
            silence=SILENCE,
        ) as events:
            began = self._in_touch_at = clock()
            async for event in events:
                self._take(event)
        # One that got on is no failure: a busy server ends the watch of whoever reads too slowly.
        if self._version == version and clock() - began < TOO_SHORT:
            raise Unavailable("the watch ended as soon as it had begun", reason="ShortWatch")
        self._failures = 0

    def _take(self, event: Change[T] | Bookmark | Unclear) -> None:
        if self._old(event.version):
            return  # sent once more; what came after it is known already
        for old, new in self._differences(event):
            self._on_change(old, new, initial=False)
        if event.version:
            self._reached(event.version)
        self._all_is_well()

    def _report(self, unread: Unread) -> None:
        self._client.metrics.unread(self._resource.plural)
        log.error(
            "object cannot be read; what was known of it is kept",
            extra={
                "resource": self._resource.plural,
                "object": str(unread.metadata.key),
                "version": unread.metadata.resource_version,
                "error": unread.error,
            },
        )

    def _differences(self, event: Change[T] | Bookmark | Unclear) -> Sequence[Difference[T]]:
        if isinstance(event, Change):
            return self._cache.remove(event.object) if event.deleted else self._cache.put(event.object)
        if isinstance(event, Unclear):
            self._report(event.object)
            known = self._cache.get(event.object.metadata.key)
            if event.deleted and known is not None and known.metadata.uid == event.object.metadata.uid:
                return self._cache.remove(known)
        return ()

    def _all_is_well(self) -> None:
        self._failures = self._silences = 0
        self._in_touch_at = asyncio.get_running_loop().time()

    def _reached(self, version: str) -> None:
        self._version = version
        self._newest = int(version) if version.isdecimal() else 0

    def _after(self, trouble: ApiError) -> float:
        """What a failure means for the next try, and how long to wait for it."""
        now = asyncio.get_running_loop().time()
        self._trouble = str(trouble)
        self._client.metrics.failed(self._resource.plural, trouble)
        if trouble.reason == "Silent":
            # The connection is at fault, not the server, and it had two minutes to say something.
            self._silences += 1
            pause = 0.0
        else:
            # Where nobody answers, nothing speaks against the place that we had: an outage costs the server no list.
            self._failures += trouble.reason != "ConnectionFailed"
            pause = max(self._backoff.after_failure(now), trouble.retry_after or 0)
        resumable = isinstance(trouble, Unavailable | TooManyRequests | Unauthorized)
        if isinstance(trouble, BrokenStream):
            self._client.metrics.unread(self._resource.plural)
        if not resumable or self._failures >= TRIES_TO_RESUME or self._silences >= SILENCES:
            self._version = None
        log.log(
            logging.INFO if isinstance(trouble, Gone) else logging.WARNING,
            "list or watch failed",
            extra={
                "resource": self._resource.plural,
                "error": str(trouble),
                "next": "list" if self._version is None else "watch",
                "wait": round(pause, 3),
            },
        )
        return pause
