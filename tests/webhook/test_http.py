"""Odd HTTP over raw sockets: an answer that says no or a closed connection, and never another request than was sent."""

import asyncio
import json
import shutil
import ssl
from contextlib import suppress

import pytest

from tests.webhook.reviews import creation, sent
from tests.webhook.serving import Webhook, head, serving

BODY = sent(creation("get"))
GOOD = head(len(BODY)) + BODY
LAST = head(len(BODY), Connection="close") + BODY


def with_head(*lines: bytes, body: bytes = BODY) -> bytes:
    fields = [b"Host: webhook", b"Content-Type: application/json", *lines]
    return b"POST /validate/jobflows HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body


LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked"
IN_CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        pytest.param(b"GET /validate/jobflows HTTP/1.1\r\nHost: a\r\n\r\n", {405}, id="GET"),
        pytest.param(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", {404}, id="metrics, which have their own port"),
        pytest.param(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", {404}, id="readiness, which has its own port"),
        pytest.param(b"HEAD /validate/jobflows HTTP/1.1\r\nHost: a\r\n\r\n", {405}, id="HEAD"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", {404}, id="OPTIONS *"),
        pytest.param(b"BREW /validate/jobflows HTTP/1.1\r\nHost: a\r\n\r\n", {400, 405}, id="an unknown method"),
        pytest.param(b"PO ST /validate/jobflows HTTP/1.1\r\nHost: a\r\n\r\n", {400}, id="a method with a blank"),
        pytest.param(b"P\xffST /validate/jobflows HTTP/1.1\r\nHost: a\r\n\r\n", {400}, id="a method of bad bytes"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"/"), {404}, id="the root"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"/validate/pods"), {404}, id="another resource"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"//validate/jobflows"), {404}, id="two slashes"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"/validate/jobflows/"), {404}, id="a slash at the end"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"/x/../validate/jobflows"), {404}, id="dots"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"/validate/%6aobflows"), {404}, id="an escaped letter"),
        pytest.param(GOOD.replace(b"/validate/jobflows", b"http://a/validate/jobflows"), {404}, id="a whole URL"),
        pytest.param(GOOD.replace(b"HTTP/1.1", b"HTTP/3.9"), {400}, id="an unknown version"),
        pytest.param(GOOD.replace(b"HTTP/1.1", b"XTTP/1.1"), {400}, id="another protocol"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}, id="HTTP/2"),
        pytest.param(b"\x16\x03\x01\x02\x00", {400}, id="TLS inside TLS"),
        pytest.param(with_head(LENGTH, *(b"X-%d: a" % i for i in range(130))), {400}, id="130 fields"),
        pytest.param(with_head(LENGTH, b"X-Long: " + b"a" * 9000), {400}, id="a field of 9,000 bytes"),
        pytest.param(
            GOOD.replace(b"jobflows ", b"jobflows?x=" + b"a" * 9000 + b" "), {400}, id="a line of 9,000 bytes"
        ),
        pytest.param(with_head(LENGTH, b" folded"), {400}, id="a folded field"),
        pytest.param(with_head(LENGTH, b"Bad Name: x"), {400}, id="a blank in a field's name"),
        pytest.param(with_head(LENGTH, b"X: a\x00b"), {400}, id="a NUL in a field"),
        pytest.param(with_head(LENGTH, CHUNKED, body=IN_CHUNKS), {400}, id="both length and chunks"),
        pytest.param(with_head(LENGTH, b"Content-Length: 1"), {400}, id="two lengths"),
        pytest.param(with_head(b"Content-Length: -1"), {400}, id="a negative length"),
        pytest.param(with_head(b"Content-Length: +5"), {400}, id="a length with a sign"),
        pytest.param(with_head(b"Content-Length: 1e3"), {400}, id="a length that is no number"),
        pytest.param(with_head(b"Content-Length: " + b"9" * 40), {400, 413}, id="a length beyond all"),
        pytest.param(with_head(b"Content-Length: 7340033"), {413}, id="a length of 7 MiB and 1"),
        pytest.param(with_head(b"Transfer-Encoding: gzip, chunked", body=IN_CHUNKS), {501}, id="gzip chunks"),
        pytest.param(with_head(b"Transfer-Encoding: chunked, chunked", body=IN_CHUNKS), {400, 501}, id="chunked twice"),
        pytest.param(with_head(b"Transfer-Encoding: xchunked", body=IN_CHUNKS), {400, 501}, id="an unknown encoding"),
        pytest.param(with_head(CHUNKED, body=b"zz\r\n\r\n"), {400}, id="a chunk size that is none"),
        pytest.param(with_head(CHUNKED, body=b"-5\r\nabcde\r\n0\r\n\r\n"), {400}, id="a negative chunk"),
        pytest.param(
            with_head(CHUNKED, body=b"5;a\nb\r\nabcde\r\n0\r\n\r\n"), {400}, id="a line feed in a chunk's extension"
        ),
        pytest.param(with_head(CHUNKED, body=b"2\r\nabcde\r\n0\r\n\r\n"), {400}, id="a chunk longer than it says"),
        pytest.param(with_head(), {400}, id="no length at all"),
    ],
)
async def test_what_is_no_good_http_is_refused_and_nothing_behind_it_is_read(
    request_bytes: bytes, statuses: set[int]
) -> None:
    async with serving() as webhook:
        answer = await webhook.raw(request_bytes + LAST)
        assert answer.startswith(b"HTTP/1."), answer
        assert int(answer.split()[1]) in statuses, answer
        assert b'"allowed":true' not in answer, "the next request was read out of this one's remains"
        assert b"Traceback" not in answer
        assert b'"allowed":true' in await webhook.raw(LAST)


async def test_a_body_in_chunks_is_read() -> None:
    async with serving() as webhook:
        lengths = [1, 2, 3, len(BODY) - 6]
        body, at = b"", 0
        for length in lengths:
            body += b"%x\r\n%s\r\n" % (length, BODY[at : at + length])
            at += length
        answer = await webhook.raw(with_head(CHUNKED, b"Connection: close", body=body + b"0\r\n\r\n"))
        assert b'"allowed":true' in answer


async def test_endless_chunks_are_cut_off_at_the_most_that_a_body_may_be() -> None:
    async with serving() as webhook:
        reader, writer = await webhook.connect()
        writer.write(with_head(CHUNKED, body=b""))
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        answer = asyncio.create_task(reader.read(12))
        for _ in range(200):
            if answer.done():
                break
            writer.write(chunk)
            await asyncio.sleep(0)
            with suppress(ConnectionError):
                await writer.drain()
        assert await answer == b"HTTP/1.1 413"
        writer.transport.abort()


async def test_pipelined_requests_are_answered_in_their_order() -> None:
    async with serving() as webhook:
        requests = []
        for i in range(8):
            body = sent(creation("get", "get" if i % 2 else "b", uid=f"u{i}"))
            body = body.replace(b"705ab4f5-6393-11e8-b7cc-42010a800002", b"uid-%d" % i)
            requests.append(head(len(body), **({"Connection": "close"} if i == 7 else {})) + body)
        answer = await webhook.raw(b"".join(requests))
        reviews = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
        assert [(review["response"]["uid"], review["response"]["allowed"]) for review in reviews] == [
            (f"uid-{i}", i % 2 == 0) for i in range(8)
        ]


async def test_http_1_0_is_answered_and_its_connection_closed() -> None:
    async with serving() as webhook:
        answer = await webhook.raw(GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert b'"allowed":true' in answer


async def test_a_body_shorter_than_it_says_is_never_judged() -> None:
    async with serving() as webhook:
        reader, writer = await webhook.connect()
        writer.write(head(len(BODY) + 1) + BODY)
        writer.write_eof() if writer.can_write_eof() else writer.close()
        assert b"allowed" not in await reader.read()
        assert (
            webhook.counted("jobflow_admission_requests_total", resource="jobflows", operation="CREATE", allowed="true")
            == 0
        )


async def test_plain_http_gets_no_answer_from_a_tls_port() -> None:
    async with serving() as webhook:
        reader, writer = await asyncio.open_connection("127.0.0.1", webhook.port)
        writer.write(GOOD)
        with suppress(ConnectionResetError):
            assert b"allowed" not in await reader.read()
        writer.close()


def client_of(least: ssl.TLSVersion, most: ssl.TLSVersion, ciphers: str = "ALL:@SECLEVEL=0") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(ciphers)
    context.minimum_version, context.maximum_version = least, most
    return context


async def handshake(webhook: Webhook, client: ssl.SSLContext, name: str | None = "") -> str | None:
    """The version and cipher that client and server agree on, None where they do not."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", webhook.port, ssl=client, server_hostname=name)
    except (ssl.SSLError, ConnectionError):
        return None
    tls = writer.get_extra_info("ssl_object")
    writer.close()
    return f"{tls.version()} {tls.cipher()[0]}"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_old_tls_is_refused(version: ssl.TLSVersion) -> None:
    async with serving() as webhook:
        assert await handshake(webhook, client_of(version, version)) is None


@pytest.mark.parametrize(
    "ciphers", ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "NULL:aNULL"]
)
async def test_ciphers_without_forward_secrecy_or_authenticated_encryption_are_refused(ciphers: str) -> None:
    async with serving() as webhook:
        client = client_of(ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, f"{ciphers}:@SECLEVEL=0")
        assert await handshake(webhook, client) is None


async def test_tls_1_2_and_1_3_are_spoken_with_and_without_a_server_name() -> None:
    async with serving() as webhook:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            agreed = await handshake(webhook, client_of(version, version))
            assert agreed
            assert "GCM" in agreed or "CHACHA20" in agreed
        assert await handshake(webhook, client_of(ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3), "localhost")


@pytest.mark.skipif(not shutil.which("openssl"), reason="Python's ssl module cannot ask for it, openssl can")
async def test_nobody_may_renegotiate() -> None:
    async with serving() as webhook:
        client = await asyncio.create_subprocess_exec(
            *("openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{webhook.port}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(20):
            said, _ = await client.communicate(b"R\nGET / HTTP/1.1\r\n\r\n")
        assert b"RENEGOTIATING" in said
        assert b"no renegotiation" in said


async def test_a_client_that_only_wants_http_2_is_answered_with_http_1_1() -> None:
    async with serving() as webhook:
        client = client_of(ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)
        client.set_alpn_protocols(["h2", "http/1.1"])
        _, writer = await asyncio.open_connection("127.0.0.1", webhook.port, ssl=client, server_hostname="")
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
        writer.close()
