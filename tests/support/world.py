"""A cluster in memory on a simulated clock, with the real reconciler in it: for tests of what a pass does.

The world keeps the truth as JSON. What the reconciler's caches show of it may lag: `world.lagging` holds changes back
until `world.deliver()`. Every write is recorded in `world.writes`.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import jsonpatch
import msgspec

from controller.jobflow.cluster import Stored
from controller.jobflow.look import Caches
from controller.jobflow.reconcile import JobFlowReconciler
from controller.jobflow.triggers import OWNER, TEMPLATE, owner_uids, template_keys
from controller.runtime.turns import Turns
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key, ObjectMeta
from shared.kube.cache import Cache
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from shared.kube.transport import Guard
from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from tests.support.seeing import NOON

JSON = dict[str, Any]
DIAMOND = ("get", "clean: get", "count: get", "train: clean count")
FLOWS = ("get", "clean", "count", "train")
TYPES: dict[str, type] = {"JobFlow": JobFlow, "JobTemplate": JobTemplate, "Job": Job}


class Counts:
    """Counts transitions as the metrics do."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def count(self, namespace: str, *, before: str, after: str) -> None:
        if before != after:
            self.seen.append((before, after))


class World:
    """The API server, the informers and the queue, as simple as can be."""

    def __init__(self, *, seed: int = 0) -> None:
        self.now = 0.0
        self.moment: Callable[[], float] = lambda: self.now
        """The reconciler's monotonic clock; a test in which the event loop's time passes sets the loop's."""
        self.version = 0
        self.objects: dict[tuple[str, Key], JSON] = {}
        self.writes: list[tuple[str, str]] = []
        self.refusing: dict[tuple[str, str], Callable[[], ApiError]] = {}
        self.answers_lost = 0
        self.lagging: set[str] = set()
        self.pending: list[tuple[str, JSON | None, JSON | None]] = []
        self.due: dict[Key, float] = {}
        self.counts = Counts()
        self.chance = Random(seed)
        self.start()

    def start(self) -> None:
        """Begin with an empty memory, as a controller does that was killed and started again."""
        self.jobflows: Cache[JobFlow] = Cache({TEMPLATE: template_keys})
        self.templates: Cache[JobTemplate] = Cache()
        self.jobs: Cache[Job] = Cache({OWNER: owner_uids})
        self.reconciler = JobFlowReconciler(
            Caches(self.jobflows, self.templates, self.jobs),
            self,
            writes=Turns(32),
            width=32,
            clock=self.clock,
            monotonic=lambda: self.moment(),  # noqa: PLW0108 - a test may set another one later
            chance=self.chance,
            counters=self.counts,
        )
        self.pending.clear()
        self.due.clear()
        for (kind, _), obj in sorted(self.objects.items()):
            self._show(kind, None, obj)

    def clock(self) -> datetime:
        return NOON + timedelta(seconds=self.now)

    # What users, Volcano and Kubernetes do

    def apply(self, obj: JSON) -> None:
        """Create the object, or change it."""
        kind, key = obj["kind"], Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        self._write(kind, key, json.loads(json.dumps(obj)))

    def template(self, *names: str, namespace: str = "ml") -> None:
        for name in names:
            self.apply(a_jobtemplate_object(name, namespace))

    def phase(self, job: str, phase: str, *, namespace: str = "ml", **status: Any) -> None:
        """Volcano's Job controller says that a Job is in that phase."""
        obj = self.get("Job", job, namespace)
        at = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [*obj.get("status", {}).get("conditions", []), {"status": phase, "lastTransitionTime": at}]
        state = {"phase": phase, "lastTransitionTime": at}
        self.apply({**obj, "status": {**obj.get("status", {}), "state": state, "conditions": conditions, **status}})

    def get(self, kind: str, name: str, namespace: str = "ml") -> JSON:
        return self.objects[kind, Key(namespace, name)]

    def remove(self, kind: str, name: str, namespace: str = "ml") -> None:
        """The object is gone."""
        self._show(kind, self.objects.pop((kind, Key(namespace, name))), None)

    def jobs_of(self, jobflow: str) -> list[str]:
        return sorted(key.name for kind, key in self.objects if kind == "Job" and key.name.startswith(jobflow + "-"))

    def status(self, jobflow: str = "etl") -> JSON:
        return self.get("JobFlow", jobflow).get("status", {})

    def creates(self) -> list[str]:
        return [name for verb, name in self.writes if verb == "create"]

    # The controller at work

    def deliver(self) -> None:
        """The caches catch up."""
        self.lagging.clear()
        pending, self.pending = self.pending, []
        for kind, old, new in pending:
            self._show(kind, old, new)

    async def settle(self, seconds: float = 0.0) -> None:
        """Let the controller work until nothing is due within `seconds` from now."""
        until = self.now + seconds
        for _ in range(20_000):
            key = min(self.due, key=lambda it: self.due[it], default=None)
            if key is None or self.due[key] > until:
                self.now = until
                return
            self.now = max(self.now, self.due.pop(key))
            await self.turn(key)
        raise AssertionError("the controller does not come to rest")

    async def turn(self, key: Key) -> None:
        """One pass, as a worker gives it: what fails is tried again after a while."""
        try:
            after = await self.reconciler.reconcile(key)
        except ApiError:
            after = 0.3
        if after is not None:
            self.due[key] = min(self.due.get(key, self.now + after), self.now + after)

    # The API server

    async def get_jobflow(self, key: Key) -> Stored:
        self._may("get", key.name)
        return self._stored(key)

    async def get_jobflow_metadata(self, key: Key, entries: int) -> ObjectMeta:
        return (await self.get_jobflow(key)).jobflow.metadata

    async def get_job(self, key: Key) -> Job:
        self._may("get", key.name)
        return self._decoded("Job", self._there("Job", key))

    async def create_job(self, namespace: str, manifest: bytes, guard: Guard) -> Job:
        guard()
        obj = json.loads(manifest)
        key = Key(namespace, obj["metadata"]["name"])
        self._may("create", key.name)
        if ("Job", key) in self.objects:
            raise AlreadyExists(f'jobs "{key.name}" already exists', status=409)
        self.writes.append(("create", key.name))
        self._write("Job", key, obj)
        self._may_answer()
        return self._decoded("Job", self.objects["Job", key])

    async def delete_job(self, key: Key, uid: str, version: str, guard: Guard) -> None:
        guard()
        self._may("delete", key.name)
        metadata = self._there("Job", key)["metadata"]
        if (metadata["uid"], metadata["resourceVersion"]) != (uid, version):
            raise Conflict("another uid or version", status=409)
        self.writes.append(("delete", key.name))
        self.remove("Job", key.name, key.namespace)

    async def patch_jobflow_status(self, key: Key, patch: bytes) -> Stored:
        self._may("patch", key.name)
        obj, operations = self._there("JobFlow", key), json.loads(patch)
        if operations[0]["value"] != obj["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified", status=409)
        self.writes.append(("status", key.name))
        self._write("JobFlow", key, jsonpatch.apply_patch(obj, operations[1:]))
        self._may_answer()
        return self._stored(key)

    def _may(self, verb: str, name: str) -> None:
        if refusal := self.refusing.get((verb, name)) or self.refusing.get((verb, "*")):
            raise refusal()

    def _may_answer(self) -> None:
        if self.answers_lost:
            self.answers_lost -= 1
            raise ApiError("no answer", reason="Timeout")

    def _there(self, kind: str, key: Key) -> JSON:
        if (kind, key) not in self.objects:
            raise NotFound(f'"{key.name}" not found', status=404)
        return self.objects[kind, key]

    def _stored(self, key: Key) -> Stored:
        obj = self._there("JobFlow", key)
        return Stored(self._decoded("JobFlow", obj), len(json.dumps(obj)))

    def _write(self, kind: str, key: Key, obj: JSON) -> None:
        self.version += 1
        old = self.objects.get((kind, key))
        metadata = {"creationTimestamp": self.clock().strftime("%Y-%m-%dT%H:%M:%SZ"), "generation": 1} | (
            old["metadata"] if old else {"uid": f"uid-{self.version}"}
        )
        metadata |= obj["metadata"] | {"resourceVersion": str(self.version)}
        new = {**obj, "metadata": metadata}
        self.objects[kind, key] = new
        self._show(kind, old, new)

    def _show(self, kind: str, old: JSON | None, new: JSON | None) -> None:
        """Tell the informer of that kind, unless it lags."""
        if kind in self.lagging:
            self.pending.append((kind, old, new))
            return
        cache: Any = {"JobFlow": self.jobflows, "JobTemplate": self.templates, "Job": self.jobs}[kind]
        changes = cache.put(self._decoded(kind, new)) if new else cache.remove(self._decoded(kind, old or {}))
        tell: Any = {
            "JobFlow": self.reconciler.on_jobflow,
            "JobTemplate": self.reconciler.on_jobtemplate,
            "Job": self.reconciler.on_job,
        }[kind]
        for change in changes:
            for key, _ in tell(change.old, change.new):
                self.due[key] = self.now

    @staticmethod
    def _decoded(kind: str, obj: JSON) -> Any:
        return msgspec.json.decode(json.dumps(obj).encode(), type=TYPES[kind])


def a_world(*flows: str, templates: tuple[str, ...] = FLOWS, **about: Any) -> World:
    """A world with one JobFlow, `etl` in `ml`: a diamond if nothing else is said."""
    world = World()
    world.template(*templates)
    world.apply(a_jobflow_object(*(flows or DIAMOND), **about))
    return world


async def complete(world: World, *flows: str) -> None:
    """The Jobs of those entries of `etl` run and complete, one after the other."""
    for flow in flows:
        world.phase(f"etl-{flow}", "Running")
        world.phase(f"etl-{flow}", "Completed")
        await world.settle(1)
