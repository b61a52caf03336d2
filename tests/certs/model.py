"""Offers the API server as far as certificates need it, in simulated time, with programs on it that freeze and die.

    world = World(seed=1)
    world.run("daily", waits)          # begins a run of `certs apply`
    world.pass_time(days=1)
    assert not unverified(world.history, since=...)

What runs on it is the whole of the products' code: the client, the objects, the upkeep and the plan.
"""

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, ClassVar

from certs.cluster import CONFIGURATIONS, SECRETS, Cluster, Place
from certs.issue import ServerNames
from certs.rotation import Waits, Wanted
from certs.upkeep import Upkeep
from shared.kube.client import KubeClient
from shared.kube.errors import Unavailable
from shared.kube.transport import Answer, Guard, Request
from tests.certs.making import AUTHORITY, NAMES, NOW
from tests.simulation.loop import BEGINNING, Process, SeededLoop

JSON = dict[str, Any]

PLACE = Place("flow", "jobflow-webhook-tls", "jobflow-webhook-ca", "jobflow-webhook")
SERVER = SECRETS.path(PLACE.namespace, PLACE.secret)
CA = SECRETS.path(PLACE.namespace, PLACE.ca_secret)
CONFIGURATION = CONFIGURATIONS.path(None, PLACE.configuration)

WAITS = Waits(timedelta(seconds=60), timedelta(seconds=180))
"""Those of the command."""


@dataclass(frozen=True)
class Change:
    """An object as it was from a moment on; None once it is deleted."""

    at: datetime
    path: str
    new: JSON | None
    by: str


@dataclass
class World:
    """The stored objects, and whoever works on them."""

    seed: int = 0
    slowest: float = 0.2
    """Seconds that a request may take to the API server, and the answer back."""
    on_write: Callable[[int, Process], object] = lambda number, process: None
    """Hears of each write by number, counted from 1, when it has been done and before its answer is sent."""
    lose: frozenset[int] = frozenset()
    """Writes whose answer never comes."""
    objects: dict[str, JSON] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)
    writes: int = 0

    made: ClassVar[list["World"]] = []

    def __post_init__(self) -> None:
        self.made.append(self)
        self.random = Random(f"certs {self.seed}")
        self.loop = SeededLoop(Random(f"loop {self.seed}"))  # type: ignore[abstract]
        self._version = 0
        self._processes: list[Process] = []
        self.put(CONFIGURATION, a_configuration())

    # What a test does

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.loop.time() - BEGINNING)

    def put(self, path: str, new: JSON | None, by: str = "test") -> None:
        """Store an object, or delete it."""
        self._version += 1
        if new is None:
            self.objects.pop(path, None)
        else:
            old = self.objects.get(path)
            uid = old["metadata"]["uid"] if old else f"uid-{self._version}"
            metadata = {**new.get("metadata", {}), "uid": uid, "resourceVersion": str(self._version)}
            new = {**new, "metadata": {"name": path.rsplit("/", 1)[1], **metadata}}
            self.objects[path] = new
        self.history.append(Change(self.now, path, new, by))

    def put_secret(self, path: str, **data: bytes) -> None:
        """Store a Secret of `tls_crt=...`, `tls_key=...` and the like."""
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
        self.put(path, {"apiVersion": "v1", "kind": "Secret", "data": encoded})

    def put_bundles(self, *bundles: bytes) -> None:
        self.put(CONFIGURATION, a_configuration(*bundles))

    def data(self, path: str) -> dict[str, bytes]:
        """What a Secret holds."""
        return data_of(self.objects.get(path))

    def bundles(self) -> tuple[bytes, ...]:
        return bundles_of(self.objects[CONFIGURATION])

    def run(
        self,
        name: str = "run",
        *,
        waits: Waits = WAITS,
        names: ServerNames = NAMES,
        skew: timedelta = timedelta(0),
        patience: float = 60.0,
    ) -> tuple[Process, asyncio.Task[None]]:
        """Begin a run of the command, on a machine whose clock is off by `skew`."""
        process, cluster = self.cluster(name)
        upkeep = Upkeep(
            cluster,
            Wanted(names, AUTHORITY),
            waits,
            patience,
            Random(self.random.random()),
            lambda: self.now + skew,
        )
        return process, self.loop.program(process, upkeep.run())

    def remove(self, name: str = "remove") -> tuple[Process, asyncio.Task[Any]]:
        process, cluster = self.cluster(name)
        return process, self.loop.program(process, cluster.remove())

    def cluster(self, name: str) -> tuple[Process, Cluster]:
        """The objects as a program of that name has them."""
        process = Process(name)
        self._processes.append(process)
        return process, Cluster(KubeClient(_Wire(self, process)), PLACE)

    def pass_time(self, **length: float) -> None:
        """Let time pass, and all that happens in it."""
        self.loop.run_until_time(self.loop.time() + timedelta(**length).total_seconds())

    def complete(self, **about: Any) -> None:
        """Run the command to its end, which it must come to within an hour."""
        _, task = self.run(**about)
        for _ in range(60):
            self.pass_time(minutes=1)
            if task.done():
                break
        task.result()

    def end(self) -> None:
        """Let all programs end, those that were killed by force."""
        for process in self._processes:
            if process.held is not None:
                self.loop.thaw(process)
        for task in self.loop.tasks:
            task.cancel()
        self.loop.run_until_time(self.loop.time() + 30)

    # What the API server does

    def arrive(self, request: Request, process: Process, answer: asyncio.Future[Answer]) -> None:
        status, body = self._handled(request, process.name)
        if request.method != "GET" and status < 300:
            self.writes += 1
            self.on_write(self.writes, process)
            if self.writes in self.lose:
                return
        self.loop.world(self.random.uniform(0.001, self.slowest), _give, answer, Answer(status, {}, _bytes(body)))

    def _handled(self, request: Request, by: str) -> tuple[int, JSON]:
        body = json.loads(request.body or b"{}")
        path = request.path if request.method != "POST" else f"{request.path}/{body['metadata']['name']}"
        there = self.objects.get(path)
        if request.method == "POST" and there:
            return refused(409, "AlreadyExists")
        if request.method != "POST" and not there:
            return refused(404, "NotFound")
        if request.method == "PUT":
            wanted = body["metadata"]
            assert there
            if (wanted["uid"], wanted["resourceVersion"]) != (
                there["metadata"]["uid"],
                there["metadata"]["resourceVersion"],
            ):
                return refused(409, "Conflict")
        if request.method in {"POST", "PUT"}:
            self.put(path, body, by)
        if request.method == "DELETE":
            self.put(path, None, by)
        return 200, self.objects.get(path, {})


class _Wire:
    """Carries the requests of one program. One that is on its way arrives, whatever becomes of the program."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        world = self._world
        answer: asyncio.Future[Answer] = world.loop.create_future()
        world.loop.world(world.random.uniform(0.001, world.slowest), world.arrive, request, self._process, answer)
        return await answer

    def stream(self, request: Request) -> Any:
        raise Unavailable("nobody watches here")

    async def close(self) -> None:
        """There is nothing to let go of."""


def _give(answer: asyncio.Future[Answer], what: Answer) -> None:
    if not answer.done():
        answer.set_result(what)


def refused(code: int, reason: str) -> tuple[int, JSON]:
    return code, {"kind": "Status", "code": code, "reason": reason, "message": f"the model says {reason}"}


def a_configuration(*bundles: bytes) -> JSON:
    """A configuration with two webhooks, none of which trusts anybody yet unless that is said."""
    bundles = bundles or (b"", b"")
    webhooks = []
    for name, bundle in zip(("jobflows", "jobtemplates"), bundles, strict=True):
        client: JSON = {"service": {"name": "jobflow-webhook", "namespace": "flow", "path": f"/validate/{name}"}}
        if bundle:
            client["caBundle"] = base64.b64encode(bundle).decode()
        webhooks.append({"name": f"{name}.flow.volcano.sh", "clientConfig": client, "timeoutSeconds": 5})
    return {"kind": "ValidatingWebhookConfiguration", "metadata": {"labels": {"of": "helm"}}, "webhooks": webhooks}


def data_of(secret: JSON | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in ((secret or {}).get("data") or {}).items()}


def bundles_of(configuration: JSON | None) -> tuple[bytes, ...]:
    webhooks = (configuration or {}).get("webhooks") or ()
    return tuple(base64.b64decode(webhook["clientConfig"].get("caBundle") or "") for webhook in webhooks)


def _bytes(body: JSON) -> bytes:
    return json.dumps(body).encode()
