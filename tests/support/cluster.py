"""Offers a cluster that runs JobFlow: an API server with CRDs, our webhook registered with it, and our controller.

The API server is the embedded one or a real one, the CRDs of JobFlow and JobTemplate ours or those of Volcano; Job's is
Volcano's own everywhere. Nothing plays Jobs until a test asks for it (`Cluster.player`), so that a test can also say
itself when a Job runs, completes or fails.
"""

import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import trustme
from prometheus_client.parser import text_string_to_metric_families

from devcluster.stack.programs import free_ports
from devcluster.stack.registration import webhook_configuration
from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl
from tests.support.programs import Program, answers
from tests.support.volcano_crds import volcano_crds
from tests.support.waiting import eventually

Server = Literal["embedded", "real"]
Crds = Literal["ours", "volcano"]

ROOT = Path(__file__).parents[2]
OUR_CRDS = ROOT / "charts" / "jobflow" / "crds"

EMPTY_FLOW = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: empty}
spec: {flows: []}
"""
"""A JobFlow that any CRD takes, and our webhook refuses."""

PATIENCE = "--timeout=40s"
"""For kubectl wait: long enough for a busy machine, short beside a test's own time limit."""


@dataclass
class Cluster:
    """What a test needs to know about the cluster that it runs on."""

    server: Server
    crds: Crds
    dir: Path
    kubectl: Kubectl
    webhook: Program
    controller: Program
    webhook_metrics: str
    controller_metrics: str

    def writes_sent(self) -> int:
        """Return how many writes the controller has sent since it was started, whatever the API server made of them.

        A write that changes nothing is answered with success and is seen by no watch.
        """
        sent = requests_sent(self.controller_metrics)
        return sum(sent.values()) - sent["GET"]

    def player(self, namespace: str) -> Program:
        """Return the player of the Jobs of a namespace, not yet started: each one runs for a moment and completes."""
        arguments = [
            f"--kubeconfig={self.kubectl.kubeconfig}",
            f"--namespace={namespace}",
            "--delay=0.05",
            "--speed=20",
        ]
        return Program("devcluster", ["play", *arguments], self.dir / "player.log")


def requests_sent(metrics: str) -> Counter[str]:
    """Return how many requests a program has sent since it was started, by method, as its metrics tell."""
    with urllib.request.urlopen(metrics, timeout=5) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    sent = Counter[str]()
    for family in families:
        for sample in family.samples:
            if sample.name == "rest_client_requests_total":
                sent[sample.labels["method"]] += int(sample.value)
    return sent


@contextmanager
def running_cluster(server: Server, crds: Crds, directory: Path) -> Iterator[Cluster]:
    """Run a whole cluster, with everything ready, until the block is left."""
    with ExitStack() as stack:
        start = embedded_server if server == "embedded" else real_server
        kubectl = stack.enter_context(start(directory, crd_files(crds)))
        ca = trustme.CA()
        webhook, url, webhook_metrics = webhook_program(kubectl, directory, ca)
        stack.enter_context(webhook)
        controller, metrics = controller_program(kubectl, directory)
        stack.enter_context(controller)
        kubectl.apply(webhook_configuration(url, ca.cert_pem.bytes()))
        # It takes a real API server a second or two to notice a registration.
        assert eventually(lambda: kubectl.run("create", "--dry-run=server", "-f", "-", stdin=EMPTY_FLOW).returncode)
        yield Cluster(server, crds, directory, kubectl, webhook, controller, webhook_metrics, metrics)


def crd_files(crds: Crds) -> list[Path]:
    """Return the CRDs to install: Job's is always that of Volcano."""
    volcano = volcano_crds()
    flow = [volcano.jobflow, volcano.jobtemplate] if crds == "volcano" else sorted(OUR_CRDS.glob("*.yaml"))
    return [volcano.job, *flow]


@contextmanager
def real_server(directory: Path, crds: list[Path]) -> Iterator[Kubectl]:
    """Run kube-apiserver with etcd and controller manager."""
    binaries = require_binaries()
    with KubeApiserver(binaries, crds=crds) as server:
        yield Kubectl(binaries.kubectl, server.kubeconfig)


@contextmanager
def embedded_server(directory: Path, crds: list[Path]) -> Iterator[Kubectl]:
    """Run the embedded API server as a process, without the CRDs and the player that it could bring along."""
    (port,) = free_ports(1)
    data = directory / "embedded"
    arguments = ["up", f"--dir={data}", f"--port={port}", "--no-player", "--no-crds"]
    kubectl = Kubectl(require_binaries().kubectl, data / "kubeconfig")

    def serves() -> bool:
        return kubectl.kubeconfig.exists() and kubectl.run("get", "--raw", "/readyz").returncode == 0

    with Program("devcluster", arguments, directory / "devcluster.log", serves):
        for crd in crds:
            kubectl.install_crd(crd)
        yield kubectl


def webhook_program(kubectl: Kubectl, directory: Path, ca: trustme.CA) -> tuple[Program, str, str]:
    """Return the webhook, the URL at which it is going to listen, and that of its metrics."""
    port, probes, metrics = free_ports(3)
    certificate = ca.issue_cert("127.0.0.1")
    chain, key = directory / "webhook.crt", directory / "webhook.key"
    chain.write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
    certificate.private_key_pem.write_to_path(key)
    arguments = [
        f"--kubeconfig={kubectl.kubeconfig}",
        f"--tls-cert-file={chain}",
        f"--tls-private-key-file={key}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--healthz-address=127.0.0.1:{probes}",
        f"--metrics-address=127.0.0.1:{metrics}",
    ]
    ready = partial(answers, f"http://127.0.0.1:{probes}/readyz")
    program = Program("webhook", arguments, directory / "webhook.log", ready)
    return program, f"https://127.0.0.1:{port}", f"http://127.0.0.1:{metrics}/metrics"


def controller_program(kubectl: Kubectl, directory: Path) -> tuple[Program, str]:
    """Return the controller, and the URL of its metrics."""
    probes, metrics = free_ports(2)
    arguments = [
        f"--kubeconfig={kubectl.kubeconfig}",
        f"--healthz-address=127.0.0.1:{probes}",
        f"--metrics-address=127.0.0.1:{metrics}",
        "--leader-elect=false",  # so that after a kill none has to wait for the end of the lease
    ]
    ready = partial(answers, f"http://127.0.0.1:{probes}/readyz")
    program = Program("controller", arguments, directory / "controller.log", ready)
    return program, f"http://127.0.0.1:{metrics}/metrics"
