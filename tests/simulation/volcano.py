"""What else is in the cluster: Volcano's Job controller, which plays each Job's script, and the garbage collector.

Both act on the store at once, for their own delays are drawn anyway.
"""

from collections import Counter
from random import Random
from typing import Any

from tests.simulation.loop import SeededLoop
from tests.simulation.plan import Script
from tests.simulation.store import (
    FOREGROUND,
    ORPHAN,
    Change,
    Object,
    Store,
    children,
    is_deleting,
    key_of,
    owner_of,
    phase_of,
)

FINAL = {"Completed", "Failed", "Terminated"}
COMPLETES: Script = ((0.2, "Pending"), (0.3, "Running"), (0.5, "Completed"))


class Volcano:
    """Plays the Jobs. `scripts` are by Job name."""

    def __init__(self, loop: SeededLoop, store: Store, scripts: dict[str, tuple[Script, ...]]) -> None:
        self._loop, self._store, self._scripts = loop, store, scripts
        self._begun: Counter[str] = Counter()
        self.busy_until = loop.time()
        """When the last script that has begun will have ended."""
        store.watchers.append(self._hear)

    def _hear(self, change: Change) -> None:
        if change.resource != "jobs" or change.kind != "ADDED":
            return
        name, uid = key_of(change.new).name, change.new["metadata"]["uid"]
        if change.by == "user":
            return  # whoever creates a Job by hand says what becomes of it
        scripts = self._scripts.get(name, (COMPLETES,))
        script = scripts[min(self._begun[name], len(scripts) - 1)]
        self._begun[name] += 1
        ttl = change.new.get("spec", {}).get("ttlSecondsAfterFinished")
        length = sum(delay for delay, _ in script) + (ttl or 0) + 0.1
        self.busy_until = max(self.busy_until, self._loop.time() + length)
        self._next(uid, script, 0)

    def _next(self, uid: str, script: Script, at: int) -> None:
        if at < len(script):
            self._loop.world(script[at][0], self._enter, uid, script, at)

    def _enter(self, uid: str, script: Script, at: int) -> None:
        job = self._store.find("jobs", uid)
        if job is None:
            return
        what = script[at][1]
        if what.startswith("!"):
            getattr(self, f"_{what[1:]}")(job)
        elif not is_deleting(job):
            self.enter(job, what)
        self._next(uid, script, at + 1)

    def enter(self, job: Object, phase: str) -> None:
        """The Job goes into that phase."""
        now = self._store.now()
        status = dict(job.get("status", {}))
        status["state"] = {"phase": phase, "lastTransitionTime": now}
        status["conditions"] = [*status.get("conditions", []), {"status": phase, "lastTransitionTime": now}]
        if phase == "Restarting":
            status["retryCount"] = status.get("retryCount", 0) + 1
        self._store.update("jobs", key_of(job), {**job, "status": status}, "status", "volcano")
        ttl = job.get("spec", {}).get("ttlSecondsAfterFinished")
        if phase in FINAL and ttl is not None:
            self._loop.world(ttl + 0.001, self._expire, job["metadata"]["uid"])

    def _expire(self, uid: str) -> None:
        job = self._store.find("jobs", uid)
        if job is not None and phase_of(job) in FINAL:
            self._store.delete("jobs", key_of(job), "volcano", uid=uid)

    # A user's hands on a Job, at a certain moment of its life

    def _delete(self, job: Object) -> None:
        self._store.delete("jobs", key_of(job), "user")

    def _mark(self, job: Object) -> None:
        """Deleted, but held by a finalizer for a while."""
        self._store.delete("jobs", key_of(job), "user", propagation="Foreground")

    def _disown(self, job: Object) -> None:
        metadata = {**job["metadata"], "ownerReferences": []}
        self._store.update("jobs", key_of(job), {**job, "metadata": metadata}, "", "user")


class Garbage:
    """Kubernetes' garbage collector, for JobFlows and their Jobs: in a while, never at once."""

    def __init__(self, loop: SeededLoop, store: Store, random: Random, average: float) -> None:
        self._loop, self._store, self._random, self._average = loop, store, random, average
        store.watchers.append(self._hear)

    def _hear(self, change: Change) -> None:
        obj = change.new
        if change.resource == "jobflows" and (change.kind == "DELETED" or is_deleting(obj)):
            self._later(self._look_at_children, obj["metadata"]["uid"], obj["metadata"].get("finalizers", []))
        elif change.resource == "jobs" and change.kind == "ADDED" and owner_of(obj):
            self._later(self._look_at_owner, obj["metadata"]["uid"])
        elif change.resource == "jobs" and change.kind == "MODIFIED" and is_deleting(obj):
            self._later(self._let_go, "jobs", obj["metadata"]["uid"])

    def _later(self, look: Any, *args: Any) -> None:
        self._loop.world(self._random.expovariate(1 / self._average), look, *args)

    def _look_at_owner(self, uid: str) -> None:
        """A Job whose owner had gone when it was created goes as well."""
        job = self._store.find("jobs", uid)
        owner = owner_of(job) if job else None
        if job and owner and owner["kind"] == "JobFlow" and self._store.find("jobflows", owner["uid"]) is None:
            self._store.delete("jobs", key_of(job), "garbage")

    def _look_at_children(self, uid: str, finalizers: list[str]) -> None:
        jobflow = self._store.find("jobflows", uid)
        for job in children(self._store, uid):
            if ORPHAN in finalizers:
                metadata = {**job["metadata"], "ownerReferences": []}
                self._store.update("jobs", key_of(job), {**job, "metadata": metadata}, "", "garbage")
            elif not is_deleting(job):
                self._store.delete("jobs", key_of(job), "garbage")
        if jobflow and not list(children(self._store, uid)):
            self._let_go("jobflows", uid)
        elif jobflow:
            self._later(self._look_at_children, uid, finalizers)

    def _let_go(self, resource: str, uid: str) -> None:
        obj = self._store.find(resource, uid)
        if obj is None or not is_deleting(obj):
            return
        left = [it for it in obj["metadata"].get("finalizers", []) if it not in (FOREGROUND, ORPHAN)]
        self._store.update(
            resource, key_of(obj), {**obj, "metadata": {**obj["metadata"], "finalizers": left}}, "", "gc"
        )
