"""How fast a wide JobFlow is created: one entry, then a thousand, then one, with Jobs of one second.

    python -m tests.bench.bench_fan [WIDTH]

Beside it stands a plain client that creates as many Jobs with 32 in flight, while the same player is at work. The
process ends with 1 if a goal is missed.
"""

import asyncio
import json
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from shared.api.meta import Key
from shared.kube.resources import JOBS
from tests.bench.bed import Bed, Sights, a_bed, a_bench_jobflow, a_plain_job, side_by_side, verdict, watching
from tests.bench.spent import spending

LONGEST_SILENCE = 3.0
"""Seconds that may pass between two writes of the status while Jobs come and go."""


async def measure(width: int) -> int:
    names = [f"f{i:04}" for i in range(width)]
    async with a_bed() as bed:
        with bed.player("--delay=1"):
            await plain_client(bed, "warm-up", names[:50])
            before = await plain_client(bed, "before", names)
            ours, pauses = await controller(bed, names)
            after = await plain_client(bed, "after", names)
    plain = (before + after) / 2
    print(f"1 -> {width} -> 1, Jobs of one second: creates a second")
    print(f"  plain client, 32 in flight  {plain:6.0f}   ({before:.0f} before, {after:.0f} after)")
    print(f"  controller                  {ours:6.0f}   ratio {ours / plain:.2f}")
    print(f"  status written every {max(pauses):.1f} s or sooner, {len(pauses) + 1} times")
    missed = verdict("80 % of the plain client's rate", ours >= 0.8 * plain)
    return missed + verdict("status written every 3 s or sooner", max(pauses) <= LONGEST_SILENCE)


async def plain_client(bed: Bed, name: str, names: list[str]) -> float:
    namespace = await bed.namespace(name)
    async with watching(bed, namespace) as sights:
        with spending(f"{name}, a Job", len(names)):
            manifests = (a_plain_job(f"bench-{it}", namespace) for it in names)
            await side_by_side(bed.client.create(JOBS, namespace, manifest) for manifest in manifests)
            await sights.until(len(names), 120)
        return rate(sights, names)


async def controller(bed: Bed, names: list[str]) -> tuple[float, list[float]]:
    namespace = await bed.namespace("ours")
    await side_by_side(bed.template(name, namespace) for name in ["first", *names, "last"])
    flows = ["first", *[f"{name}: first" for name in names], f"last: {' '.join(names)}"]
    with bed.controller("-v=4") as program:
        async with watching(bed, namespace) as sights:
            with spending("controller, a Job", len(names)):
                await bed.jobflow(a_bench_jobflow(namespace, *flows))
                await sights.until(len(names) + 2, 600)
                await bed.finished(Key(namespace, "bench"), 60)
        print(f"  controller: {bed.writes():.0f} writes, {bed.writes() / len(names):.2f} for each Job")
        written = status_writes(program.log)
    return rate(sights, names), [later - earlier for earlier, later in pairwise(written)]


def status_writes(log: Path) -> list[float]:
    """When the status was written, as the controller's log says; another watch on a large object would cost as much."""
    lines = (json.loads(line) for line in log.read_text().splitlines())
    return [datetime.fromisoformat(line["ts"]).timestamp() for line in lines if line["msg"] == "status stored"]


def rate(sights: Sights, names: list[str]) -> float:
    moments = [sights.created[f"bench-{name}"] for name in names]
    return len(moments) / (max(moments) - min(moments))


if __name__ == "__main__":
    sys.exit(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
