"""What the controller costs while nothing happens: 2,000 finished JobFlows with 10,000 Jobs.

    python -m tests.bench.bench_rest [JOBFLOWS] [SECONDS]

Beside it stands a process that holds the same Jobs as Python dicts, which is what the memory would be without slim
models. The process ends with 1 if a goal is missed.
"""

import asyncio
import json
import sys
import time
from typing import Any

from shared.api.jobflow import JobFlow
from shared.kube.client import MERGE_PATCH
from shared.kube.resources import JOBFLOWS, JOBS
from shared.kube.transport import Request
from tests.bench.bed import Bed, a_bed, a_bench_jobflow, a_plain_job, dumps, side_by_side, verdict

FLOWS = ("fetch", "clean: fetch", "count: fetch", "train: clean count", "report: train")


async def measure(jobflows: int, seconds: float) -> int:
    async with a_bed() as bed:
        namespace = await bed.namespace("rest")
        await side_by_side(bed.template(flow.partition(":")[0], namespace) for flow in FLOWS)
        began = time.monotonic()
        await side_by_side(finished_jobflow(bed, namespace, i) for i in range(jobflows))
        print(f"{jobflows} finished JobFlows with {5 * jobflows} Jobs, stored in {time.monotonic() - began:.0f} s")
        with bed.controller():
            began = time.monotonic()
            await settled(bed)
            print(f"  the controller had looked at everything {time.monotonic() - began:.1f} s after it was ready")
            writes, cpu = bed.writes(), bed.metric("process_cpu_seconds_total")
            await asyncio.sleep(seconds)
            rss = bed.metric("process_resident_memory_bytes") / 1e6
            used = bed.metric("process_cpu_seconds_total") - cpu
            print(f"  RSS {rss:.0f} MB; in {seconds:.0f} s of rest {used / seconds:.1%} of a core")
            print(f"  writes at start {writes:.0f}, in {seconds:.0f} s of rest {bed.writes() - writes:.0f}")
            missed = verdict("RSS <= 200 MB", rss <= 200)
            missed += verdict("no writes at rest", bed.writes() == writes)
        dicts = await memory_of_dicts(bed, namespace)
    print(f"  the same Jobs and JobFlows as dicts: {dicts:.0f} MB for the data alone")
    return missed


async def finished_jobflow(bed: Bed, namespace: str, number: int) -> None:
    """A JobFlow that this very controller would leave alone: Succeed, with its Jobs."""
    name = f"bench-{number:05}"
    jobflow = await bed.jobflow(a_bench_jobflow(namespace, *FLOWS, name=name))
    at = "2026-03-01T12:00:00Z"
    histories = [
        {"startTimestamp": at, "endTimestamp": at, "state": "Pending"},
        {"startTimestamp": at, "endTimestamp": at, "state": "Running"},
        {"startTimestamp": at, "state": "Completed"},
    ]
    names = [f"{name}-{flow.partition(':')[0]}" for flow in FLOWS]
    jobs = [await finished_job(bed, job, jobflow, namespace) for job in names]
    created = [str(job["metadata"]["creationTimestamp"]) for job in jobs]
    status = {
        "state": {"phase": "Succeed"},
        "progress": "5/5",
        "observedGeneration": 1,
        "startTime": at,
        "completionTime": at,
        "completedJobs": sorted(names),
        "jobStatusList": [
            {
                "name": job,
                "state": "Completed",
                "startTimestamp": start,
                "endTimestamp": at,
                "runningHistories": histories,
            }
            for job, start in zip(names, created, strict=True)
        ],
        "conditions": {
            job: {"phase": "Completed", "createTime": start, "runningDuration": "1s"}
            for job, start in zip(names, created, strict=True)
        },
    }
    patch = dumps({"status": status})
    await bed.client.patch(JOBFLOWS, jobflow.key, patch, content_type=MERGE_PATCH, subresource="status")


async def finished_job(bed: Bed, name: str, jobflow: JobFlow, namespace: str) -> dict[str, Any]:
    owner = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "name": jobflow.name,
        "uid": jobflow.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body = a_plain_job(name, namespace, ownerReferences=[owner])
    await bed.client.create(JOBS, namespace, body)
    at = "2026-03-01T12:00:00Z"
    phases = [{"status": phase, "lastTransitionTime": at} for phase in ("Pending", "Running", "Completed")]
    status = {
        "state": {"phase": "Completed", "lastTransitionTime": at},
        "conditions": phases,
        "runningDuration": "1s",
        "succeeded": 1,
    }
    path = JOBS.path(namespace, name, "status")
    request = Request("PATCH", path, (), dumps({"status": status}), MERGE_PATCH)
    return dict(json.loads(await bed.client.write("patch", JOBS, request)))


async def settled(bed: Bed) -> None:
    """Wait until the controller's queues are empty."""
    async with asyncio.timeout(300):
        while bed.metric("workqueue_depth") or not bed.metric("workqueue_adds_total"):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.2)
        await asyncio.sleep(3)  # what a first pass put off is due by now


async def memory_of_dicts(bed: Bed, namespace: str) -> float:
    """MB that this process grows by when it holds everything as dicts."""
    before, kept = resident(), []
    for resource in (JOBS, JOBFLOWS):
        more = ""
        while True:
            query = (("limit", "500"),) + ((("continue", more),) if more else ())
            page = json.loads(
                await bed.client.read("list", resource, Request("GET", resource.path(namespace), query), 60)
            )
            kept.append(page["items"])
            more = page["metadata"].get("continue", "")
            if not more:
                break
    return resident() - before


def resident() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    arguments = [*sys.argv[1:], *["2000", "60"][len(sys.argv) - 1 :]]
    sys.exit(asyncio.run(measure(int(arguments[0]), float(arguments[1]))))
