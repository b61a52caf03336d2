"""Offers the webhook's server on the loopback, with real TLS, in the test's own process.

async with serving() as webhook:
    status, answer = await webhook.post(creation("get"))
"""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import aiohttp
import trustme
from prometheus_client import CollectorRegistry

from tests.webhook.reviews import sent
from webhook.access import AccessLog
from webhook.admit import Known
from webhook.certificates import server_context
from webhook.connections import Limits, Listener
from webhook.metrics import Metrics
from webhook.server import LookUp, Server, WorkLimits


@cache
def authority() -> trustme.CA:
    """The CA of all tests."""
    return trustme.CA()


@cache
def tls_of_server() -> ssl.SSLContext:
    context = server_context()
    authority().issue_cert("127.0.0.1").configure_cert(context)
    return context


def trusting() -> ssl.SSLContext:
    """What a client needs."""
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


@dataclass
class Webhook:
    """A server that serves."""

    port: int
    server: Server
    listener: Listener
    registry: CollectorRegistry
    lines: list[bytes]
    http: aiohttp.ClientSession
    tls: ssl.SSLContext = field(default_factory=trusting)

    def url(self, path: str = "/validate/jobflows") -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    async def post(
        self, review: object, resource: str = "jobflows", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Send a review, or any bytes; the HTTP status, and the answer's response or whatever else it is."""
        body = io.BytesIO(review if isinstance(review, bytes) else sent(review))
        headers = {"Content-Type": "application/json", **(headers or {})}
        async with self.http.post(self.url(f"/validate/{resource}"), data=body, headers=headers) as answer:
            said = json.loads(await answer.read())
            return answer.status, said.get("response", said)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A raw connection, with TLS set up."""
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)

    async def raw(self, sent: bytes) -> bytes:
        """All that is answered to these bytes until the server closes the connection."""
        reader, writer = await self.connect()
        try:
            writer.write(sent)
            async with asyncio.timeout(5):
                return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.transport.abort()

    def logged(self) -> list[dict[str, Any]]:
        """The access lines so far."""
        self.server._access.flush()
        return [json.loads(line) for line in b"".join(self.lines).splitlines()]

    def counted(self, name: str, **labels: str) -> float:
        """The value of a metric, 0 where it was never counted."""
        return self.registry.get_sample_value(name, labels) or 0


def head(length: object, resource: str = "jobflows", **headers: str) -> bytes:
    """The head of a request with a body of that length."""
    lines = {"Host": "webhook", "Content-Type": "application/json", "Content-Length": str(length), **headers}
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"POST /validate/{resource} HTTP/1.1\r\n{fields}\r\n".encode()


async def until(claim: Callable[[], object], seconds: float = 5) -> None:
    """Wait until the claim holds."""
    async with asyncio.timeout(seconds):
        while not claim():  # noqa: ASYNC110 - what is claimed belongs to the server, which has no event for tests
            await asyncio.sleep(0.01)


async def no_users(namespace: str, template: str) -> Sequence[str]:
    return []


@asynccontextmanager
async def serving(
    *,
    known: Known | None = None,
    look_up: LookUp = no_users,
    limits: Limits | None = None,
    work: WorkLimits | None = None,
    tls: Callable[[], ssl.SSLContext | None] = tls_of_server,
    clients: frozenset[str] = frozenset(),
) -> AsyncIterator[Webhook]:
    registry = CollectorRegistry()
    lines: list[bytes] = []
    server = Server(
        lambda: known or Known(),
        look_up,
        Metrics(registry),
        AccessLog(lambda written: lines.append(written) is None),
        limits=work,
        clients=clients,
    )
    listener = Listener(server.protocol, tls, limits or Limits())
    _, port = listener.listen("127.0.0.1", 0)
    client = trusting()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client, limit=0)) as http:
        yield Webhook(port, server, listener, registry, lines, http, client)
    await listener.close()
    await server.close()
