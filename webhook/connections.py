"""Who is connected: accepts TLS connections, keeps them within their limits of number and time, and lets them go.

aiohttp speaks HTTP on them but waits for ever, for a handshake, a header or a reader. So each connection has a thin
layer here that passes everything through and knows what the connection is waiting for, and since when:

    handshake -> idle -> reading -> working -> idle -> ...

Where there are too many, one makes room that has proved nothing: first those in their handshake, then those that never
sent a request, then those that have been idle for longest. So a crowd of silent strangers costs a client that has work
no more than a new handshake. A connection that is being answered is never taken away.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, Final, cast

from aiohttp.web_protocol import RequestHandler

log = logging.getLogger(__name__)

SWEEP: Final = 0.5
"""Seconds between two looks at who has taken too long."""

PAUSE: Final = 0.05
"""Seconds until the next try where no connection could be accepted, or the next look whether all have ended."""

LULL: Final = 0.5
"""Seconds without a request after which a connection may be closed in the end: one may be on its way."""

FAREWELL: Final = 2.0
"""Seconds that a client has to answer the end of TLS."""

RECEIVED: Final = 32 * 1024
"""Bytes that the kernel keeps of a connection until they are read, and so the most that are read at once. TLS keeps
buffers of that size: 140 KB for each connection that ever brought a large review, and 550 without this."""

TIMED_OUT: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, but for the number of connections."""

    connections: int = 512
    handshake: float = 10
    request: float = 10
    """From a request's first byte to its last."""
    idle: float = 120
    """API servers keep idle connections for 90 s; whoever closes first must not be we, or a request may be lost."""
    write: float = 10
    """For a reader that takes nothing."""


class Stage(IntEnum):
    """What a connection is doing; the lower, the sooner it makes room for another."""

    HANDSHAKE = 0
    UNPROVEN = 1
    IDLE = 2
    READING = 3
    WORKING = 4


class Connection(asyncio.Protocol):
    """One connection: passes everything on to aiohttp, and knows since when it is waiting for what."""

    _http: RequestHandler

    def __init__(self, http: Callable[[], RequestHandler], loop: asyncio.AbstractEventLoop, limits: Limits) -> None:
        self._make_http = http
        self._loop = loop
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._more_came = False
        self._proven = False
        self._blocked_at: float | None = None
        self.stage = Stage.HANDSHAKE
        self.deadline = loop.time() + limits.handshake
        self.task: asyncio.Task[None] | None = None
        """Its handshake."""
        self.client: frozenset[str] = frozenset()
        """Names in the client's certificate, where it has to have one."""
        self.ended: asyncio.Future[None] = loop.create_future()

    @property
    def transport(self) -> asyncio.Transport | None:
        """None before the handshake is done."""
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS is set up."""
        self._transport = cast("asyncio.Transport", transport)
        if certificate := transport.get_extra_info("peercert"):
            self.client = _names(certificate)
        self._enter(Stage.UNPROVEN, self._limits.idle)
        self._http = self._make_http()
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Some of a request, the clock of which starts with its first byte."""
        if self.stage is Stage.WORKING:
            self._more_came = True  # the next request, sent before this one was answered
        elif self.stage is not Stage.READING:
            self._enter(Stage.READING, self._limits.request)
        self._http.data_received(data)

    def eof_received(self) -> None:
        """The client sends no more."""
        self._http.eof_received()

    def pause_writing(self) -> None:
        """The client does not read what it was sent."""
        self._blocked_at = self._loop.time()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """The client has read on."""
        self._blocked_at = None
        self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._http.connection_lost(exc)
        self.end()

    def working(self) -> None:
        """A request is read completely and is being judged. Its handler keeps its own time."""
        self.stage = Stage.WORKING
        self._more_came = False

    def answered(self, *, proven: bool) -> None:
        """The answer is ready; the next request may come, or its beginning is here already."""
        self._proven = self._proven or proven
        if self._more_came:
            self._enter(Stage.READING, self._limits.request)
        else:
            self._enter(Stage.IDLE if self._proven else Stage.UNPROVEN, self._limits.idle)

    def is_late(self, now: float) -> bool:
        """It has taken longer than it may."""
        if self._blocked_at is not None and now > self._blocked_at + self._limits.write:
            return True
        return self.stage is not Stage.WORKING and now > self.deadline

    def idles_for(self, seconds: float) -> bool:
        """It has been open for so long with nothing to answer."""
        since = self.deadline - self._limits.idle
        return self.stage in (Stage.UNPROVEN, Stage.IDLE) and self._loop.time() - since >= seconds

    def leave(self) -> None:
        """Say goodbye."""
        if self._transport:
            self._transport.close()

    def drop(self, *, say_why: bool = False) -> None:
        """Close it, whatever it is doing."""
        if self.task and not self.task.done():
            self.task.cancel()
        elif self._transport:
            if say_why and self.stage is Stage.READING and self._blocked_at is None:
                self._transport.write(TIMED_OUT)
                self._transport.close()
            else:
                self._transport.abort()

    def end(self) -> None:
        """Tell whoever counts that this one is gone."""
        if not self.ended.done():
            self.ended.set_result(None)

    def _enter(self, stage: Stage, seconds: float) -> None:
        self.stage = stage
        self.deadline = self._loop.time() + seconds


def _names(certificate: Mapping[str, Any]) -> frozenset[str]:
    """The common and DNS names in a certificate as the ssl module describes it."""
    common = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return frozenset(common | {value for key, value in certificate.get("subjectAltName", ()) if key == "DNS"})


class Listener:
    """Accepts at one socket, each connection with whatever TLS context is then the newest."""

    def __init__(
        self, http: Callable[[], RequestHandler], tls: Callable[[], ssl.SSLContext | None], limits: Limits
    ) -> None:
        self._http = http
        self._tls = tls
        self._limits = limits
        self._open: dict[Connection, None] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._accepting: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """How many are open, handshakes included."""
        return len(self._open)

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """Start to accept; returns where. Raises OSError where that address cannot be had."""
        dual = not host and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual or ":" in host else socket.AF_INET
        listening = socket.create_server(
            (host, port), family=family, backlog=self._limits.connections, dualstack_ipv6=dual
        )
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)  # those that are accepted have it from here
        listening.setblocking(False)
        self._accepting = self._start(self._accept(listening))
        self._start(self._sweep())
        bound = listening.getsockname()
        return bound[0], bound[1]

    async def finish(self, patience: float) -> None:
        """Take no new connections, and close those that are open once nothing is to be answered on them any more.

        The server has to ask its clients to close theirs. What has not ended after `patience` seconds is dropped.
        """
        await self._stop_accepting()
        clock = asyncio.get_running_loop().time
        until = clock() + patience
        while self._open and clock() < until:
            for connection in [connection for connection in self._open if connection.idles_for(LULL)]:
                connection.leave()
            await asyncio.sleep(PAUSE)
        await self.close()

    async def close(self) -> None:
        """Drop what is open, whatever it is doing."""
        await self._stop_accepting()
        left = list(self._open)
        for connection in left:
            connection.drop()
        await asyncio.gather(*(connection.ended for connection in left))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _stop_accepting(self) -> None:
        if self._accepting:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError as error:  # no more open files, or a client that has left already
                    log.warning("connection not accepted", extra={"error": error})
                    self._make_room()
                    await asyncio.sleep(PAUSE)
                    continue
                context = self._tls()
                if context is None or (len(self._open) >= self._limits.connections and not self._make_room()):
                    accepted.close()
                    continue
                connection = Connection(self._http, loop, self._limits)
                self._open[connection] = None
                connection.ended.add_done_callback(partial(self._forget, connection))
                connection.task = self._start(self._shake_hands(connection, accepted, context))
                await asyncio.sleep(0)  # lets the handshake begin, and others have their turn in a crowd

    async def _shake_hands(self, connection: Connection, accepted: socket.socket, context: ssl.SSLContext) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=context,
                ssl_handshake_timeout=self._limits.handshake,
                ssl_shutdown_timeout=FAREWELL,
            )
        except asyncio.CancelledError:
            connection.end()
            raise
        except Exception as error:
            log.debug("handshake failed", extra={"error": error})
            connection.end()

    def _make_room(self) -> bool:
        """Drop the one that is the least loss; False where everybody has work."""
        least = min(self._open, key=lambda connection: (connection.stage, connection.deadline), default=None)
        if least is None or least.stage is Stage.WORKING:
            return False
        self._forget(least)
        least.drop()
        return True

    def _forget(self, connection: Connection, _: object = None) -> None:
        self._open.pop(connection, None)

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP)
            now = loop.time()
            for connection in [connection for connection in self._open if connection.is_late(now)]:
                connection.drop(say_why=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
