"""The HTTP side: takes admission reviews in, has them judged, answers, and says in the log and the metrics how it went.

Whatever comes, there is an answer that says what is wrong with it. Reviews of `LARGE` bytes and more are judged in a
thread, one after the other, so that small ones do not have to wait for them; how much of them is in memory is limited,
and how many requests are in work at all. A request whose client has gone is dropped.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, cast

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from shared.kube.errors import ApiError
from webhook.access import AccessLog
from webhook.admit import AskUsers, Judged, Known, judge
from webhook.connections import Connection
from webhook.intake import HttpRefusalError, patience_of, read_body, resource_of
from webhook.metrics import Metrics
from webhook.review import Body, MalformedReviewError
from webhook.room import Room
from webhook.turns import NoTurnError, Turns
from webhook.verdict import Verdict

log = logging.getLogger(__name__)

LARGE: Final = 32 * 1024
"""Bytes of a body from which it is judged off the event loop, and needs room before it is read."""

CLIENT_GONE: Final = 499
"""The status, in log and metrics, of a request whose client did not wait for the answer; nginx calls it so."""

SWITCH: Final = 0.0005
"""Seconds for which the thread may keep the interpreter while the event loop wants it. A request needs it back several
times, and Python's own 5 ms each are too long."""

LookUp = Callable[[str, str], Awaitable[Sequence[str]]]
"""Namespace and name of a JobTemplate, to names of JobFlows that still need it. Raises ApiError."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How many requests may be in work at once, 64 in all, and for how long."""

    looked_up: int = 60
    """Deletions that wait for the API server. Small reviews need no place, for they never wait for anything."""
    large: int = 4
    """Large bodies that are judged or about to be. One is judged at a time."""
    buffered: int = 4 * 1024 * 1024
    """Bytes of large bodies in memory; one of them may go beyond that."""
    wait: float = 3
    """Seconds to wait for a turn, or for room."""
    answer: float = 4
    """Seconds to the answer where the API server is asked; it waits 5 s for the webhook itself."""


class Server:
    """Answers admission reviews over HTTP."""

    def __init__(
        self,
        known: Callable[[], Known],
        look_up: LookUp,
        metrics: Metrics,
        access: AccessLog,
        *,
        limits: WorkLimits | None = None,
        clients: frozenset[str] = frozenset(),
    ) -> None:
        """`clients` are the names that a client's certificate may have, where it must have one of those."""
        self._known = known
        self._look_up = look_up
        self._metrics = metrics
        self._access = access
        self._clients = clients
        self._limits = limits = limits or WorkLimits()
        self._looked_up = Turns(limits.looked_up, limits.wait)
        self._large = Turns(limits.large, limits.wait)
        self._room = Room(limits.buffered, limits.wait)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="large-reviews")
        self.draining = False
        """Every answer then asks its client to connect anew, which will be to another replica."""
        sys.setswitchinterval(SWITCH)
        self._http = web.Server(
            self.answer,
            handler_cancellation=True,
            logger=_parser_log(metrics, access),
            access_log=None,
            keepalive_timeout=3600,  # `connections.py` has the real one
            max_line_size=8 * 1024,
            max_field_size=8 * 1024,
            max_headers=128,
            lingering_time=2,
            auto_decompress=False,
            read_bufsize=32 * 1024,
        )

    def protocol(self) -> RequestHandler:
        """What speaks HTTP on a new connection."""
        return self._http()

    async def close(self) -> None:
        """Let go of everything, once no connection is open any more."""
        await self._http.shutdown(0)
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._access.flush()

    async def answer(self, http: web.BaseRequest) -> web.Response:
        """The answer to one HTTP request, and one line in the log about it."""
        began, status = monotonic(), CLIENT_GONE
        about: dict[str, Any] = {}
        connection = _connection(http)
        try:
            response = await self._answer(http, connection, began, about)
            status = response.status
        finally:
            connection.answered(proven=status == 200)
            if status != 200:
                self._metrics.http_error(status)
            self._access.request(status, monotonic() - began, about)
        if self.draining:
            response.force_close()
        return response

    async def _answer(
        self, http: web.BaseRequest, connection: Connection, began: float, about: dict[str, Any]
    ) -> web.Response:
        try:
            if self._clients and not self._clients & connection.client:
                raise HttpRefusalError(403, "this client's certificate has none of the names that are served")
            resource = resource_of(http)
            length = http.content_length
            if length is not None and length < LARGE:
                judged, said = await self._judge(await read_body(http, connection), resource)
            else:
                with self._room.share() as share:
                    body = await read_body(http, connection, share)
                    async with self._large:
                        judged, said = await self._judge(body, resource)
            verdict = judged.verdict
            if isinstance(verdict, AskUsers):
                verdict = await self._ask(verdict, http, began)
                said = judged.answer(verdict)
            about.update(_about(judged, verdict))
            self._metrics.judged(resource, judged.operation, verdict, monotonic() - began)
            return _response(200, said)
        # An exception knows the frames that it came through, and those the body: no name may keep it.
        except MalformedReviewError as malformed:
            return _refused(HttpRefusalError(400, str(malformed)), http, about)
        except HttpRefusalError as refusal:
            return _refused(refusal, http, about)
        except NoTurnError:
            return _refused(_later("too many requests are in work; try again"), http, about)
        except Exception:
            log.exception("request failed")
            return _refused(_later("the webhook failed, and its log says why; try again"), http, about)

    async def _judge(self, body: Body, resource: str) -> tuple[Judged, bytes]:
        """Judge a body here, or a large one in the thread; with the answer, where it does not depend on a question."""
        if len(body) < LARGE:
            judged, said = _judge_and_write(body, resource, self._known())
        else:
            loop = asyncio.get_running_loop()
            judged, said = await loop.run_in_executor(self._thread, _judge_large, body, resource, self._known())
        if judged.error:
            log.error("review not judged", exc_info=judged.error, extra={"uid": judged.uid})
        return judged, said

    async def _ask(self, question: AskUsers, http: web.BaseRequest, began: float) -> Verdict:
        """Decide on what the API server says, or refuse in time where it says nothing."""
        patience = min(self._limits.answer, 0.8 * patience_of(http))
        try:
            async with asyncio.timeout(began + patience - monotonic()), self._looked_up:
                return question.decide(await self._look_up(question.namespace, question.name))
        except (ApiError, TimeoutError, NoTurnError) as trouble:
            log.warning("users of a JobTemplate not found out", extra={"error": trouble or type(trouble).__name__})
            return question.give_up()


def _connection(http: web.BaseRequest) -> Connection:
    transport = http.transport
    if transport is None:
        raise ConnectionResetError("the client has gone")
    return cast("Connection", transport.get_protocol())


def _judge_and_write(body: Body, resource: str, known: Known) -> tuple[Judged, bytes]:
    judged = judge(body, resource, known)
    return judged, b"" if isinstance(judged.verdict, AskUsers) else judged.answer(judged.verdict)


def _judge_large(body: Body, resource: str, known: Known) -> tuple[Judged, bytes]:
    judged, said = _judge_and_write(body, resource, known)
    return judged.without_objects(), said


def _about(judged: Judged, verdict: Verdict) -> dict[str, Any]:
    """What the access line says of a review: never more of an object than its name."""
    about: dict[str, Any] = {
        "uid": judged.uid,
        "resource": judged.resource,
        "operation": judged.operation,
        "allowed": verdict.allowed,
    }
    if request := judged.request:
        about |= {"namespace": request.namespace, "object": request.object_name, "user": request.user_info.username}
        if request.dry_run:
            about["dry_run"] = True
    if not verdict.allowed:
        about |= {"code": verdict.code, "rules": ",".join(sorted(verdict.rules))}
    return about


def _later(message: str) -> HttpRefusalError:
    return HttpRefusalError(503, message, Retry_After="1")


def _response(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def _refused(refusal: HttpRefusalError, http: web.BaseRequest, about: dict[str, Any]) -> web.Response:
    """A metav1.Status, which the API server tells its user; the body that was not read ends the connection."""
    about.update(method=http.method, path=http.raw_path, reason=str(refusal))
    said = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": refusal.status, "message": str(refusal)}
    response = _response(refusal.status, msgspec.json.encode(said))
    response.headers.update(refusal.headers)
    response.force_close()
    return response


def _parser_log(metrics: Metrics, access: AccessLog) -> logging.Logger:
    """aiohttp logs what it cannot read as errors with traces, and quotes it. Here that is a request like any other.

    The logger is nobody else's and needs no set-up.
    """

    class Parser(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            wrong = record.exc_info[1] if record.exc_info else None
            if isinstance(wrong, HttpProcessingError):
                metrics.http_error(400)
                access.request(400, 0, {"reason": type(wrong).__name__})
            else:
                log.error("connection failed", exc_info=wrong, extra={"said": record.getMessage()})

    logger = logging.Logger("webhook.http", logging.DEBUG)  # noqa: LOG001 - of this server alone, below no other
    logger.addHandler(Parser())
    return logger
