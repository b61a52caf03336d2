"""Offers replicas of the controller on one API server, each with an account of its own: so it shows who wrote what.

    with replicated("embedded", directory) as replicas:
        first, second = replicas.start("first"), replicas.start("second")

Each account may do what the controller's roles allow, and nothing else.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import yaml

from devcluster.faults import Action, Match
from devcluster.faults import Fault as PlannedFault
from devcluster.identity import User
from devcluster.routes import Route
from devcluster.server import ApiServer
from devcluster.stack.programs import free_ports
from tests.support.binaries import require_binaries
from tests.support.cluster import Server, crd_files
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl
from tests.support.programs import Program, answers
from tests.support.waiting import eventually

T = TypeVar("T")

READING = ("get", "list", "watch")
NAMESPACE = "jobs-system"
"""Where the accounts and the Lease are."""

LEASE = "jobflow-controller"

RULES: list[dict[str, Any]] = [
    {"apiGroups": ["flow.volcano.sh"], "resources": ["jobflows"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["flow.volcano.sh"], "resources": ["jobflows/status", "jobtemplates/status"], "verbs": ["patch"]},
    {"apiGroups": ["flow.volcano.sh"], "resources": ["jobtemplates"], "verbs": ["list", "watch"]},
    {
        "apiGroups": ["batch.volcano.sh"],
        "resources": ["jobs"],
        "verbs": ["get", "list", "watch", "create", "delete"],
    },
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]
LEASE_RULES = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "update"],
        "resourceNames": [LEASE],
    },
]


class Sent(NamedTuple):
    """A write that an account has sent, Leases and Events aside."""

    at: datetime
    verb: str
    resource: str


class Seeing(Protocol):
    """An API server that shows who sent what."""

    kubectl: Kubectl

    def writes(self, account: str) -> list[Sent]:
        """Return the writes of an account so far."""
        ...


class Replica(Program):
    """One controller as a process."""

    def __init__(self, name: str, kubeconfig: Path, directory: Path, *flags: str) -> None:
        probes, metrics = free_ports(2)
        self.name = name
        self.health, self.metrics = f"http://127.0.0.1:{probes}", f"http://127.0.0.1:{metrics}/metrics"
        arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--healthz-address=127.0.0.1:{probes}",
            f"--metrics-address=127.0.0.1:{metrics}",
            f"--leader-elect-resource-namespace={NAMESPACE}",
            *flags,
        ]
        super().__init__("controller", arguments, directory / f"{name}.log", lambda: answers(f"{self.health}/readyz"))

    def said(self) -> list[dict[str, Any]]:
        """Return its log."""
        return [json.loads(line) for line in self.tail(1_000_000).splitlines() if line.startswith("{")]


class Replicas:
    """An API server, and the controllers on it."""

    def __init__(self, server: Seeing, directory: Path, stack: ExitStack) -> None:
        self.server = server
        self.kubectl = server.kubectl
        self._directory = directory
        self._stack = stack
        self.kubectl("create", "namespace", NAMESPACE)
        self.kubectl.apply(_role("ClusterRole", RULES))
        self.kubectl.within(NAMESPACE).apply(_role("Role", LEASE_RULES))

    def new(self, name: str, *flags: str) -> Replica:
        """Return one more replica with an account of that name, not yet started; it is killed at the end at latest."""
        kubectl = self.kubectl.within(NAMESPACE)
        kubectl("create", "serviceaccount", name)
        subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name}
        self.kubectl.apply(_binding("ClusterRole", name, subject))
        kubectl.apply(_binding("Role", name, subject))
        config = yaml.safe_load(self.kubectl.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": kubectl("create", "token", name, "--duration=1h").strip()}
        file = self._directory / f"{name}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(config))
        return self._stack.enter_context(_ended(Replica(name, file, self._directory, *flags)))

    def start(self, name: str, *flags: str) -> Replica:
        """Return one more replica, ready."""
        replica = self.new(name, *flags)
        replica.start()
        return replica

    def forbid(self, verb: str) -> None:
        """Take a right to Jobs away from the replica `only`; it counts once this returns."""
        rules = [
            {**rule, "verbs": [it for it in rule["verbs"] if it != verb or rule["resources"] != ["jobs"]]}
            for rule in RULES
        ]
        self.kubectl.apply(_role("ClusterRole", rules))
        question = ("auth", "can-i", verb, "jobs.batch.volcano.sh", f"--as=system:serviceaccount:{NAMESPACE}:only")
        assert eventually(lambda: self.kubectl.run(*question).returncode), "it is allowed still"

    def writes(self, replica: Replica) -> list[Sent]:
        """Return what a replica has written so far, in all its lives."""
        return self.server.writes(f"system:serviceaccount:{NAMESPACE}:{replica.name}")

    def lease(self) -> dict[str, Any]:
        """Return the spec of the Lease, empty where there is none."""
        found = self.kubectl.within(NAMESPACE).get("lease", LEASE)
        return dict(found["spec"]) if found else {}


@contextmanager
def replicated(server: Server, directory: Path) -> Iterator[Replicas]:
    """Run an API server with the CRDs, and the replicas that are asked for, until the block is left."""
    with ExitStack() as stack:
        seeing: Seeing
        seeing = stack.enter_context(embedded(directory)) if server == "embedded" else stack.enter_context(real())
        yield Replicas(seeing, directory, stack)


class Embedded:
    """The embedded API server, on an event loop in a thread, with its plan of faults."""

    def __init__(self, kubectl: Kubectl, server: "RecordingServer", loop: asyncio.AbstractEventLoop) -> None:
        self.kubectl = kubectl
        self._server = server
        self._loop = loop

    def writes(self, account: str) -> list[Sent]:
        """Return the writes of an account so far."""
        return [sent for name, sent in list(self._server.sent) if name == account]

    def plan(self, match: Match, action: Action) -> None:
        """Make a fault from now on."""
        self._loop.call_soon_threadsafe(self._server.faults.add, PlannedFault(match, action))

    def no_faults(self) -> None:
        """Make none any more."""
        self._loop.call_soon_threadsafe(self._server.faults.clear)


class RecordingServer(ApiServer):
    """Notes who wrote what."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, Sent]] = []

    def _authorize(self, user: User, route: Route) -> None:
        if route.plural not in ("leases", "events") and route.verb not in READING:
            self.sent.append((user.name, Sent(datetime.now(UTC), route.verb, route.plural)))
        super()._authorize(user, route)


@contextmanager
def embedded(directory: Path) -> Iterator[Embedded]:
    """Run the embedded server in this process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded API server")
    thread.start()
    server = RecordingServer()
    try:
        _wait(loop, server.__aenter__())
        try:
            kubectl = Kubectl(require_binaries().kubectl, server.kubeconfig(directory / "kubeconfig"))
            for crd in crd_files("ours"):
                kubectl.install_crd(crd)
            yield Embedded(kubectl, server, loop)
        finally:
            _wait(loop, server.__aexit__())
            _wait(loop, _nothing_under_way())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _wait(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    done: Future[T] = asyncio.run_coroutine_threadsafe(work, loop)
    return done.result(30)


async def _nothing_under_way() -> None:
    """End what a fault has held back."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Real:
    """A real API server, whose audit log says who sent what."""

    def __init__(self, server: KubeApiserver) -> None:
        self.kubectl = Kubectl(server.binaries.kubectl, server.kubeconfig)
        self._server = server

    def writes(self, account: str) -> list[Sent]:
        """Return the writes of an account so far."""
        return [
            Sent(
                datetime.fromisoformat(event["requestReceivedTimestamp"]), event["verb"], event["objectRef"]["resource"]
            )
            for event in self._server.audit_events()
            if event["user"]["username"] == account
            and event["verb"] not in READING
            and event.get("objectRef", {}).get("resource") not in (None, "leases", "events")
        ]


@contextmanager
def real() -> Iterator[Real]:
    """Run kube-apiserver with its audit log."""
    with KubeApiserver(require_binaries(), controller_manager=False, audit=True, crds=crd_files("ours")) as server:
        yield Real(server)


@contextmanager
def _ended(replica: Replica) -> Iterator[Replica]:
    try:
        yield replica
    finally:
        replica.kill()


def _role(kind: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "jobflow-controller"},
        "rules": rules,
    }


def _binding(kind: str, name: str, subject: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "jobflow-controller"},
        "subjects": [subject],
    }
