"""How fast wide JobFlows are created: one entry, then a thousand, then one, with Jobs of one second.

    python -m tests.bench.bench_fan [WIDTH] [JOBFLOWS]

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
"""Seconds that may pass between two writes of a status while Jobs come and go."""


async def measure(width: int, jobflows: int) -> int:
    names = [f"f{i:04}" for i in range(width)]
    wide = [f"b{i:02}" for i in range(jobflows)]
    jobs = [f"{jobflow}-{name}" for jobflow in wide for name in names]
    async with a_bed() as bed:
        with bed.player("--delay=1"):
            await plain_client(bed, "warm-up", jobs[:50])
            before = await plain_client(bed, "before", jobs)
            ours, pauses = await controller(bed, wide, names, jobs)
            after = await plain_client(bed, "after", jobs)
    plain = (before + after) / 2
    print(f"{jobflows} x (1 -> {width} -> 1), Jobs of one second: creates a second")
    print(f"  plain client, 32 in flight  {plain:6.0f}   ({before:.0f} before, {after:.0f} after)")
    print(f"  controller                  {ours:6.0f}   ratio {ours / plain:.2f}")
    print(f"  each status written every {max(pauses):.1f} s or sooner, {len(pauses) + jobflows} writes")
    missed = verdict("80 % of the plain client's rate", ours >= 0.8 * plain)
    return missed + verdict("status written every 3 s or sooner", max(pauses) <= LONGEST_SILENCE)


async def plain_client(bed: Bed, name: str, jobs: list[str]) -> float:
    namespace = await bed.namespace(name)
    async with watching(bed, namespace) as sights:
        with spending(f"{name}, a Job", len(jobs)):
            manifests = (a_plain_job(job, namespace) for job in jobs)
            await side_by_side(bed.client.create(JOBS, namespace, manifest) for manifest in manifests)
            await sights.until(len(jobs), 120)
        return rate(sights, jobs)


async def controller(bed: Bed, wide: list[str], names: list[str], jobs: list[str]) -> tuple[float, list[float]]:
    namespace = await bed.namespace("ours")
    await side_by_side(bed.template(name, namespace) for name in ["first", *names, "last"])
    flows = ["first", *[f"{name}: first" for name in names], f"last: {' '.join(names)}"]
    with bed.controller("-v=4") as program:
        async with watching(bed, namespace) as sights:
            with spending("controller, a Job", len(jobs)):
                await side_by_side(bed.jobflow(a_bench_jobflow(namespace, *flows, name=name)) for name in wide)
                await sights.until(len(jobs) + 2 * len(wide), 600)
                for name in wide:
                    await bed.finished(Key(namespace, name), 60)
        print(f"  controller: {bed.writes():.0f} writes, {bed.writes() / len(jobs):.2f} for each Job")
        written = status_writes(program.log)
    pauses = [later - earlier for moments in written.values() for earlier, later in pairwise(moments)]
    return rate(sights, jobs), pauses


def status_writes(log: Path) -> dict[str, list[float]]:
    """When each status was written, as the controller's log says; another watch on large objects would cost as much."""
    written: dict[str, list[float]] = {}
    for line in map(json.loads, log.read_text().splitlines()):
        if line["msg"] == "status stored":
            written.setdefault(line["key"], []).append(datetime.fromisoformat(line["ts"]).timestamp())
    return written


def rate(sights: Sights, jobs: list[str]) -> float:
    moments = [sights.created[job] for job in jobs]
    return len(moments) / (max(moments) - min(moments))


if __name__ == "__main__":
    sys.exit(asyncio.run(measure(*map(int, [*sys.argv[1:], *("1000", "1")[len(sys.argv) - 1 :]]))))
