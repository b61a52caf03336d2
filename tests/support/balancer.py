"""Offers a TCP balancer on the loopback, as what stands between an API server and the replicas of a webhook.

    async with Balancer([8443, 8444]) as balancer:
        ...                          # connect to balancer.port
        balancer.remove(8443)        # for new connections; those that are open stay, as with a Service

Connections go to the backends in turn, and to the next where one refuses. Bytes are passed on as they are.
"""

import asyncio
from collections.abc import Iterable
from typing import Self, cast


class Balancer:
    """Listens for as long as the `async with` lasts."""

    def __init__(self, backends: Iterable[int]) -> None:
        self.backends = list(backends)
        self.port = 0
        self._turn = 0
        self._tasks = set[asyncio.Task[None]]()
        self._open = set[asyncio.BaseTransport]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(lambda: _Side(self), "127.0.0.1", 0, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *reason: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        for transport in list(self._open):
            transport.abort()  # type: ignore[attr-defined]  # both kinds of transport have it
        await self._server.wait_closed()
        await asyncio.sleep(0)

    def add(self, port: int) -> None:
        """A backend to which new connections go as well."""
        self.backends.append(port)

    def remove(self, port: int) -> None:
        """A backend to which no new connections go."""
        self.backends.remove(port)

    def accepted(self, client: "_Side") -> None:
        """Somebody has connected."""
        task = asyncio.get_running_loop().create_task(self._connect(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """A side of a connection is open."""
        self._open.add(transport)

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """It is not any more."""
        self._open.discard(transport)

    async def _connect(self, client: "_Side") -> None:
        loop = asyncio.get_running_loop()
        self._turn += 1
        first = self._turn % max(1, len(self.backends))
        for port in self.backends[first:] + self.backends[:first]:
            try:
                await loop.create_connection(lambda: _Side(self, client), "127.0.0.1", port)
            except OSError:
                continue
            return
        client.transport.abort()


class _Side(asyncio.Protocol):
    """The client's side of a connection, or, with `other`, the backend's."""

    transport: asyncio.Transport

    def __init__(self, balancer: Balancer, other: "_Side | None" = None) -> None:
        self._balancer = balancer
        self._other = other

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._balancer.opened(transport)
        if self._other is None:
            self.transport.pause_reading()
            self._balancer.accepted(self)
        elif self._other.transport.is_closing():
            self.transport.abort()
        else:
            self._other._other = self
            self._other.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        assert self._other
        self._other.transport.write(data)

    def eof_received(self) -> bool:
        assert self._other
        if self._other.transport.can_write_eof():
            self._other.transport.write_eof()
        return True  # the other direction goes on

    def pause_writing(self) -> None:
        if self._other and not self._other.transport.is_closing():
            self._other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other and not self._other.transport.is_closing():
            self._other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._balancer.closed(self.transport)
        if self._other:
            self._other.transport.close()
