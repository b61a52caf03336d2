"""An informer: a cache of one kind that is kept current, and everyone who is to hear of its changes."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from random import Random
from typing import Generic, NoReturn

from controller.runtime.workqueue import K, Priority, WorkQueue
from shared.kube.cache import Cache, Index, Reader
from shared.kube.client import PAGE, KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import KubeObject, Resource, T

log = logging.getLogger(__name__)

Wakes = Callable[[T | None, T | None], Iterable[tuple[K, Priority]]]
"""Which keys a difference (old, new) wakes, and how urgently."""


class Informer(Generic[T]):
    """One kind, of all namespaces or of some. `run` it, and `wake` queues by it.

    Handlers hear of a change when the cache holds it already. What the first list brings wakes with the priority of
    the background, whatever a handler says: after a restart most objects need nothing, and what happens meanwhile
    must not wait behind them.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[T],
        random: Random,
        *,
        indexes: Mapping[str, Index[T]] | None = None,
        namespaces: Collection[str] = (),
        page: int = PAGE,
    ) -> None:
        """Without `namespaces` it is all of them; each that is named costs a list and a watch of its own."""
        self.synced = asyncio.Event()
        """Set once the first lists are in the cache and every handler has heard of them."""
        self._name = resource.plural
        self._cache: Cache[T] = Cache(indexes)
        self._handlers: list[Callable[[T | None, T | None, bool], None]] = []
        self._reflectors = [
            Reflector(client, resource, self._cache, random, self._tell, namespace=namespace, page=page)
            for namespace in (namespaces or (None,))
        ]

    @property
    def cache(self) -> Reader[T]:
        """The local copy, for reading."""
        return self._cache

    def trouble(self) -> str | None:
        """Why the cache must not be taken for the present state, None while all is well."""
        return next((trouble for reflector in self._reflectors if (trouble := reflector.trouble())), None)

    def wake(self, queue: WorkQueue[K], wakes: Wakes[T, K]) -> None:
        """Add to `queue` whatever `wakes` answers to each change."""

        def handler(old: T | None, new: T | None, initial: bool) -> None:
            for key, priority in wakes(old, new):
                queue.add(key, Priority.BACKGROUND if initial else priority)

        self._handlers.append(handler)

    async def run(self) -> NoReturn:
        """Keep the cache current for ever."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run(), name=f"{self._name} reflector")
            for reflector in self._reflectors:
                await reflector.synced.wait()
            self.synced.set()
        raise AssertionError("a reflector has ended")

    def _tell(self, old: T | None, new: T | None, /, *, initial: bool) -> None:
        for handler in self._handlers:
            try:
                handler(old, new, initial)
            except Exception:
                # A change that one handler cannot bear must not keep others, or later changes, from being heard.
                log.exception("handler failed", extra={"resource": self._name, "object": _key(new or old)})


def _key(obj: KubeObject | None) -> str:
    return str(obj.key) if obj else ""
