"""How long the webhook takes for a creation, asked directly over TLS with keep-alive, one request after the other.

    python -m tests.bench.bench_admission

Beside each figure stands that of a trivial aiohttp handler. The process ends with 1 if a goal is missed.
"""

import asyncio
import sys
from dataclasses import dataclass

from tests.bench.bed import quantile, verdict
from tests.bench.reviews import a_template_of_four_tasks, creation, layers, scattered
from tests.bench.webhook_bed import Client, both, request

WARM_UP = 20


@dataclass(frozen=True)
class Case:
    """A request, how often it is sent, and what its p99 may be in ms."""

    name: str
    sent: bytes
    times: int
    goal: float


CASES = (
    Case("10 layers of 10", request(creation(layers(10, 10))), 1000, 5),
    Case("20 layers of 50", request(creation(layers(20, 50))), 200, 100),
    Case("26 layers of 2", request(creation(layers(26, 2))), 1000, 5),
    Case("1,000 entries, 2,000 edges", request(creation(scattered(1000, 2))), 200, 30),
    Case("1,000 entries, 50,000 edges", request(creation(scattered(1000, 50))), 200, 100),
    Case("JobTemplate, 4 tasks", request(a_template_of_four_tasks(), "jobtemplates"), 500, 20),
)


async def measure() -> int:
    """Measure, print, and return how many goals were missed."""
    missed = 0
    with both() as servers:
        print("admission over TLS with keep-alive, ms")
        for case in CASES:
            clients = [await Client.connect(server) for server in servers]
            took: tuple[list[float], list[float]] = ([], [])
            before = [server.cpu() for server in servers]
            for _ in range(case.times + WARM_UP):
                for client, figures in zip(clients, took, strict=True):
                    figures.append(await client.post(case.sent))
            cpu = [(server.cpu() - was) * 1000 / len(took[0]) for server, was in zip(servers, before, strict=True)]
            print(f"{case.name} ({len(case.sent) / 1024:.0f} KiB)")
            for name, figures, spent in zip(("webhook", "trivial handler"), took, cpu, strict=True):
                half, most = quantile(figures[WARM_UP:], 0.5), quantile(figures[WARM_UP:], 0.99)
                print(f"  {name:15} p50 {half:7.2f}   p99 {most:7.2f}   CPU {spent:6.2f}")
            print(f"  ratio of the p50: {quantile(took[0], 0.5) / quantile(took[1], 0.5):.1f}")
            missed += verdict(f"p99 <= {case.goal} ms", quantile(took[0][WARM_UP:], 0.99) <= case.goal)
            for client in clients:
                client.close()
    return missed


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(measure()) else 0)
