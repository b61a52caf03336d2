"""What the webhook costs under load, what a large review costs the small ones beside it, and whether its memory grows.

    python -m tests.bench.bench_admission_load [REQUESTS]     # of the last part; 100,000 if nothing else is said

Beside each figure stands that of a trivial aiohttp handler. The process ends with 1 if a goal is missed.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from statistics import median

from tests.bench.bed import quantile, verdict
from tests.bench.reviews import UID, creation, layers, scattered
from tests.bench.webhook_bed import Client, Served, both, request

SMALL = request(creation(layers(5, 2)))
LARGE = request(creation(scattered(1000, 50)))
CONNECTIONS = 16
BATCH = 1500
ROUNDS = 9
CROWD = 64
LARGE_ONE_IN = 500


async def measure(requests: int) -> int:
    """Measure, print, and return how many goals were missed."""
    with both() as (webhook, trivial):
        missed = await cost(webhook, trivial)
        missed += await beside_large_ones(webhook)
        missed += await memory(webhook, requests)
    return missed


async def cost(webhook: Served, trivial: Served) -> int:
    """CPU of each request, in turns: what else runs on the machine then costs both the same."""
    servers = {"webhook": webhook, "trivial handler": trivial}
    clients = {name: [await Client.connect(server) for _ in range(CONNECTIONS)] for name, server in servers.items()}
    spent: dict[str, list[float]] = {name: [] for name in servers}
    took: dict[str, list[float]] = {name: [] for name in servers}
    for turn in range(ROUNDS + 1):
        for name, server in servers.items():
            before = server.cpu()
            figures = await load(clients[name], SMALL, BATCH)
            if turn:  # the first only warms up
                took[name] += figures
                spent[name].append((server.cpu() - before) / BATCH * 1e6)
    print(f"a JobFlow of 10 entries, {CONNECTIONS} connections")
    for name, figures in took.items():
        half, most = quantile(figures, 0.5), quantile(figures, 0.99)
        print(f"  {name:15} CPU {median(spent[name]):4.0f} us   p50 {half:6.2f} ms   p99 {most:6.2f} ms")
    ratio = median(ours / theirs for ours, theirs in zip(spent["webhook"], spent["trivial handler"], strict=True))
    missed = verdict(f"CPU of a request is {ratio:.2f}, and at most 2 times that of the trivial handler", ratio <= 2)
    return missed + verdict("p99 <= 20 ms", quantile(took["webhook"], 0.99) <= 20)


async def beside_large_ones(webhook: Served) -> int:
    """Small reviews while large ones are judged all the time."""
    large, *small = [await Client.connect(webhook) for _ in range(5)]
    alone = await load(small, SMALL, 1000, pause=0.005)

    async def ask_for_large_ones() -> None:
        while True:
            await large.post(LARGE)

    asking = asyncio.create_task(ask_for_large_ones())
    beside = await load(small, SMALL, 1000, pause=0.005)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    print("10 entries, 4 connections, while JobFlows of 1,000 entries and 50,000 edges are judged without a pause, ms")
    for name, figures in (("alone", alone), ("meanwhile", beside)):
        print(f"  {name:15} p50 {quantile(figures, 0.5):7.2f}   p99 {quantile(figures, 0.99):7.2f}")
    return verdict("p99 <= 50 ms", quantile(beside, 0.99) <= 50)


async def memory(webhook: Served, requests: int) -> int:
    """Whether the memory still grows once it has warmed up, and every answer has the uid of its request."""
    clients = [await Client.connect(webhook) for _ in range(CROWD)]
    numbers = count()
    for client in clients:  # whose buffers then have the size that they keep
        await client.post(LARGE)
    await ask_by_name(clients, numbers, requests // 5)
    had = [webhook.resident()]
    for _ in range(2):
        await ask_by_name(clients, numbers, requests // 2)
        had.append(webhook.resident())
    print(f"{CROWD} connections, one of {LARGE_ONE_IN} reviews of 1,000 entries; each answer has its request's uid")
    half = requests // 2
    print(f"memory: {had[0]:.1f} MiB warmed up, {had[1]:.1f} after {half} requests, {had[2]:.1f} after {half} more")
    return verdict("no growth (less than 1 MiB in the second half)", had[2] - had[1] < 1)


async def ask_by_name(clients: list[Client], numbers: Iterator[int], times: int) -> None:
    """Send so many requests, each with a uid of its own, on all connections at the same time."""
    uid, left = UID.encode(), iter(range(times))

    async def one(client: Client) -> None:
        for i in left:
            name = b"%036d" % next(numbers)
            sent = SMALL if i % LARGE_ONE_IN else LARGE
            await client.post(sent.replace(uid, name, 1), name)

    await asyncio.gather(*map(one, clients))


async def load(clients: list[Client], sent: bytes, times: int, pause: float = 0) -> list[float]:
    """Send so many requests, on all connections at the same time; the milliseconds that they took."""
    took: list[float] = []

    async def one(client: Client) -> None:
        while len(took) < times:
            took.append(await client.post(sent))
            if pause:
                await asyncio.sleep(pause)

    await asyncio.gather(*map(one, clients))
    return took


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)) else 0)
