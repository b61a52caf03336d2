"""How soon after a Job's completion its successor is created, in a chain of Jobs that complete at once.

    python -m tests.bench.bench_chain [ENTRIES]

Beside it stands a plain client that does nothing but create the next Job when its watch tells of a completion. Both
are seen through the same watch. The process ends with 1 if a goal is missed.
"""

import asyncio
import itertools
import sys

from shared.api.meta import Key
from shared.kube.resources import JOBS
from tests.bench.bed import Bed, Sights, a_bed, a_bench_jobflow, a_plain_job, quantile, verdict, watching


async def measure(entries: int) -> int:
    names = [f"s{i:04}" for i in range(entries)]
    async with a_bed() as bed:
        with bed.player("--delay=0"):
            plain = await plain_client(bed, names)
            ours = await controller(bed, names)
    print(f"chain of {entries} Jobs that complete at once: from Completed to the successor's create, ms")
    for name, edges in (("plain client", plain), ("controller", ours)):
        print(f"  {name:13} p50 {quantile(edges, 0.5):6.1f}   p99 {quantile(edges, 0.99):6.1f}   max {max(edges):6.1f}")
    print(f"  ratio of the p50: {quantile(ours, 0.5) / quantile(plain, 0.5):.2f}")
    missed = verdict("p50 <= 10 ms", quantile(ours, 0.5) <= 10)
    return missed + verdict("p99 <= 50 ms", quantile(ours, 0.99) <= 50)


async def plain_client(bed: Bed, names: list[str]) -> list[float]:
    namespace = await bed.namespace("plain")
    async with watching(bed, namespace) as sights:
        for done, name in enumerate(names):
            await bed.client.create(JOBS, namespace, a_plain_job(f"bench-{name}", namespace))
            await sights.until(done + 1, 60)
        return edges(sights, names)


async def controller(bed: Bed, names: list[str]) -> list[float]:
    namespace = await bed.namespace("ours")
    for name in names:
        await bed.template(name, namespace)
    with bed.controller():
        async with watching(bed, namespace) as sights:
            flows = [name if i == 0 else f"{name}: {names[i - 1]}" for i, name in enumerate(names)]
            await bed.jobflow(a_bench_jobflow(namespace, *flows))
            await sights.until(len(names), 60 + len(names))
            await bed.finished(Key(namespace, "bench"), 30)
        print(f"  controller: {bed.writes() / len(names):.2f} writes for each Job")
    return edges(sights, names)


def edges(sights: Sights, names: list[str]) -> list[float]:
    pairs = itertools.pairwise(names)
    return [(sights.created[f"bench-{after}"] - sights.completed[f"bench-{before}"]) * 1000 for before, after in pairs]


if __name__ == "__main__":
    sys.exit(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100)))
