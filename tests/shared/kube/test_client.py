"""Requests over real connections to a server on this machine: what is sent, and what becomes of the answer."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import trustme
from aiohttp import web
from prometheus_client import CollectorRegistry

from shared.api.job import Job
from shared.api.meta import Key
from shared.kube import client as client_module
from shared.kube.client import JSON_PATCH, KubeClient, Limits
from shared.kube.config import load
from shared.kube.errors import (
    AlreadyExists,
    BrokenStream,
    Conflict,
    Gone,
    NotFound,
    Refused,
    TooManyRequests,
    Unavailable,
    Unreadable,
)
from shared.kube.http_transport import HttpTransport
from shared.kube.metrics import KubeMetrics
from shared.kube.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from shared.kube.watch import Bookmark, Change
from tests.shared.kube.serving import A_JOB, Handler, Server, answer, refusal, stream

KEY = Key("ml", "etl-get")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.server.start_server(shutdown_timeout=0.01)
    yield server
    await server.server.close()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[KubeClient]:
    client = await KubeClient.connect("jobflow-test", master=server.url, environ={})
    yield client
    await client.close()


class TestRequests:
    async def test_a_get_reads_the_fields_that_are_known(self, client: KubeClient, server: Server) -> None:
        job = await client.get(JOBS, KEY)
        assert (job.key, job.uid, job.phase) == (KEY, "u", "Running")
        (asked,) = server.asked
        assert (asked.method, asked.path) == ("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/ml/jobs/etl-get")
        assert asked.headers["User-Agent"].startswith("jobflow-test/")
        assert asked.headers["Accept-Encoding"] == "identity"
        assert "Authorization" not in asked.headers

    async def test_a_create_sends_the_bytes_that_it_is_given(self, client: KubeClient, server: Server) -> None:
        server.handler = answer(A_JOB, 201)
        body = b'{"apiVersion":"x",  "unknown": {"kept": true}}'
        assert isinstance(await client.create(JOBS, "ml", body), Job)
        assert server.bodies == [body]
        assert server.asked[0].method == "POST"
        assert server.asked[0].content_type == "application/json"

    async def test_a_patch_says_which_kind_of_patch_it_is(self, client: KubeClient, server: Server) -> None:
        server.handler = answer({"metadata": {"name": "etl", "namespace": "ml"}})
        await client.patch(JOBFLOWS, Key("ml", "etl"), b"[]", content_type=JSON_PATCH, subresource="status")
        (asked,) = server.asked
        assert asked.path == "/apis/flow.volcano.sh/v1alpha1/namespaces/ml/jobflows/etl/status"
        assert (asked.method, asked.content_type) == ("PATCH", "application/json-patch+json")

    async def test_a_delete_carries_the_uid_and_goes_to_the_background(
        self, client: KubeClient, server: Server
    ) -> None:
        server.handler = answer({"kind": "Status", "status": "Success"})
        await client.delete(JOBS, KEY, uid="u-1")
        sent = json.loads(server.bodies[0])
        assert sent["preconditions"] == {"uid": "u-1"}
        assert sent["propagationPolicy"] == "Background"

    @pytest.mark.parametrize("name", ["a/b", "../../secrets/x", "a?watch=true", "a#b", "a%2fb", "ä b", "@evil.example"])
    async def test_a_name_is_one_part_of_the_path_whatever_is_in_it(
        self, client: KubeClient, server: Server, name: str
    ) -> None:
        await client.get(JOBS, Key("ml", name))
        (asked,) = server.asked
        parts = asked.raw_path.split("/")
        assert len(parts) == 8
        assert asked.path.removeprefix("/apis/batch.volcano.sh/v1alpha1/namespaces/ml/jobs/") == name
        assert asked.query_string == ""

    @pytest.mark.parametrize("name", ["", ".", ".."])
    async def test_what_cannot_be_a_name_is_not_sent(self, client: KubeClient, server: Server, name: str) -> None:
        with pytest.raises(Refused):
            await client.get(JOBS, Key(name, "x"))
        assert not server.asked

    async def test_a_guard_has_the_last_word_before_a_write(self, client: KubeClient, server: Server) -> None:
        def no_longer_leading() -> None:
            raise RuntimeError("the lease is lost")

        with pytest.raises(RuntimeError, match="lease"):
            await client.create(JOBS, "ml", b"{}", guard=no_longer_leading)
        assert not server.asked

    async def test_a_guard_is_asked_once_there_is_a_connection_which_is_kept_where_it_refuses(self) -> None:
        greeted = 0

        def greet(*_: object) -> None:
            nonlocal greeted
            greeted += 1

        def refuse() -> None:
            if greeted:
                raise RuntimeError("too late")

        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        context.sni_callback = greet
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        server = Server()
        await server.server.start_server(ssl=context, shutdown_timeout=0.01)
        connection = await load(master=f"https://127.0.0.1:{server.server.port}", environ={})
        client = KubeClient(HttpTransport(replace(connection, tls=trusting), "jobflow-test"))
        with pytest.raises(RuntimeError, match="too late"):
            await client.create(JOBS, "ml", b"{}", guard=refuse)
        assert not server.asked
        await client.get(JOBS, KEY)
        assert greeted == 1
        await client.close()
        await server.server.close()


class TestRefusals:
    @pytest.mark.parametrize(
        ("handler", "expected"),
        [
            pytest.param(refusal(404, "NotFound"), NotFound, id="not found"),
            pytest.param(refusal(409, "AlreadyExists"), AlreadyExists, id="already exists"),
            pytest.param(refusal(409, "Conflict"), Conflict, id="conflict"),
            pytest.param(refusal(422, "Invalid"), Refused, id="invalid"),
            pytest.param(refusal(500, "InternalError"), Unavailable, id="internal error"),
            pytest.param(
                answer(b"", 302, Location="http://127.0.0.1:1/"), Unavailable, id="a redirect is not followed"
            ),
            pytest.param(answer(b"<html>"), Unreadable, id="success in words that nobody understands"),
            pytest.param(answer({"metadata": "no object"}), Unreadable, id="an object of another shape"),
        ],
    )
    async def test_an_answer_that_is_no_success_is_raised(
        self, client: KubeClient, server: Server, handler: Handler, expected: type[Exception]
    ) -> None:
        server.handler = handler
        with pytest.raises(expected):
            await client.create(JOBS, "ml", b"{}")
        assert len(server.asked) == 1, "nothing is repeated behind the caller's back"

    async def test_the_servers_own_words_are_kept(self, client: KubeClient, server: Server) -> None:
        server.handler = refusal(422, "Invalid", 'admission webhook "x" denied the request: queue is closed')
        with pytest.raises(Refused) as raised:
            await client.create(JOBS, "ml", b"{}")
        assert raised.value.message == 'admission webhook "x" denied the request: queue is closed'

    async def test_a_write_after_a_request_to_wait_is_not_sent(self, client: KubeClient, server: Server) -> None:
        server.handler = answer({"kind": "Status", "code": 429}, 429, Retry_After="60")
        with pytest.raises(TooManyRequests):
            await client.create(JOBS, "ml", b"{}")
        server.handler = answer(A_JOB)
        with pytest.raises(TooManyRequests) as raised:
            await client.create(JOBS, "ml", b"{}")
        assert 59 < (raised.value.retry_after or 0) <= 60
        await client.get(JOBS, KEY)
        assert [asked.method for asked in server.asked] == ["POST", "GET"]


class TestAServerThatFails:
    async def test_no_server_is_unavailable(self) -> None:
        client = await KubeClient.connect("jobflow-test", master="http://127.0.0.1:1", environ={})
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
            await client.get(JOBS, KEY)
        await client.close()

    async def test_a_request_ends_after_its_time_limit(
        self, client: KubeClient, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert client_module.TIMEOUT == 5.0
        monkeypatch.setattr(client_module, "TIMEOUT", 0.2)
        server.handler = stream(b"{", hold=True)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="no answer within"):
            await client.create(JOBS, "ml", b"{}")
        assert time.monotonic() - began < 2

    async def test_an_answer_that_breaks_off_is_unavailable(self, client: KubeClient, server: Server) -> None:
        async def break_off(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b'{"metadata"')
            assert request.transport
            request.transport.abort()
            return response

        server.handler = break_off
        with pytest.raises(Unavailable):
            await client.create(JOBS, "ml", b"{}")

    async def test_the_environments_proxy_is_not_used_unless_that_is_set(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        direct = await KubeClient.connect("jobflow-test", master=server.url, environ={})
        assert await direct.get(JOBS, KEY)
        await direct.close()
        proxied = await KubeClient.connect(
            "jobflow-test", master="http://cluster.example", proxy_from_environment=True, environ={}
        )
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
            await proxied.get(JOBS, KEY)
        await proxied.close()


class TestLists:
    async def test_a_list_is_read_page_by_page(self, client: KubeClient, server: Server) -> None:
        async def pages(request: web.Request) -> web.Response:
            more = {"": "token", "token": ""}[request.query.get("continue", "")]
            metadata = {"resourceVersion": "77", "continue": more}
            return web.json_response({"metadata": metadata, "items": [A_JOB, A_JOB]})

        server.handler = pages
        read = [page async for page in client.list_pages(JOBS, namespace="ml", limit=2)]
        assert [len(page.items) for page in read] == [2, 2]
        assert {page.version for page in read} == {"77"}
        assert [asked.query.get("limit") for asked in server.asked] == ["2", "2"]

    async def test_a_list_that_brings_the_same_token_for_ever_ends(self, client: KubeClient, server: Server) -> None:
        server.handler = answer({"metadata": {"resourceVersion": "1", "continue": "again"}, "items": []})
        with pytest.raises(Gone):
            _ = [page async for page in client.list_pages(JOBS)]
        assert len(server.asked) == 2

    async def test_a_template_keeps_its_spec_as_it_came_and_not_the_page_with_it(
        self, client: KubeClient, server: Server
    ) -> None:
        spec = '{"tasks": [ {"replicas": 1.50, "unknown": null} ]}'
        item = '{"metadata":{"name":"get","namespace":"ml","resourceVersion":"1"},"spec":%s}'
        filler = json.dumps({"metadata": {"name": "big"}, "spec": {"x": "y" * 1_000_000}})
        body = f'{{"metadata":{{"resourceVersion":"1"}},"items":[{filler},{item % spec}]}}'
        server.handler = answer(body.encode())
        (page,) = [page async for page in client.list_pages(JOBTEMPLATES)]
        template = page.items[1]
        assert bytes(template.spec) == spec.encode()  # type: ignore[union-attr]
        assert memoryview(template.spec).obj is not None  # type: ignore[union-attr]
        assert len(memoryview(template.spec).obj) < 1000  # type: ignore[union-attr,arg-type]


class TestWatches:
    async def test_events_come_as_soon_as_they_are_sent(self, client: KubeClient, server: Server) -> None:
        line = json.dumps({"type": "ADDED", "object": A_JOB}).encode() + b"\n"
        mark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n'
        server.handler = stream(line, mark, hold=True)
        async with client.watch(JOBS, "4", namespace="ml", lasting=321) as events:
            change, bookmark = await anext(events), await anext(events)
        assert isinstance(change, Change)
        assert change.object.key == KEY
        assert bookmark == Bookmark("9")
        assert dict(server.asked[0].query) == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "4",
            "timeoutSeconds": "321",
        }

    async def test_lines_of_ten_megabytes_are_lines(self, client: KubeClient, server: Server) -> None:
        big = {**A_JOB, "spec": {"x": "y" * 10_000_000}}
        server.handler = stream(json.dumps({"type": "ADDED", "object": big}).encode() + b"\n", hold=True)
        async with client.watch(JOBS, "4") as events:
            assert isinstance(await anext(events), Change)

    async def test_a_forgotten_version_is_gone(self, client: KubeClient, server: Server) -> None:
        server.handler = refusal(410, "Expired")
        with pytest.raises(Gone):
            async with client.watch(JOBS, "4"):
                pytest.fail("there is nothing to watch")

    async def test_a_connection_on_which_nothing_comes_is_given_up(self, client: KubeClient, server: Server) -> None:
        server.handler = stream(hold=True)
        with pytest.raises(Unavailable, match=r"nothing came for 0\.1 s"):
            async with client.watch(JOBS, "4", silence=0.1) as events:
                await anext(events)

    async def test_a_stream_that_breaks_off_within_a_line_is_no_event(self, client: KubeClient, server: Server) -> None:
        server.handler = stream(b'{"type":"ADDED","obj')
        async with client.watch(JOBS, "4") as events:
            assert [event async for event in events] == []
        server.handler = stream(b'{"type":"ADDED","obj\n')
        with pytest.raises(BrokenStream):
            async with client.watch(JOBS, "4") as events:
                await anext(events)

    async def test_a_server_that_accepts_and_says_nothing_does_not_hang_it(
        self, client: KubeClient, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client_module, "TIMEOUT", 0.2)

        async def nothing(_: web.Request) -> web.Response:
            await asyncio.sleep(3600)
            return web.Response()

        server.handler = nothing
        with pytest.raises(Unavailable, match="no answer within"):
            async with client.watch(JOBS, "4"):
                pytest.fail("there is nothing to watch")


async def test_requests_are_counted_by_method_code_and_server(server: Server) -> None:
    registry, host = CollectorRegistry(), server.url.removeprefix("http://")
    client = await KubeClient.connect("jobflow-test", master=server.url, metrics=KubeMetrics(registry), environ={})
    await client.get(JOBS, KEY)
    server.handler = refusal(409, "Conflict")
    with pytest.raises(Conflict):
        await client.create(JOBS, "ml", b"{}")
    await server.server.close()
    with pytest.raises(Unavailable):
        await client.get(JOBS, KEY)
    await client.close()

    def count(code: str, method: str) -> float | None:
        labels = {"code": code, "method": method, "host": host}
        return registry.get_sample_value("rest_client_requests_total", labels)

    assert (count("200", "GET"), count("409", "POST"), count("<error>", "GET")) == (1, 1, 1)


async def test_a_rate_that_is_set_is_kept(server: Server) -> None:
    client = await KubeClient.connect("jobflow-test", master=server.url, limits=Limits(20, 1), environ={})
    began = time.monotonic()
    await asyncio.gather(*(client.get(JOBS, KEY) for _ in range(6)))
    assert time.monotonic() - began >= 0.25
    await client.close()
