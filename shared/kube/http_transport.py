"""Requests over HTTP with aiohttp: one session, connections kept alive, the credentials of `config.py`."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

import aiohttp
from yarl import URL

from shared import __version__
from shared.kube.config import Connection
from shared.kube.errors import Unavailable
from shared.kube.transport import Answer, Guard, Request

CONNECT_WITHIN: Final = 4.0
"""Seconds for a connection and its TLS handshake: less than a whole request may take, so that the error says what."""

_NO_LIMIT: Final = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN)
"""Whoever sends a request sets its time limit; see `transport.py`."""


_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)
"""Of the request that this task is sending."""


class _GuardedRequest(aiohttp.ClientRequest):
    """Asks the guard once there is a connection: that may have taken seconds, in which this process was stopped."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        if guard := _guard.get():
            try:
                guard()
            except BaseException:
                conn.release()  # unused, and as good as before
                raise
        return await super().send(conn)


class HttpTransport:
    """Speaks to one API server. To be made inside the event loop that uses it."""

    def __init__(self, connection: Connection, program: str, *, proxy_from_environment: bool = False) -> None:
        self._connection = connection
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=connection.tls or True, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_GuardedRequest,
            timeout=_NO_LIMIT,
            trust_env=proxy_from_environment,
            read_bufsize=2**20,
            headers={
                # Kubernetes names the manager of a field by what stands before the slash.
                "User-Agent": f"{program}/{__version__}",
                # Packing lists costs the API server more than the wire does.
                "Accept-Encoding": "identity",
            },
        )

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        """Send and wait for the whole answer. What `guard` raises is raised as it is, and nothing is sent."""
        if guard:
            guard()  # no connection need be made for what is forbidden already
        guarded = _guard.set(guard)
        try:
            async with self._open(request) as response:
                with unavailable_without_answer():
                    return Answer(response.status, response.headers, await response.read())
        finally:
            _guard.reset(guarded)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator["HttpStream"]:
        """Send, and read the answer's body while it comes."""
        async with self._open(request) as response:
            yield HttpStream(response)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._session.close()
        # aiohttp closes TLS connections in callbacks that need a turn of the loop.
        await asyncio.sleep(0)

    @asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Accept": request.accept}
        authorization = await self._connection.credentials.authorization()
        if authorization:
            headers["Authorization"] = authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        options: dict[str, Any] = {}
        if self._connection.server_hostname:
            options["server_hostname"] = self._connection.server_hostname
        if self._connection.proxy:
            options["proxy"] = self._connection.proxy
        with unavailable_without_answer():
            response = await self._session.request(
                request.method,
                URL(self._connection.server + request.path, encoded=True).update_query(request.query),
                data=request.body,
                headers=headers,
                allow_redirects=False,
                **options,
            )
        if response.status == 401:
            self._connection.credentials.refused()
        async with response:
            yield response


@contextmanager
def unavailable_without_answer() -> Iterator[None]:
    """Turn what aiohttp and the operating system raise where there is no answer into Unavailable."""
    try:
        yield
    except (aiohttp.ClientError, ssl.SSLError, OSError, asyncio.IncompleteReadError, EOFError) as wrong:
        said = " ".join(str(wrong).split()) or type(wrong).__name__
        reason = "Timeout" if isinstance(wrong, TimeoutError) else "ConnectionFailed"
        raise Unavailable(said, reason=reason) from wrong


class HttpStream:
    """An answer that is read while it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self._response.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        with unavailable_without_answer():
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def read(self) -> bytes:
        """The whole body."""
        with unavailable_without_answer():
            return await self._response.read()
