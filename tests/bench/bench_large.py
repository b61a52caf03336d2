"""What JobFlows of many entries cost: layers of fifty, each entry after three of the layer before.

    python -m tests.bench.bench_large [ENTRIES...]

Beside each stands a plain client that creates as many Jobs with as many requests in flight, the same player at work.
The process ends with 1 if a goal is missed.
"""

import asyncio
import sys
import time
from random import Random

from shared.api.meta import Key
from shared.kube.resources import JOBS
from tests.bench.bed import Bed, a_bed, a_bench_jobflow, a_plain_job, side_by_side, verdict, watching

LAYER = 50
TEMPLATES = [f"t{i:04}" for i in range(5000)]

BYTES_PER_ENTRY = 1.5 * 1024
BYTES_PER_SECOND = 256 * 1024


async def measure(sizes: list[int]) -> int:
    missed = 0
    async with a_bed() as bed:
        with bed.player("--delay=0"):
            await plain_client(bed, "warm-up", TEMPLATES[:50])
            for size in sizes:
                missed += await one(bed, TEMPLATES[:size])
    return missed


async def one(bed: Bed, names: list[str]) -> int:
    plain = await plain_client(bed, f"plain-{len(names)}", names)
    namespace = await bed.namespace(f"large-{len(names)}")
    await side_by_side(bed.template(name, namespace) for name in names)
    with bed.controller():
        start = time.monotonic()
        await bed.jobflow(a_bench_jobflow(namespace, *layers(names)))
        jobflow = await bed.finished(Key(namespace, "bench"), 120 + len(names) / 5)
        seconds = time.monotonic() - start
        posted = bed.metric("rest_client_request_size_bytes_sum", verb="create")
        patched = bed.metric("rest_client_request_size_bytes_sum", verb="patch")
        writes, cpu = bed.writes(), bed.metric("process_cpu_seconds_total")
    print(f"a JobFlow of {len(names)} entries: {seconds:.1f} s, {seconds / len(names) * 1000:.1f} ms for each entry")
    print(f"  a plain client creates as many Jobs in {plain:.1f} s")
    print(f"  {writes / len(names):.2f} writes and {cpu / len(names) * 1000:.1f} ms of CPU for each entry")
    print(f"  bytes sent: {posted / len(names):.0f} for each Job, {patched / len(names):.0f} of status for each entry")
    if message := jobflow.status.state.message:
        print(f"  it says: {message[:100]}")
    allowed = BYTES_PER_ENTRY * len(names) + BYTES_PER_SECOND * seconds
    return verdict("1.5 KB of status for each entry, and 256 KiB for each second", patched <= allowed)


def layers(names: list[str]) -> list[str]:
    """Entries with up to three dependencies each, all in the layer before."""
    random = Random(0)
    flows = names[:LAYER]
    for start in range(LAYER, len(names), LAYER):
        before = names[start - LAYER : start]
        flows += [f"{name}: {' '.join(sorted(random.sample(before, 3)))}" for name in names[start : start + LAYER]]
    return flows


async def plain_client(bed: Bed, name: str, names: list[str]) -> float:
    namespace = await bed.namespace(name)
    async with watching(bed, namespace) as sights:
        start = time.monotonic()
        await side_by_side(bed.client.create(JOBS, namespace, a_plain_job(f"bench-{it}", namespace)) for it in names)
        await sights.until(len(names), 60 + len(names))
        return time.monotonic() - start


if __name__ == "__main__":
    sys.exit(asyncio.run(measure([int(size) for size in sys.argv[1:]] or [500, 1000, 2000])))
