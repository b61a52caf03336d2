"""Creations through a real API server, while certificates are rotated and one of two webhooks is killed.

    python -m tests.bench.bench_admission_cluster [SECONDS]     # 60 if nothing else is said

200 JobFlows a second are created, three of ten of them wrong. Two webhooks stand behind a TCP balancer; a trivial
handler is registered beside them and is asked about the same creations, so that both are measured in the same run.
First the webhooks get new certificates, then those of a new CA, which the registration trusts from before until after,
then one of them is killed. The process ends with 1 if a goal is missed.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import trustme

from devcluster.stack.registration import webhook_configuration
from tests.bench.bed import quantile, verdict
from tests.support.balancer import Balancer
from tests.support.binaries import require_binaries
from tests.support.builders import a_flow
from tests.support.cluster import EMPTY_FLOW, crd_files
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually
from tests.webhook.replicas import Replica
from tests.webhook.serving import authority

RATE = 200
FLOWS = ["get", *(f"clean-{i}: get" for i in range(8)), f"train: {' '.join(f'clean-{i}' for i in range(8))}"]
UNKNOWN = 'Not found: "clean-9": names no entry of spec.flows; did you mean "clean-7"?'
LOOP = (
    'Invalid value: "train": must not close a loop: get -> clean-0 -> train -> get (each runs after the one before it)'
)
WRONG: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "an unknown target": ([*FLOWS[:9], "train: get clean-9"], [("spec.flows[9].dependsOn.targets[1]", UNKNOWN)]),
    "a name twice": ([*FLOWS, "get"], [("spec.flows[10].name", 'Duplicate value: "get"')]),
    "a loop": (["get: train", *FLOWS[1:]], [("spec.flows[0].dependsOn.targets[0]", LOOP)]),
}
"""What is wrong, the entries, and all that is to be said of it."""

RECOVERY = 1.0
"""Seconds from the kill on, after which no creation may be lost any more that begins then."""


@dataclass
class Tally:
    """What has become of the creations."""

    created: int = 0
    refused: int = 0
    tried_again: int = 0
    failed: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


class Creator:
    """A client that creates JobFlows, right and wrong ones."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http = http
        self._url = f"{url}/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.tally = Tally()
        self.killed_at: float | None = None
        self._number = 0

    async def go_on(self, seconds: float) -> None:
        """Create at a steady rate, whatever becomes of those before."""
        clock = time.monotonic
        began, wrong = clock(), list(WRONG)
        async with asyncio.TaskGroup() as group:
            for i in range(int(RATE * seconds)):
                await asyncio.sleep(max(0, began + i / RATE - clock()))
                group.create_task(self._create(wrong[i % len(wrong)] if i % 10 < 3 else None))

    async def _create(self, wrong: str | None) -> None:
        flows, said = WRONG[wrong] if wrong else (FLOWS, [])
        self._number += 1
        about = {"name": f"bench-{self._number}", "namespace": "default"}
        obj = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": about}
        body = json.dumps({**obj, "spec": {"flows": [a_flow(flow) for flow in flows]}}).encode()
        for _ in range(2):
            began = time.monotonic()
            status, answer = await self._post(body)
            self.tally.took.append((time.monotonic() - began) * 1000)
            lost = status == 500 and "failed calling webhook" in answer["message"]
            if not lost or not self.killed_at or began > self.killed_at + RECOVERY:
                break
            self.tally.tried_again += 1
        if wrong is None and status == 201:
            self.tally.created += 1
        elif wrong and status == 422 and _causes(answer) == said:
            self.tally.refused += 1
        else:
            self.tally.failed.append(f"{wrong or 'right'}: {status} {str(answer)[:300]}")

    async def _post(self, body: bytes) -> tuple[int, dict[str, Any]]:
        async with self._http.post(self._url, data=body, headers=self._headers) as answer:
            return answer.status, await answer.json()


def _causes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in answer.get("details", {}).get("causes", ())]


class Registration:
    """What the API server is told about the webhooks behind a port."""

    def __init__(self, kubectl: Kubectl, port: int) -> None:
        self._kubectl = kubectl
        self._url = f"https://127.0.0.1:{port}"

    async def register(self, ca: bytes) -> None:
        """Have them asked, and these CAs trusted."""
        await asyncio.to_thread(self._kubectl.apply, webhook_configuration(self._url, ca))

    async def register_beside(self, url: str) -> None:
        """Have another one asked about the same, and return once all are."""
        beside = webhook_configuration(url, authority().cert_pem.bytes())
        beside["metadata"]["name"] = "trivial"
        for webhook in beside["webhooks"]:
            webhook["name"] = f"trivial.{webhook['name']}"
        await asyncio.to_thread(self._kubectl.apply, beside)
        refused = ("create", "--dry-run=server", "-f", "-")
        await asyncio.to_thread(eventually, lambda: self._kubectl.run(*refused, stdin=EMPTY_FLOW).returncode)


async def disturb(seconds: float, replicas: list[Replica], registration: Registration, creator: Creator) -> None:
    """Everything that may happen to the webhooks, spread over the run."""
    old, new = authority(), trustme.CA()
    old_ca, new_ca = old.cert_pem.bytes(), new.cert_pem.bytes()

    async def kill() -> None:
        creator.killed_at = time.monotonic()
        await asyncio.to_thread(replicas[0].kill)  # the balancer has to see it at once

    async def renew(replica: Replica, ca: trustme.CA) -> None:
        replica.renew(ca)

    steps: list[tuple[float, str, Callable[[], Awaitable[None]]]] = [
        (0.10, "new certificate of the first", lambda: renew(replicas[0], old)),
        (0.15, "new certificate of the second", lambda: renew(replicas[1], old)),
        (0.25, "both CAs are trusted", lambda: registration.register(old_ca + new_ca)),
        (0.40, "the first has a certificate of the new CA", lambda: renew(replicas[0], new)),
        (0.50, "the second has as well", lambda: renew(replicas[1], new)),
        (0.65, "the new CA alone is trusted", lambda: registration.register(new_ca)),
        (0.80, "the first is killed", kill),
    ]
    began = time.monotonic()
    for share, what, act in steps:
        await asyncio.sleep(max(0, began + share * seconds - time.monotonic()))
        await act()
        print(f"  {time.monotonic() - began:5.1f} s: {what}")


async def measure(seconds: float) -> int:
    """Measure, print, and return how many goals were missed."""
    binaries = require_binaries()
    with (
        tempfile.TemporaryDirectory() as name,
        KubeApiserver(binaries, controller_manager=False, crds=crd_files("ours")) as server,
        trivial_handler(Path(name)) as trivial,
    ):
        replicas = [Replica(f"webhook-{i}", Path(name), kubeconfig=server.kubeconfig) for i in range(2)]
        try:
            await asyncio.gather(*(replica.start() for replica in replicas))
            async with Balancer(replica.port for replica in replicas) as balancer:
                registration = Registration(Kubectl(binaries.kubectl, server.kubeconfig), balancer.port)
                await registration.register(authority().cert_pem.bytes())
                await registration.register_beside(trivial)
                tally = await under_load(seconds, server, replicas, registration)
                theirs = await timings(trivial)
        finally:
            for replica in replicas:
                replica.kill()
        ours = [taken for replica in replicas for taken in seconds_of(replica.program.log)]
        return tell(tally, ours, theirs, int(RATE * seconds))


async def under_load(
    seconds: float, server: KubeApiserver, replicas: list[Replica], registration: Registration
) -> Tally:
    """Create, and disturb."""
    tls = ssl.create_default_context(cafile=str(server.ca_file))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=100)) as http:
        creator = Creator(http, server.url, server.token)
        await creator.go_on(3)  # warms up
        creator.tally = Tally()
        print(f"{RATE} creations a second for {seconds:.0f} s through the API server, three of ten of them wrong")
        await asyncio.gather(creator.go_on(seconds), disturb(seconds, replicas, registration, creator))
    return creator.tally


@contextmanager
def trivial_handler(directory: Path) -> Iterator[str]:
    """The trivial handler, with a certificate of its own; its URL."""
    leaf = authority().issue_cert("127.0.0.1")
    certificate, key = directory / "trivial.crt", directory / "trivial.key"
    leaf.private_key_pem.write_to_path(key)
    certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
    command = [sys.executable, "-m", "tests.bench.trivial_handler", str(certificate), str(key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            yield f"https://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


async def timings(url: str) -> list[float]:
    """Milliseconds that the trivial handler took, each time."""
    tls = ssl.create_default_context()
    authority().configure_trust(tls)
    async with aiohttp.ClientSession() as http, http.get(f"{url}/timings", ssl=tls) as answer:
        return [taken * 1000 for taken in await answer.json()]


def seconds_of(log: Path) -> list[float]:
    """Milliseconds that a webhook took for each creation, as its access log has it."""
    lines = (json.loads(line) for line in log.read_text().splitlines() if '"msg":"request"' in line)
    return [line["seconds"] * 1000 for line in lines if line.get("operation") == "CREATE"]


def tell(tally: Tally, ours: list[float], theirs: list[float], wanted: int) -> int:
    """Print, and return how many goals were missed."""
    print(f"  {tally.created} created, {tally.refused} refused with the right words, {len(tally.failed)} failed")
    print(f"  {tally.tried_again} lost with the replica that was killed, and tried again")
    for failure in tally.failed[:5]:
        print(f"    {failure}")
    for name, figures in (("webhook", ours), ("trivial handler", theirs), ("whole creation", tally.took)):
        half, most = quantile(figures, 0.5), quantile(figures, 0.99)
        print(f"  {name:15} p50 {half:7.2f}   p99 {most:7.2f}   longest {max(figures):7.2f} ms   ({len(figures)})")
    most, limit = quantile(ours, 0.99), max(25, 3 * quantile(theirs, 0.99))
    missed = verdict(f"in the webhook p99 <= {limit:.0f} ms", most <= limit)
    return missed + verdict("none failed", not tally.failed and tally.created + tally.refused == wanted)


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(measure(float(sys.argv[1]) if len(sys.argv) > 1 else 60)) else 0)
