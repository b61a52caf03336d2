"""Offers a server on this machine that answers as a test says, and remembers what it was asked."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.test_utils import TestServer

A_JOB = {
    "metadata": {"name": "etl-get", "namespace": "ml", "uid": "u", "resourceVersion": "5"},
    "spec": {"unknown": [1, 2]},
    "status": {"state": {"phase": "Running"}},
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """A server whose answers are `handler`'s, and what it was asked."""

    def __init__(self) -> None:
        self.handler: Handler = answer(A_JOB)
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self.handle)
        self.server = TestServer(app, host="127.0.0.1")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        return await self.handler(request)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


def answer(body: object, status: int = 200, **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(body=raw, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handler


def refusal(code: int, reason: str, message: str = "because") -> Handler:
    return answer({"kind": "Status", "code": code, "reason": reason, "message": message}, code)


def stream(*chunks: bytes, pause: float = 0.0, hold: bool = False) -> Handler:
    """An answer that comes bit by bit, and ends or, with `hold`, does not."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(pause)
        if hold:
            await asyncio.sleep(3600)
        return response

    return handler
