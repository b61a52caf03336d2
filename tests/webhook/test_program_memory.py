"""The webhook as a program of its own: how much memory bodies and connections may cost it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.webhook.process import Process, Start, post
from tests.webhook.reviews import creation, sent


def memory(webhook: Process, which: str = "VmRSS") -> float:
    """MiB that the process has, or with VmHWM: has had at most."""
    lines = Path(f"/proc/{webhook.popen.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{which}:"))


HOSTILE = {
    "spaces": lambda size: b"{" + b" " * (size - 2) + b"}",
    "a string": lambda size: b'{"a":"' + b"x" * (size - 8) + b'"}',
    "escapes": lambda size: b'{"a":"' + b"\\u0001" * ((size - 8) // 6) + b'"}',
    "numbers": lambda size: b"[" + b"1," * ((size - 3) // 2) + b"1]",
    "lists": lambda size: b"[" + b"[]," * ((size - 4) // 3) + b"[]]",
    "as many lists as there may be": lambda size: b"[" + b"[[]]," * 170_000 + b"1]",
    "as many objects as there may be": lambda size: b"[" + b'{"a":{}},' * 170_000 + b"1]",
    "nesting": lambda size: b"[" * size,
    "flows": lambda size: sent(creation(*["x"] * 100_000)),
    "one byte too many": lambda size: b" " * (size + 1),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
@pytest.mark.timeout(300)
def test_hostile_bodies_cost_little_memory_and_leave_none_behind(start: Start) -> None:
    """Eight of each kind at the same time, in chunks and with a length."""
    webhook = start()
    before = memory(webhook)
    statuses: set[int] = set()

    def send(make: Callable[[int], bytes], *, in_chunks: bool) -> None:
        connection = webhook.connect()
        body = make(7 * 1024 * 1024)
        pieces = (body[i : i + 65536] for i in range(0, len(body), 65536)) if in_chunks else body
        try:
            connection.request("POST", "/validate/jobflows", pieces, {"Content-Type": "application/json"})
            statuses.add(connection.getresponse().status)
        except OSError:
            pass  # refused before all of it was sent
        finally:
            connection.close()

    for make in HOSTILE.values():
        senders = [threading.Thread(target=send, args=(make,), kwargs={"in_chunks": i % 2 == 0}) for i in range(8)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    assert statuses <= {200, 400, 413, 503}
    assert webhook.get("/readyz")[0] == 200
    assert memory(webhook, "VmHWM") <= 150
    assert eventually(lambda: memory(webhook) - before < 40)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
def test_a_large_review_leaves_little_behind_on_its_connection(start: Start) -> None:
    """Clients keep connections, and TLS has buffers for each."""
    webhook = start()
    body = sent(creation("get", metadata={"annotations": {"a": "x" * 400_000}}))
    connections = [webhook.connect() for _ in range(100)]
    for connection in connections:
        connection.connect()
    assert b'"allowed":true' in post(connections[0], body).read()
    before = memory(webhook)
    for connection in connections[1:]:
        assert b'"allowed":true' in post(connection, body).read()
    assert memory(webhook) - before < 25
    for connection in connections:
        connection.close()
