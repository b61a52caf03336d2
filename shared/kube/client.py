"""Requests to the API server: typed, timed, paced and counted, each sent once.

    client = await KubeClient.connect("jobflow-controller", kubeconfig=settings.kubeconfig)
    job = await client.create(JOBS, namespace, manifest)

Every refusal and failure is an error of `errors.py`; nothing is repeated here, for only the caller knows whether what
it wanted is still right a second later. Bodies are JSON as bytes: an object that is sent is never one that was decoded
before, so no field is lost.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from shared.api.meta import Key
from shared.kube.config import load
from shared.kube.errors import Gone, Unavailable, error_of
from shared.kube.http_transport import HttpTransport
from shared.kube.metrics import NO_ANSWER, KubeMetrics
from shared.kube.pacing import Gates, Rate
from shared.kube.resources import Page, Resource, T
from shared.kube.transport import Answer, Guard, Request, Stream, Transport
from shared.kube.watch import WatchEvent, lines, read_event

TIMEOUT: Final = 5.0
"""Seconds that a request may take, from the moment it is sent."""

LIST_TIMEOUT: Final = 60.0
"""Seconds for one page of a list, which may be megabytes from a server that has just started."""

PAGE: Final = 500

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"


@dataclass(frozen=True)
class Limits:
    """How much a program may ask of the API server."""

    per_second: float = 0
    """Requests a second on average, watches aside; 0 for no limit."""
    burst: int = 1
    """Requests that may go out at once after a pause."""


class KubeClient:
    """The API server as its caller likes it: struct types in, struct types out."""

    def __init__(
        self, transport: Transport, *, limits: Limits | None = None, metrics: KubeMetrics | None = None
    ) -> None:
        limits = limits or Limits()
        self._transport = transport
        self._rate = Rate(limits.per_second, limits.burst)
        self._gates = Gates()
        self.metrics = metrics or KubeMetrics(CollectorRegistry())

    @classmethod
    async def connect(
        cls,
        program: str,
        *,
        kubeconfig: Path | str | None = None,
        master: str = "",
        proxy_from_environment: bool = False,
        limits: Limits | None = None,
        metrics: KubeMetrics | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> "KubeClient":
        """A client for the cluster that `config.load` finds; nothing is sent yet. Raises ConfigError."""
        connection = await load(kubeconfig, master, environ)
        transport = HttpTransport(connection, program, proxy_from_environment=proxy_from_environment)
        client = cls(transport, limits=limits, metrics=metrics)
        client.metrics.speaks_to(connection.server)
        return client

    def apart(self) -> "KubeClient":
        """A client over the same connections, with no limit of its own, and counted nowhere.

        For what comes by the clock and may not wait behind the program's work, nor be held back with it.
        """
        return KubeClient(self._transport)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._transport.close()

    async def get(self, resource: Resource[T], key: Key, *, timeout: float = TIMEOUT) -> T:  # noqa: ASYNC109
        """The object as it is now. Raises NotFound."""
        request = Request("GET", resource.path(key.namespace, key.name))
        return resource.decode(await self.read("get", resource, request, timeout))

    async def create(self, resource: Resource[T], namespace: str, body: bytes, *, guard: Guard | None = None) -> T:
        """Create what `body` is. Raises AlreadyExists."""
        request = Request("POST", resource.path(namespace), body=body)
        return resource.decode(await self.write("create", resource, request, guard))

    async def patch(
        self,
        resource: Resource[T],
        key: Key,
        body: bytes,
        *,
        content_type: str,
        subresource: str = "",
        guard: Guard | None = None,
    ) -> T:
        """Change the object by a patch of `content_type`. Raises NotFound, and Conflict for an old resourceVersion."""
        request = Request("PATCH", resource.path(key.namespace, key.name, subresource), (), body, content_type)
        return resource.decode(await self.write("patch", resource, request, guard))

    async def delete(
        self,
        resource: Resource[T],
        key: Key,
        *,
        uid: str,
        version: str = "",
        propagation: str = "Background",
        guard: Guard | None = None,
    ) -> None:
        """Delete the object of that uid, and in that version if one is given.

        Raises NotFound, and Conflict if the name now bears another or, with a version, if it was changed.
        """
        preconditions = {"uid": uid, "resourceVersion": version} if version else {"uid": uid}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": propagation,
        }
        request = Request("DELETE", resource.path(key.namespace, key.name), (), msgspec.json.encode(options))
        await self.write("delete", resource, request, guard)

    async def list_pages(
        self,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        limit: int = PAGE,
        timeout: float = LIST_TIMEOUT,  # noqa: ASYNC109
    ) -> AsyncGenerator[Page[T], None]:
        """Every object, page by page, all as of one moment that is not before the call.

        With `limit` 0 there is one page. Raises Gone where the server has forgotten the moment between two pages.
        """
        self.metrics.listing(resource.plural)
        more = ""
        while True:
            query = ((("limit", str(limit)),) if limit else ()) + ((("continue", more),) if more else ())
            request = Request("GET", resource.path(namespace), query)
            page = resource.decode_page(await self.read("list", resource, request, timeout))
            yield page
            if not page.more:
                return
            if page.more == more:
                raise Gone(f"the list of {resource.plural} does not get on", status=410, reason="Expired")
            more = page.more

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource[T],
        version: str,
        *,
        namespace: str | None = None,
        lasting: float = 300.0,
        silence: float = 120.0,
    ) -> AsyncIterator[AsyncGenerator[WatchEvent[T], None]]:
        """Changes after `version`, until the server ends the watch after `lasting` seconds.

        Raises Gone if the server no longer knows that version, Unavailable where nothing at all came for `silence`
        seconds, and BrokenStream for anything that is no event. The first two may come on entering or later.
        """
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(int(lasting))),
        )
        self.metrics.watching(resource.plural)
        request = Request("GET", resource.path(namespace), query)
        async with AsyncExitStack() as stack:
            async with self._gates.passing("watch", resource.plural):
                try:
                    async with asyncio.timeout(TIMEOUT):
                        stream = await stack.enter_async_context(self._transport.stream(request))
                        body = b"" if stream.status == 200 else await stream.read()
                except TimeoutError:
                    self.metrics.request("GET", NO_ANSWER)
                    raise _no_answer(TIMEOUT) from None
                except Unavailable:
                    self.metrics.request("GET", NO_ANSWER)
                    raise
                self.metrics.request("GET", str(stream.status))
                if stream.status != 200:
                    raise error_of(stream.status, body, stream.headers.get("Retry-After"))
            async with aclosing(self._events(resource, stream, silence)) as events:
                yield events

    async def _events(
        self, resource: Resource[T], stream: Stream, silence: float
    ) -> AsyncGenerator[WatchEvent[T], None]:
        async with aclosing(lines(_never_silent(stream, silence))) as received:
            async for line in received:
                yield read_event(line, resource)

    async def read(self, verb: str, resource: Resource[Any], request: Request, timeout: float = TIMEOUT) -> bytes:  # noqa: ASYNC109
        """Send a request that changes nothing; the body of an answer of success."""
        await self._rate.turn()
        return await self._send(verb, resource, request, timeout, None)

    async def write(self, verb: str, resource: Resource[Any], request: Request, guard: Guard | None = None) -> bytes:
        """Send a request that changes something; the body of an answer of success.

        Raises Unavailable where there is no telling whether it took effect.
        """
        await self._rate.turn()
        return await self._send(verb, resource, request, TIMEOUT, guard)

    async def _send(
        self,
        verb: str,
        resource: Resource[Any],
        request: Request,
        timeout: float,  # noqa: ASYNC109
        guard: Guard | None,
    ) -> bytes:
        async with self._gates.passing(verb, resource.plural):
            answer = await self._answer(verb, request, timeout, guard)
            if 200 <= answer.status < 300:
                return answer.body
            raise error_of(answer.status, answer.body, answer.headers.get("Retry-After"))

    async def _answer(self, verb: str, request: Request, timeout: float, guard: Guard | None) -> Answer:  # noqa: ASYNC109
        began, code, prevented = perf_counter(), NO_ANSWER, False

        def ask(guard: Guard) -> None:
            nonlocal prevented
            prevented = True
            guard()
            prevented = False

        try:
            async with asyncio.timeout(timeout):
                answer = await self._transport.send(request, partial(ask, guard) if guard else None)
            code = str(answer.status)
            return answer
        except TimeoutError:
            raise _no_answer(timeout) from None
        finally:
            if not prevented:
                self.metrics.request(request.method, code)
                self.metrics.duration(verb, perf_counter() - began)
                if request.body:
                    self.metrics.sent(verb, len(request.body))


async def _never_silent(stream: Stream, silence: float) -> AsyncGenerator[bytes, None]:
    """The stream's chunks. A connection over which nothing comes any more must not look like a quiet cluster."""
    async with aclosing(stream.chunks()) as chunks:
        while True:
            try:
                async with asyncio.timeout(silence):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise Unavailable(f"nothing came for {silence:g} s", reason="Silent") from None
            yield chunk


def _no_answer(within: float) -> Unavailable:
    return Unavailable(f"no answer within {within:g} s", reason="Timeout")
