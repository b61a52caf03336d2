"""Certificates turn by the commands of the chart, on an API server, under load, and no request ever fails.

Two replicas of the webhook stand behind a balancer. Each mounts the Secret through a kubelet of its own, whose lag is
another each time. The commands run as processes, with an account that may do what they need and nothing else.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from certs.cluster import CONFIGURATIONS, SECRETS, Cluster, Place
from certs.issue import Pair, ServerNames, authority_name, issue_ca, issue_server
from certs.keys import new_key, new_serial
from certs.pem import bundle_pem, certificate_pem, certificates_in
from devcluster.stack.programs import free_ports, without_settings
from devcluster.stack.registration import NAME, webhook_configuration
from shared.kube.client import KubeClient
from tests.certs.making import CA_WORN, LEAF_WORN
from tests.certs.mounting import Asked, Mount, background, bundle_in, kubelet, read, strictly_trusting, until
from tests.support.balancer import Balancer
from tests.support.cluster import EMPTY_FLOW, crd_files, embedded_server, real_server
from tests.support.kubectl import Kubectl, Object
from tests.support.programs import Program, answers
from tests.support.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

PLACE = Place("jobflow-system", "jobflow-webhook-tls", "jobflow-webhook-ca", NAME)
NAMES = ServerNames(ips=(ip_address("127.0.0.1"),))
FLAGS = (
    f"--namespace={PLACE.namespace}",
    f"--secret={PLACE.secret}",
    f"--ca-secret={PLACE.ca_secret}",
    f"--webhook-configuration={PLACE.configuration}",
)
LAG = 1.5
"""Seconds that the slower kubelet takes at most. A webhook reads its files twice a second."""
WAITS = ("--bundle-wait=2500ms", "--secret-wait=3s")

RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [PLACE.secret, PLACE.ca_secret],
        "verbs": ["get", "update", "delete"],
    },
]
CLUSTER_RULES: list[Object] = [
    {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": [PLACE.configuration],
        "verbs": ["get", "update", "delete"],
    }
]


@dataclass
class Installed:
    """An API server with our CRDs, and an account for the commands."""

    kubectl: Kubectl
    dir: Path
    account: Path
    """The account's kubeconfig."""

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "certs", *arguments, *FLAGS, f"--kubeconfig={self.account}"]

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self.command(*arguments), stderr=asyncio.subprocess.PIPE, env=without_settings(os.environ)
        )

    async def run(self, *arguments: str) -> list[dict[str, Any]]:
        """Run a command to its end, which must be a good one; what it logged."""
        return await ended(await self.start(*arguments))

    def apply_flags(self, *more: str, names: ServerNames = NAMES) -> tuple[str, ...]:
        return ("apply", f"--dns-name={str(names).replace(' ', '')}", *more)


async def ended(process: asyncio.subprocess.Process) -> list[dict[str, Any]]:
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("embedded", marks=pytest.mark.xdist_group("rotation-embedded")),
        pytest.param("real", marks=[pytest.mark.real, pytest.mark.xdist_group("rotation-real")]),
    ],
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    directory = tmp_path_factory.mktemp("rotation")
    start = embedded_server if request.param == "embedded" else real_server
    with ExitStack() as stack:
        kubectl = stack.enter_context(start(directory, crd_files("ours")))
        kubectl("create", "namespace", PLACE.namespace)
        yield Installed(kubectl, directory, an_account(kubectl, directory))


def an_account(kubectl: Kubectl, directory: Path) -> Path:
    """Make the account that the commands have, and return its kubeconfig."""
    subject = {"kind": "ServiceAccount", "name": "certs", "namespace": PLACE.namespace}
    group, rbac = "rbac.authorization.k8s.io", {"apiVersion": "rbac.authorization.k8s.io/v1"}
    within = kubectl.within(PLACE.namespace)
    within("create", "serviceaccount", "certs")
    for kind, rules in (("Role", RULES), ("ClusterRole", CLUSTER_RULES)):
        within.apply(
            {**rbac, "kind": kind, "metadata": {"name": "certs"}, "rules": rules},
            {
                **rbac,
                "kind": f"{kind}Binding",
                "metadata": {"name": "certs"},
                "roleRef": {"apiGroup": group, "kind": kind, "name": "certs"},
                "subjects": [subject],
            },
        )
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": within("create", "token", "certs", "--duration=1h").strip()}
    file = directory / "certs.kubeconfig"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(config))
    return file


class Running:
    """The replicas, their kubelets, and whoever asks them."""

    def __init__(self, installed: Installed, client: KubeClient, mounts: list[Mount], port: int) -> None:
        self.installed = installed
        self.client = client
        self.objects = Cluster(client, PLACE)
        self.mounts = mounts
        self.port = port
        self.asked = Asked()

    async def bundle(self) -> bytes:
        return bundle_in(await read(self.client, CONFIGURATIONS.path(None, PLACE.configuration)))

    async def ca(self) -> Pair:
        ca = (await self.objects.look()).seen.ca
        assert ca
        return ca

    async def place(self, ca: Pair, server: Pair) -> None:
        """Store a CA, a certificate of it, and the bundle, all at once: for times when nobody asks."""
        await self.objects.publish(await self.objects.look(), [bundle_pem([ca.certificate])] * 2)
        await self.objects.store_authority(await self.objects.look(), ca)
        await self.place_server(ca, server)

    async def place_server(self, ca: Pair, server: Pair) -> None:
        await self.objects.store_server(await self.objects.look(), server, ca.certificate)
        await self.served_everywhere(server)

    async def served_everywhere(self, server: Pair) -> None:
        served = certificate_pem(server.certificate)
        await until(lambda: all(mount.certificate.read_bytes() == served for mount in self.mounts))
        await asyncio.sleep(1.5)  # the webhooks look twice a second, and a busy machine takes its time

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[Asked]:
        """Ask all the time: through the API server, and as one that learns of a bundle a little later."""
        self.asked = Asked()
        trust = strictly_trusting(await self.bundle())

        async def learn() -> None:
            nonlocal trust
            while True:
                bundle = await self.bundle()
                await asyncio.sleep(0.5)
                trust = strictly_trusting(bundle)

        others = [self.asked.through(self.client, f"a{os.urandom(3).hex()}") for _ in range(2)]
        async with background(learn(), self.asked.straight(self.port, lambda: trust, 0.01), *others):
            await until(lambda: self.asked.answered > 20)
            before = self.asked.answered
            yield self.asked
            await until(lambda: self.asked.answered + len(self.asked.failed) > before + 20)


@pytest.fixture
async def running(installed: Installed) -> AsyncIterator[Running]:
    """Two replicas that serve what the first install has issued."""
    chance = Random(1)
    async with AsyncExitStack() as stack:
        client = await KubeClient.connect("test", kubeconfig=installed.kubectl.kubeconfig)
        stack.push_async_callback(client.close)
        replicas = free_ports(2)
        balancer = await stack.enter_async_context(Balancer(replicas))
        url = f"https://127.0.0.1:{balancer.port}"
        await asyncio.to_thread(installed.kubectl.apply, unpublished(url))
        await installed.run(*installed.apply_flags())
        folders = [installed.dir / f"mount-{port}" for port in replicas]
        mounts = [Mount(folder) for folder in folders]
        lags = (lambda: 0.0, lambda: chance.uniform(LAG / 2, LAG))
        await stack.enter_async_context(
            background(*(kubelet(client, PLACE, mount, lag) for mount, lag in zip(mounts, lags, strict=True)))
        )
        await until(lambda: all(mount.key.exists() for mount in mounts))
        programs = [webhook(installed, mount, port) for mount, port in zip(mounts, replicas, strict=True)]
        for program in programs:
            stack.callback(program.kill)
        await asyncio.gather(*(asyncio.to_thread(program.start) for program in programs))
        made = Running(installed, client, mounts, balancer.port)
        # A real API server takes a second or two to notice a registration.
        create = partial(installed.kubectl.run, "create", "--dry-run=server", "-f", "-", stdin=EMPTY_FLOW)
        assert await asyncio.to_thread(eventually, lambda: "spec.flows" in create().stderr)
        yield made
        await installed.run("remove")


def unpublished(url: str) -> Object:
    """The registration as the chart brings it: it trusts nobody yet."""
    registered = webhook_configuration(url, b"")
    for each in registered["webhooks"]:
        del each["clientConfig"]["caBundle"]
    return registered


def webhook(installed: Installed, mount: Mount, port: int) -> Program:
    probes, metrics = free_ports(2)
    arguments = [
        f"--kubeconfig={installed.kubectl.kubeconfig}",
        f"--tls-cert-file={mount.certificate}",
        f"--tls-private-key-file={mount.key}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--healthz-address=127.0.0.1:{probes}",
        f"--metrics-address=127.0.0.1:{metrics}",
    ]
    ready = partial(answers, f"http://127.0.0.1:{probes}/readyz")
    return Program("webhook", arguments, installed.dir / f"webhook-{port}.log", ready)


def worn() -> tuple[Pair, Pair]:
    """A CA that has come to two thirds of its life, and a server certificate of it."""
    now = datetime.now(UTC)
    name = authority_name(namespace=PLACE.namespace, secret=PLACE.ca_secret)
    ca = issue_ca(new_key(), serial=new_serial(), now=now - CA_WORN, name=name)
    return ca, a_server_of(ca, timedelta(days=1))


def a_server_of(ca: Pair, age: timedelta) -> Pair:
    return issue_server(new_key(), ca=ca, names=NAMES, serial=new_serial(), now=datetime.now(UTC) - age)


async def test_the_ca_and_then_the_leaf_turn_under_load_and_no_request_fails(running: Running) -> None:
    """The CA's turn is cut short twice by SIGKILL, and brought to its end by two commands at once."""
    run = running.installed
    await running.place(*(old := worn()))
    async with running.asking() as asked:
        for written in (SECRETS.path(PLACE.namespace, PLACE.ca_secret), CONFIGURATIONS.path(None, PLACE.configuration)):
            await kill_after_writing(running, written)
        await asyncio.gather(*(run.run(*run.apply_flags(*WAITS)) for _ in range(2)))
        ca = await running.ca()
        assert ca.certificate != old[0].certificate
        assert certificates_in(await running.bundle()) == (ca.certificate,)

        await running.place_server(ca, aged := a_server_of(ca, LEAF_WORN))
        said = await run.run(*run.apply_flags(*WAITS))
        assert [line["msg"] for line in said] == ["server certificate issued", "certificates are up to date"]
        renewed = (await running.objects.look()).seen.server
        assert renewed
        await running.served_everywhere(renewed)
        await until(lambda: f"{renewed.certificate.serial_number:X}" in {each.lstrip("0") for each in asked.serials})
        creates = await asyncio.to_thread(kubectl_creates, run.kubectl)
    assert aged.certificate != renewed.certificate
    assert certificates_in(await running.bundle()) == (ca.certificate,)
    assert creates == 0
    assert asked.failed == []
    assert asked.answered >= 200
    assert len(asked.serials) >= 4, "clients saw the old one, that of the new CA, the aged one and the last"
    await without_the_waits(running)


async def kill_after_writing(running: Running, path: str) -> None:
    """Begin the command, and kill it as soon as it has written that object."""
    before = (await read(running.client, path))["metadata"]["resourceVersion"]
    process = await running.installed.start(*running.installed.apply_flags(*WAITS))
    while (await read(running.client, path))["metadata"]["resourceVersion"] == before:
        assert process.returncode is None
        await asyncio.sleep(0.005)
    process.kill()
    await process.communicate()


def kubectl_creates(kubectl: Kubectl) -> int:
    """How many of some JobFlows `kubectl create` does not get created."""
    flow = yaml.safe_load(EMPTY_FLOW) | {
        "metadata": {"generateName": "by-kubectl-"},
        "spec": {"flows": [{"name": "a"}]},
    }
    return sum(kubectl.run("create", "-f", "-", stdin=json.dumps(flow)).returncode != 0 for _ in range(3))


async def without_the_waits(running: Running) -> None:
    """The control: what was asked all the while would have noticed."""
    run = running.installed
    await running.place(*worn())
    async with running.asking() as asked:
        await run.run(*run.apply_flags("--bundle-wait=0s", "--secret-wait=0s"))
        await asyncio.sleep(1)
    assert any("certificate" in failure for failure in asked.failed)


async def test_an_install_takes_seconds_and_remove_leaves_nothing_of_it(installed: Installed) -> None:
    """With an account that may do nothing but what the commands need."""
    kubectl = installed.kubectl.within(PLACE.namespace)
    kubectl.apply(unpublished("https://127.0.0.1:1"))
    said = await installed.run(*installed.apply_flags())
    assert [line["msg"] for line in said] == [
        "certificate authority issued",
        "bundle published",
        "server certificate issued",
        "certificates are up to date",
    ]
    first, last = (datetime.fromisoformat(said[i]["ts"]) for i in (0, -1))
    assert last - first < timedelta(seconds=5)
    stored = kubectl.get("secret", PLACE.secret)
    assert stored
    assert (stored["type"], set(stored["data"])) == ("kubernetes.io/tls", {"tls.crt", "tls.key", "ca.crt"})
    said = await installed.run("remove")
    assert len(said[-1]["objects"].split()) == 3
    for kind, name in (("secret", PLACE.secret), ("secret", PLACE.ca_secret), ("validatingwebhookconfiguration", NAME)):
        assert kubectl.get(kind, name) is None
    assert (await installed.run("remove"))[-1]["objects"] == "nothing"
