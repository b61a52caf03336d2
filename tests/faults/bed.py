"""Offers what every case stands on: the embedded API server with its history, real controllers, and a player of Jobs.

    async with bed(tmp_path) as bed:
        controller = await bed.start("first", "--leader-elect=false")
        bed.plan([{"match": {"verb": "write", "nth": 7}, "do": "kill"}], controller)
        await bed.post("ns-1", *diamond(policy="delete"))
        await bed.until(lambda: bed.finished("ns-1", "etl"))
        bed.check()

The server and the player live on the test's event loop, the controllers are processes. Nothing here waits but for a
claim to come true.
"""

import asyncio
import contextlib
import json
import os
import shlex
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from devcluster import faults
from devcluster.calls import Call, Target
from devcluster.deletion import DeleteOptions
from devcluster.errors import StatusError
from devcluster.faults import Fault
from devcluster.identity import ADMIN
from devcluster.player import Player, Rules
from devcluster.resources import Resource
from devcluster.server import ApiServer
from devcluster.up import install_crds
from shared.kube.client import KubeClient, Limits
from tests.faults.plan import Plan
from tests.faults.plan import faults as faults_of
from tests.faults.recording import RecordingServer
from tests.simulation.store import Object, owner_uid, phase_of
from tests.support.programs import answers
from tests.support.replicas import Replica

LONGEST_STEP = 1.0
ALONE = "--leader-elect=false"
PATIENCE = 60.0
"""Seconds until a test says that something will never come true: a limit, on a machine that may be busy."""

JOBFLOWS, JOBTEMPLATES, JOBS = "jobflows.flow.volcano.sh", "jobtemplates.flow.volcano.sh", "jobs.batch.volcano.sh"


class Bed:
    """One API server with what runs on it."""

    def __init__(self, server: RecordingServer, directory: Path, stack: AsyncExitStack) -> None:
        self.server = server
        self.directory = directory
        self.plans: list[Plan] = []
        self.replicas: dict[str, Replica] = {}
        self._stack = stack
        self._tokens: dict[str, str] = {}

    # Controllers

    def new(self, name: str, *flags: str) -> Replica:
        """Return a controller, not yet started; `name` is its user, for whose requests plans are made."""
        self._tokens[name] = self.server.controller(name)
        kubeconfig = self.server.kubeconfig(self.directory / f"{name}.kubeconfig", self._tokens[name])
        replica = Replica(name, kubeconfig, self.directory, *flags)
        self._stack.callback(replica.kill)
        self.replicas[name] = replica
        return replica

    def connect(self, replica: Replica, server: ApiServer) -> None:
        """Have a controller speak to another front-end when it is started the next time."""
        server.kubeconfig(self.directory / f"{replica.name}.kubeconfig", self._tokens[replica.name])

    async def start(self, name: str, *flags: str) -> Replica:
        """Return a controller that is ready."""
        replica = self.new(name, *flags)
        await self.restart(replica)
        return replica

    async def restart(self, replica: Replica) -> None:
        """Start a controller again that was killed or has ended."""
        replica.kill()
        replica.launch()
        ready = asyncio.create_task(asyncio.to_thread(_wait_for, replica))
        await self.until(ready.done, f"{replica.name} is ready")
        await ready

    def plan(self, plan: Plan, replica: Replica) -> list[Fault]:
        """Have these faults befall a controller from now on."""

        def send(number: int) -> None:
            assert replica._process
            os.kill(replica._process.pid, number)

        self.plans.append(plan)
        mine = [{**step, "match": {"user": replica.name, **step["match"]}} for step in plan]
        return [self.server.faults.add(fault) for fault in faults_of(mine, send)]

    def no_faults(self) -> None:
        """Let nothing go wrong any more; what was held back goes on."""
        for fault in self.server.faults.plan:
            if isinstance(fault.action, (faults.Hold, faults.Freeze)):
                fault.action.release.set()
        self.server.faults.clear()

    # Users

    async def namespace(self, name: str) -> None:
        """Create a namespace."""
        await self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "")

    async def post(self, namespace: str, *objects: Object) -> None:
        """Create objects in a namespace, which is made if it is not there."""
        if self.server.store.get("namespaces", "", namespace) is None:
            await self.namespace(namespace)
        for each in objects:
            await self._create(json.loads(json.dumps(each)), namespace)

    async def change(
        self, storage: str, namespace: str, name: str, change: Callable[[Object], object], subresource: str = ""
    ) -> None:
        """Change an object as a user does who reads and writes it."""
        target = Target(self._resource(storage), namespace, name, subresource)
        while True:
            obj = self.get(storage, namespace, name)
            change(obj)
            try:
                await self.server.objects.update(Call(ADMIN, manager="user"), target, obj)
            except StatusError as error:
                if error.code != 409:
                    raise
            else:
                return

    async def force(self, storage: str, namespace: str, name: str, change: Callable[[Object], object]) -> None:
        """Change an object in the store itself, as if it had been written under another schema."""
        old = self.server.store.get(storage, namespace, name)
        assert old
        obj = old.decode()
        change(obj)
        self.server.store.put(storage, obj, old)

    async def phase(self, namespace: str, job: str, phase: str) -> None:
        """Say as Volcano's Job controller does that a Job is in a phase."""
        await self.change(JOBS, namespace, job, lambda it: it.update(status={"state": {"phase": phase}}), "status")

    async def delete(self, storage: str, namespace: str, name: str, propagation: str = "Background") -> None:
        """Delete an object as a user does."""
        options = DeleteOptions(propagation)
        call = Call(ADMIN, manager="user")
        await self.server.deletion.delete(call, self._resource(storage), (namespace, name), options)

    async def _create(self, obj: Object, namespace: str) -> None:
        found = self.server.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert found
        await self.server.objects.create(Call(ADMIN, manager="user"), found, namespace, obj)

    def _resource(self, storage: str) -> Resource:
        found = self.server.registry.stored_at(storage)
        assert found
        return found

    # What is so

    def get(self, storage: str, namespace: str, name: str) -> Object:
        """Return an object as it is stored."""
        stored = self.server.store.get(storage, namespace, name)
        assert stored, f"there is no {storage} {namespace}/{name}"
        return stored.decode()

    def all(self, storage: str, namespace: str = "") -> list[Object]:
        """Return all objects of a kind."""
        bucket = self.server.store.bucket(storage)
        return [bucket.objects[key].decode() for key in bucket.sorted_keys(namespace)]

    def status(self, namespace: str, name: str) -> Object:
        """Return the status of a JobFlow."""
        return dict(self.get(JOBFLOWS, namespace, name).get("status") or {})

    def phase_of(self, namespace: str, name: str) -> str:
        """Return the phase of a JobFlow."""
        return phase_of(self.get(JOBFLOWS, namespace, name))

    def finished(self, namespace: str, name: str, phase: str = "Succeed") -> bool:
        """Whether a JobFlow has come to its end, and its Jobs have been deleted where they are to be."""
        flow = self.get(JOBFLOWS, namespace, name)
        if phase_of(flow) != phase:
            return False
        return phase != "Succeed" or flow["spec"].get("jobRetainPolicy") != "delete" or not self.jobs(namespace, flow)

    def jobs(self, namespace: str, flow: Object) -> list[Object]:
        """Return the Jobs of a JobFlow."""
        return [job for job in self.all(JOBS, namespace) if owner_uid(job) == flow["metadata"]["uid"]]

    def templates_are_true(self, namespace: str = "") -> bool:
        """Whether each JobTemplate tells of just the Jobs that were made from it."""
        made: dict[str, list[str]] = {}
        for job in self.all(JOBS, namespace):
            source = (job["metadata"].get("annotations") or {}).get("volcano.sh/createdByJobTemplate")
            if source and owner_uid(job):
                made.setdefault(source, []).append(job["metadata"]["name"])
        return all(
            ((template.get("status") or {}).get("jobDependsOnList") or [])
            == sorted(made.get(f"{template['metadata']['namespace']}.{template['metadata']['name']}", []))
            for template in self.all(JOBTEMPLATES, namespace)
        )

    async def until(self, claim: Callable[[], object], what: str, seconds: float = PATIENCE) -> float:
        """Return, and how long it took, once a claim has come true; fail with the history if it never does.

        Time in which this very process did not run, for the machine or somebody had stopped it, does not count.
        """
        took, now = 0.0, time.monotonic()
        while not claim():
            if took > seconds:
                self.fail(f"not within {seconds:g} s: {what}")
            await asyncio.sleep(0.01)
            before, now = now, time.monotonic()
            took += min(now - before, LONGEST_STEP)
        return took

    def check(self) -> None:
        """Fail if any invariant was broken so far."""
        if self.server.judge.violations:
            self.fail("\n".join(self.server.judge.violations))

    def fail(self, why: str) -> None:
        """Fail with all that it takes to understand it and to see it once more."""
        told = [f"plan: {json.dumps(plan)}" for plan in self.plans[-3:]]
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        once_more = f"once more: python -m pytest {shlex.quote(test)}" if test else ""
        if self.plans:
            once_more += (
                f"\none JobFlow under it: python -m tests.faults --plan {shlex.quote(json.dumps(self.plans[-1]))}"
            )
        logs = [f"{name} says:\n{replica.tail(1500)}" for name, replica in self.replicas.items()]
        raise AssertionError("\n".join([why, *told, once_more, self.server.history.text()[-6_000:], *logs]))


@asynccontextmanager
async def bed(
    directory: Path,
    *,
    play: Rules | None = Rules(brief=True),  # noqa: B008
    crds: bool = True,
    **options: Any,
) -> AsyncIterator[Bed]:
    """Run all of it until the block is left. `play` says how Jobs are played, None that nobody plays them."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(RecordingServer(**options))
        stack.push_async_callback(_nothing_held_back, server)
        if crds:
            await install_crds(server)
        made = Bed(server, directory, stack)
        if play:
            await stack.enter_async_context(_playing(server, directory, play))
        try:
            yield made
        finally:
            made.no_faults()


async def _nothing_held_back(server: RecordingServer) -> None:
    server.faults.clear()


@asynccontextmanager
async def _playing(server: RecordingServer, directory: Path, rules: Rules) -> AsyncIterator[None]:
    kubeconfig = server.kubeconfig(directory / "player.kubeconfig", server.add_user("player", ("system:masters",)))
    client = await KubeClient.connect("player", kubeconfig=str(kubeconfig), limits=Limits())
    playing = asyncio.create_task(Player(client, rules).run())
    try:
        yield
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
        await client.close()


def _wait_for(replica: Replica) -> None:
    """Return once a controller is ready. Raises ProgramError if it ends before."""
    while not answers(f"{replica.health}/readyz"):
        replica.check_alive()
        time.sleep(0.05)


def names(objects: Iterable[Object]) -> list[str]:
    """Return their names."""
    return [each["metadata"]["name"] for each in objects]
