"""Offers a second front-end of the same API server, whose lists and watches are some events behind.

    behind = await stack.enter_async_context(Behind(server, by=10))
    behind.catch_up()

Writes and reads of single objects, by name, go to the first one, as those of a real front-end go to etcd.
"""

from collections import deque

from aiohttp import web

from devcluster.routes import read_route
from devcluster.server import ApiServer
from devcluster.store import Change
from tests.faults.recording import RecordingServer, named


class Behind(ApiServer):
    """The front-end. It knows what there was when it was made, less the latest `by` changes."""

    def __init__(self, server: RecordingServer, by: int) -> None:
        super().__init__()
        self.tokens = server.tokens
        self.by = by
        self._first = server
        self._late: deque[tuple[str, Change]] = deque(server.told[-by:])
        for storage, change in server.told[:-by]:
            self._take(storage, change)
        server.store.observers.append(self._hear)

    def catch_up(self) -> None:
        """Be as far as the other from now on."""
        self.by = 0
        self._let_go()

    def _hear(self, storage: str, change: Change) -> None:
        self._late.append((storage, change))
        self._let_go()

    def _let_go(self) -> None:
        while len(self._late) > self.by:
            self._take(*self._late.popleft())

    def _take(self, storage: str, change: Change) -> None:
        self.store.version = change.version
        self.store._commit(storage, self.store.bucket(storage), change)

    async def _bootstrap(self) -> None:
        """Make nothing: all comes from the other."""

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        route = read_route(request.method, request.path, request.query)
        if route.verb in ("list", "watch") and not named(request):
            return await super()._answer(request)
        return await self._first._answer(request)
