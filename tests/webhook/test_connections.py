"""Slow, silent and too many clients: each has its time, and none of them costs somebody else his."""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.webhook.reviews import creation, sent, template_deletion
from tests.webhook.serving import Webhook, head, serving, until
from webhook.connections import Limits, Stage

BODY = sent(creation("get"))
SHORT = Limits(handshake=0.3, request=0.3, idle=1.2, write=0.3)


async def closes(reader: asyncio.StreamReader) -> tuple[bytes, float]:
    """What is still read until the server closes, and after how many seconds it does."""
    clock = asyncio.get_running_loop().time
    began = clock()
    rest = b""
    with suppress(ConnectionError):
        async with asyncio.timeout(10):
            rest = await reader.read()
    return rest, clock() - began


async def test_a_client_that_begins_no_handshake_is_dropped() -> None:
    async with serving(limits=SHORT) as webhook:
        reader, writer = await asyncio.open_connection("127.0.0.1", webhook.port)
        _, seconds = await closes(reader)
        assert seconds < 1.1
        writer.close()
        await until(lambda: webhook.listener.connections == 0)


async def test_a_head_that_does_not_come_to_its_end_is_timed_out() -> None:
    async with serving(limits=SHORT) as webhook:
        reader, writer = await webhook.connect()
        closing = asyncio.create_task(closes(reader))
        for byte in head(len(BODY))[:8]:  # a byte now and then does not win time
            writer.write(bytes([byte]))
            await asyncio.sleep(0.1)
        said, seconds = await closing
        assert said.startswith(b"HTTP/1.1 408 ")
        assert seconds < 1.1
        writer.close()


async def test_a_head_that_begins_while_the_request_before_it_is_in_work_has_no_longer_either() -> None:
    release = asyncio.Event()

    async def look_up(namespace: str, template: str) -> Sequence[str]:
        await release.wait()
        return []

    async with serving(limits=Limits(request=0.3), look_up=look_up) as webhook:
        body = sent(template_deletion("get"))
        reader, writer = await webhook.connect()
        writer.write(head(len(body), "jobtemplates") + body)
        await until(lambda: any(each.stage is Stage.WORKING for each in webhook.listener._open))
        writer.write(b"POST /validate/job")
        await writer.drain()
        await until(lambda: any(each._more_came for each in webhook.listener._open))
        release.set()
        said, _ = await closes(reader)
        assert b'"allowed":true' in said
        assert b"HTTP/1.1 408 " in said
        writer.close()


async def test_a_body_that_does_not_come_to_its_end_is_timed_out() -> None:
    async with serving(limits=SHORT) as webhook:
        reader, writer = await webhook.connect()
        writer.write(head(len(BODY)) + BODY[:50])
        async with asyncio.timeout(2):
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_an_idle_connection_stays_for_its_time_and_is_closed_then() -> None:
    async with serving(limits=SHORT) as webhook:
        reader, writer = await webhook.connect()
        for _ in range(2):
            await asyncio.sleep(0.7)  # longer than a request may take, and shorter than idleness
            writer.write(head(len(BODY)) + BODY)
            assert b" 200 " in await reader.readuntil(b"\r\n")
            await reader.readuntil(b'"allowed":true}}')
        _, seconds = await closes(reader)
        assert 0.9 < seconds < 2.5
        writer.close()


async def test_a_connection_that_is_never_used_counts_as_idle() -> None:
    async with serving(limits=SHORT) as webhook:
        reader, writer = await webhook.connect()
        _, seconds = await closes(reader)
        assert 0.9 < seconds < 2.5
        writer.close()


async def test_a_request_in_work_is_not_cut_off_by_the_time_for_reading_it() -> None:
    async def look_up(namespace: str, template: str) -> Sequence[str]:
        await asyncio.sleep(1.5)
        return []

    async with serving(limits=SHORT, look_up=look_up) as webhook:
        assert (await webhook.post(template_deletion("get"), "jobtemplates"))[1]["allowed"]


async def test_a_client_that_reads_nothing_is_dropped() -> None:
    async with serving(limits=Limits(request=60, write=0.3)) as webhook:
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        narrow.connect(("127.0.0.1", webhook.port))
        _, writer = await asyncio.open_connection(sock=narrow, ssl=webhook.tls, server_hostname="127.0.0.1")
        await until(lambda: any(connection.transport for connection in webhook.listener._open))
        for connection in webhook.listener._open:  # full sooner than by megabytes
            assert connection.transport
            connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            connection.transport.set_write_buffer_limits(4096)
        writer.transport.pause_reading()
        refused = sent(creation(*["same"] * 30))
        with suppress(ConnectionError):
            async with asyncio.timeout(30):
                while webhook.listener.connections:
                    writer.write((head(len(refused)) + refused) * 20)
                    await asyncio.sleep(0.05)
        assert webhook.listener.connections == 0
        writer.transport.abort()


async def test_silent_strangers_make_room_for_those_who_ask() -> None:
    async with serving(limits=Limits(connections=20)) as webhook:
        assert (await webhook.post(creation("get")))[1]["allowed"]
        strangers = [await asyncio.open_connection("127.0.0.1", webhook.port) for _ in range(15)]
        idlers = [await webhook.connect() for _ in range(15)]
        for _ in range(30):
            reader, writer = await webhook.connect()
            writer.write(head(len(BODY)) + BODY)
            assert b" 200 " in await reader.readuntil(b"\r\n")
            writer.close()
        assert webhook.listener.connections <= 20
        connector = webhook.http.connector
        assert connector
        kept = connector._conns
        assert (await webhook.post(creation("get")))[1]["allowed"]
        assert kept, "the connection that had proved itself was kept"
        for _, writer in strangers + idlers:
            writer.transport.abort()


async def test_a_request_in_work_is_never_dropped_for_a_newcomer() -> None:
    release, begun = asyncio.Event(), 0

    async def look_up(namespace: str, template: str) -> Sequence[str]:
        nonlocal begun
        begun += 1
        await release.wait()
        return []

    async with serving(limits=Limits(connections=4), look_up=look_up) as webhook:
        busy = [asyncio.create_task(webhook.post(template_deletion("get"), "jobtemplates")) for _ in range(4)]
        await until(lambda: begun == 4)
        with pytest.raises((ConnectionError, OSError)):
            await webhook.connect()
        release.set()
        assert all(response["allowed"] for _, response in await asyncio.gather(*busy))


@pytest.mark.timeout(180)
async def test_two_thousand_slow_clients_at_once_hold_up_nobody() -> None:
    """Slow in every way that there is; the server keeps its default limits."""
    async with serving() as webhook:
        clock = asyncio.get_running_loop().time
        slow = [asyncio.create_task(be_slow(webhook, i)) for i in range(2000)]
        took = []
        while len(took) < 300:
            began = clock()
            status, response = await webhook.post(creation("get"))
            assert (status, response["allowed"]) == (200, True)
            took.append(clock() - began)
            await asyncio.sleep(0.005)
        assert webhook.listener.connections <= 512
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        assert sorted(took)[len(took) // 2] < 1


async def be_slow(webhook: Webhook, i: int) -> None:
    """Connect, come as far as `i` says, and wait to be dropped; then do it again."""
    while True:
        writer = None
        with suppress(OSError):
            if i % 4 == 0:
                reader, writer = await asyncio.open_connection("127.0.0.1", webhook.port)
            else:
                reader, writer = await webhook.connect()
                writer.write((b"", head(len(BODY))[:20], head(len(BODY)) + BODY[:30])[i % 4 - 1])
            try:
                await reader.read()
            finally:
                writer.transport.abort()
        await asyncio.sleep(0.2)
