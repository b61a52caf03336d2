"""What clients that mean no good cost those that do: slow ones, two thousand at a time, and what is costly to judge.

    python -m tests.bench.bench_admission_attack

The attackers are a process of their own (`... attackers PORT CA`). Beside each figure stands that of the same requests
with nobody else there. The process ends with 1 if a goal is missed.
"""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.bench.bed import quantile, verdict
from tests.bench.bench_admission_load import load
from tests.bench.reviews import creation, layers, scattered
from tests.bench.webhook_bed import Client, Served, both, request
from tests.webhook.tampering import spoilt

SLOW = 2000
SMALL = request(creation(layers(5, 2)))
LARGE = request(creation(scattered(1000, 2)))
BOMBS = (
    request(creation(scattered(1000, 100))),
    request(creation({"name": f"e{i}", "dependsOn": {"targets": [f"e{(i + 1) % 1000}"]}} for i in range(1000))),
    request(creation({"name": f"e{i}", "dependsOn": {"targets": [f"nobody-{i}"]}} for i in range(1000))),
    request(creation({"name": "same"} for _ in range(40_000))),
)
HEAD = request(b"x" * 7_000_000)[:-7_000_000]


async def measure() -> int:
    """Measure, print, and return how many goals were missed."""
    with both() as (webhook, _):
        alone = await ordinary(webhook)
        tell("alone", alone)
        missed = await spoilt_ones(webhook)
        async with attackers(webhook):
            missed += goal(f"beside {SLOW} slow clients", await ordinary(webhook), 100)
        tell("1,000 entries, alone", await ordinary(webhook, LARGE))
        async with stalled(webhook, 50):
            missed += goal("1,000 entries, beside 50 large bodies that stall", await ordinary(webhook, LARGE), 100)
        async with bombing(webhook, 8):
            missed += goal("beside 8 clients that send what is costly, without a pause", await ordinary(webhook), 100)
        print(f"memory at the end: {webhook.resident():.0f} MiB")
    return missed


async def ordinary(webhook: Served, sent: bytes = SMALL) -> list[float]:
    """What an API server does meanwhile; each must be allowed."""
    clients = [await Client.connect(webhook) for _ in range(4)]
    took = await load(clients, sent, 600, pause=0.005)
    for client in clients:
        client.close()
    return took


async def spoilt_ones(webhook: Served) -> int:
    """Reviews that were tampered with: each is answered, on a connection that may have to be a new one."""
    client, took = await Client.connect(webhook), list[float]()
    for resource, body in spoilt(2000, seed=3):
        taken, head, _ = await client.ask(request(body, resource))
        took.append(taken)
        if b"connection: close" in head.lower():
            client.close()
            client = await Client.connect(webhook)
    return goal("2,000 spoilt reviews, all answered", took, 50)


@asynccontextmanager
async def attackers(webhook: Served) -> AsyncIterator[None]:
    """Slow clients, in a process of their own, that have all connected once."""
    ca = webhook.ca
    command = [sys.executable, "-m", "tests.bench.bench_admission_attack", "attackers", str(webhook.port), str(ca)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        await process.stdout.readline()
        yield
    finally:
        process.kill()
        await process.wait()


async def attack(port: int, ca: Path) -> None:
    """Connect, come as far as a head or half a body, wait to be dropped, and do it again, for ever."""
    tls = ssl.create_default_context(cafile=str(ca))
    pieces: Sequence[bytes | None] = (None, b"", SMALL[:20], SMALL[:-30])
    connected = 0

    async def one(piece: bytes | None) -> None:
        nonlocal connected
        while True:
            writer = None
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=None if piece is None else tls)
                writer.write(piece or b"")
                connected += 1
                if connected == SLOW:
                    print("all have been there", flush=True)
                await reader.read()
            if writer:
                writer.transport.abort()
            await asyncio.sleep(1)

    await asyncio.gather(*(one(pieces[i % 4]) for i in range(SLOW)))


@asynccontextmanager
async def stalled(webhook: Served, count: int) -> AsyncIterator[None]:
    """So many bodies that are announced with 7 MB and stop after the first bytes."""
    pairs = [await asyncio.open_connection("127.0.0.1", webhook.port, ssl=webhook.tls) for _ in range(count)]
    for _, writer in pairs:
        writer.write(HEAD + b"{" * 1000)
    yield
    for _, writer in pairs:
        writer.transport.abort()


@asynccontextmanager
async def bombing(webhook: Served, count: int) -> AsyncIterator[None]:
    """So many clients that send what takes long to judge, one after the other."""

    async def one(number: int) -> None:
        client = await Client.connect(webhook)
        while True:
            await client.ask(BOMBS[number % len(BOMBS)])

    tasks = [asyncio.create_task(one(i)) for i in range(count)]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def tell(what: str, took: list[float]) -> None:
    """Print."""
    print(f"{what}: p50 {quantile(took, 0.5):.2f}   p99 {quantile(took, 0.99):.2f}   longest {max(took):.2f} ms")


def goal(what: str, took: list[float], most: float) -> bool:
    """Print, and say whether it was missed."""
    tell(what, took)
    return verdict(f"none failed, p99 <= {most} ms", quantile(took, 0.99) <= most)


if __name__ == "__main__":
    if sys.argv[1:2] == ["attackers"]:
        asyncio.run(attack(int(sys.argv[2]), Path(sys.argv[3])))
    sys.exit(1 if asyncio.run(measure()) else 0)
