"""Offers the ground that the controller's benchmarks stand on: a real API server, a client, a player, the controller.

What a benchmark sees of time it sees through one watch on Jobs, which tells when it heard of each Job and of its end.
"""

import asyncio
import contextlib
import json
import re
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from devcluster.stack.programs import free_ports
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from tests.support.binaries import require_binaries
from tests.support.builders import a_job_spec, a_jobflow_object, a_jobtemplate_object
from tests.support.cluster import crd_files
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl
from tests.support.programs import Program, answers

NOBODY = "00000000-0000-4000-8000-000000000000"
IN_FLIGHT = 32
"""Creates that the plain client has under way at the same time, as many as the controller by default."""


@dataclass
class Bed:
    """A real API server with the CRDs, and who talks to it."""

    kubeconfig: Path
    dir: Path
    client: KubeClient
    metrics_port: int = 0

    @contextmanager
    def player(self, *arguments: str) -> Iterator[None]:
        """Play all Jobs, as a process of its own."""
        with Program("devcluster", ["play", f"--kubeconfig={self.kubeconfig}", *arguments], self.dir / "player.log"):
            yield

    @contextmanager
    def controller(self, *flags: str) -> Iterator[Program]:
        """Run the controller, as a process of its own, ready."""
        probes, self.metrics_port = free_ports(2)
        arguments = [
            f"--kubeconfig={self.kubeconfig}",
            f"--healthz-address=127.0.0.1:{probes}",
            f"--metrics-address=127.0.0.1:{self.metrics_port}",
            *flags,
        ]
        ready = f"http://127.0.0.1:{probes}/readyz"
        program = Program("controller", arguments, self.dir / "controller.log", lambda: answers(ready))
        with program:
            yield program
            print(f"  controller stopped with {program.stop()}")

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the controller's samples of that name and labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        total = 0.0
        for found in re.finditer(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE):
            if all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                total += float(found[2])
        return total

    def writes(self) -> float:
        """Requests of the controller that change something, up to now."""
        return sum(
            self.metric("rest_client_requests_total", method=verb) for verb in ("POST", "PATCH", "PUT", "DELETE")
        )

    async def namespace(self, name: str) -> str:
        """A new namespace."""
        Kubectl(require_binaries().kubectl, self.kubeconfig).run("create", "namespace", name)
        return name

    async def template(self, name: str, namespace: str) -> None:
        """A JobTemplate of one task."""
        await self.client.create(JOBTEMPLATES, namespace, dumps(a_jobtemplate_object(name, namespace)))

    async def jobflow(self, obj: dict[str, Any]) -> JobFlow:
        """Create a JobFlow."""
        obj["metadata"].pop("uid", None)
        return await self.client.create(JOBFLOWS, obj["metadata"]["namespace"], dumps(obj))

    async def finished(self, key: Key, within: float) -> JobFlow:
        """Wait until the JobFlow is Succeed."""
        async with asyncio.timeout(within):
            while True:
                jobflow = await self.client.get(JOBFLOWS, key)
                if jobflow.phase == "Succeed":
                    return jobflow
                assert jobflow.phase != "Failed", jobflow.status.state
                await asyncio.sleep(0.2)


@dataclass
class Sights:
    """When the watch told of each Job of a namespace first, and of its completion; on the monotonic clock."""

    created: dict[str, float] = field(default_factory=dict)
    completed: dict[str, float] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, old: Job | None, job: Job | None, /, *, initial: bool) -> None:
        """Note what is new."""
        if job is None:
            return
        now = time.monotonic()
        self.created.setdefault(job.name, now)
        if job.phase == "Completed":
            self.completed.setdefault(job.name, now)
        self.news.set()

    async def until(self, completed: int, within: float) -> None:
        """Wait until so many Jobs have completed."""
        async with asyncio.timeout(within):
            while len(self.completed) < completed:
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def watching(bed: Bed, namespace: str) -> AsyncIterator[Sights]:
    """What there is to be seen of the Jobs of a namespace, while the block lasts."""
    sights = Sights()
    cache: Cache[Job] = Cache()
    reflector = Reflector(bed.client, JOBS, cache, Random(0), sights.take, namespace=namespace)
    task = asyncio.create_task(reflector.run())
    await reflector.synced.wait()
    try:
        yield sights
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def a_bed() -> AsyncIterator[Bed]:
    """A new real API server, with our CRDs and Volcano's Job; without controller manager and webhook."""
    with KubeApiserver(require_binaries(), controller_manager=False, crds=crd_files("ours")) as server:
        client = await KubeClient.connect("bench", kubeconfig=server.kubeconfig, environ={})
        with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack():
            try:
                yield Bed(server.kubeconfig, Path(directory), client)
            finally:
                await client.close()


async def side_by_side(work: Iterable[Any], in_flight: int = IN_FLIGHT) -> None:
    """Await all, so many at the same time."""
    slots = asyncio.Semaphore(in_flight)

    async def one(it: Any) -> None:
        async with slots:
            await it

    await asyncio.gather(*(one(it) for it in work))


def a_plain_job(name: str, namespace: str, **metadata: Any) -> bytes:
    """A Job as the controller creates it, of a JobFlow that is not there."""
    owner = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "name": "bench", "uid": NOBODY}
    metadata = {"ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}], **metadata}
    labels = {"volcano.sh/createdByJobFlow": f"{namespace}.bench", "volcano.sh/createdByJobTemplate": f"{namespace}.x"}
    about = {"name": name, "namespace": namespace, "labels": labels, "annotations": labels, **metadata}
    return dumps({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": about, "spec": a_job_spec()})


def a_bench_jobflow(namespace: str, *flows: str, name: str = "bench") -> dict[str, Any]:
    """A JobFlow of these entries."""
    return a_jobflow_object(*flows, name=name, namespace=namespace)


def dumps(obj: Any) -> bytes:
    """JSON."""
    return json.dumps(obj).encode()


def quantile(figures: list[float], share: float) -> float:
    """The figure that so many of all do not exceed."""
    return sorted(figures)[max(0, round(len(figures) * share) - 1)]


def verdict(name: str, reached: bool) -> bool:
    """Say whether a goal was reached; True where it was missed."""
    print(f"  {'reached' if reached else 'MISSED'}: {name}")
    return not reached
