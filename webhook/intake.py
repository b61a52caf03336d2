"""Takes an HTTP request in: what its head must be, and its body within the limits of size and time."""

import asyncio
import math
from typing import Final
from urllib.parse import parse_qs

from aiohttp import web

from shared.api.times import parse_duration
from webhook.admit import KINDS
from webhook.connections import Connection
from webhook.review import Body
from webhook.room import Share

PATHS: Final = {f"/validate/{resource}": resource for resource in KINDS}

MOST_BYTES: Final = 7 * 1024 * 1024
"""Of a body: an UPDATE carries two objects, of up to 3 MB as the API server takes them."""


class HttpRefusalError(Exception):
    """There is no review to answer to; an HTTP status says what is wrong instead."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def resource_of(http: web.BaseRequest) -> str:
    """The resource that the path stands for, once the head has been found in order. Raises HttpRefusalError."""
    resource = PATHS.get(http.raw_path.partition("?")[0])
    if resource is None:
        raise HttpRefusalError(404, f"there is nothing here; admission reviews go to {' and '.join(PATHS)}")
    if http.method != "POST":
        raise HttpRefusalError(405, "admission reviews are sent with POST", Allow="POST")
    if http.headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        raise HttpRefusalError(501, "no transfer encoding is known but chunked")
    if http.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise HttpRefusalError(415, "the body must not be compressed")
    if not _is_json(http):
        raise HttpRefusalError(415, "the body must be application/json in UTF-8")
    if (http.content_length or 0) > MOST_BYTES:
        raise _too_large()
    expected = http.headers.get("Expect")
    if expected is not None and expected.lower() != "100-continue":
        raise HttpRefusalError(417, "nothing can be expected here but 100-continue")
    return resource


async def read_body(http: web.BaseRequest, connection: Connection, share: Share | None = None) -> Body:
    """The whole body, a large one into its share of the memory.

    Raises HttpRefusalError where it is too large, or takes longer than the connection may, and NoTurnError where there
    is no room for it.
    """
    content = http.content
    if content.is_eof():  # a small one comes together with its head
        body: Body = content.read_nowait()
    else:
        try:
            async with asyncio.timeout_at(connection.deadline):
                body = await _read(http, share)
        except TimeoutError:
            raise HttpRefusalError(408, "the request did not come to its end in time") from None
        except web.RequestPayloadError:
            raise HttpRefusalError(400, "the body is not encoded as the head says") from None
    connection.working()
    return body


async def _read(http: web.BaseRequest, share: Share | None) -> bytearray:
    if "Expect" in http.headers:
        await http.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        http.writer.output_size = 0  # aiohttp takes what was written for the beginning of an answer
    body = bytearray()
    async for chunk in http.content.iter_any():
        if len(body) + len(chunk) > MOST_BYTES:
            raise _too_large()
        if share:
            await share.take(len(chunk))
        body += chunk
    return body


def patience_of(http: web.BaseRequest) -> float:
    """Seconds that the API server waits for the answer, as it says in the query."""
    given = parse_qs(http.raw_path.partition("?")[2]).get("timeout", [""])[0]
    told = parse_duration(given)
    return told.total_seconds() if told else math.inf


def _too_large() -> HttpRefusalError:
    return HttpRefusalError(413, f"the body must not be larger than {MOST_BYTES} bytes")


def _is_json(http: web.BaseRequest) -> bool:
    """`application/json`, with `charset=utf-8` or no charset."""
    if http.headers.get("Content-Type") == "application/json":
        return True
    return http.content_type == "application/json" and (http.charset or "utf-8").lower() == "utf-8"
