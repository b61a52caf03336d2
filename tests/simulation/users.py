"""What people do to the cluster: each method is a step of a plan, named by `Step.do`."""

from collections.abc import Callable
from typing import Any

from shared.api.meta import Key
from shared.api.names import FLOW_API_VERSION
from tests.simulation.calls import Call
from tests.simulation.history import History
from tests.simulation.loop import SeededLoop
from tests.simulation.plan import FlowPlan, Step
from tests.simulation.store import Object, Refusal, Store, owner_of

NAMESPACE = "ml"


class Users:
    """Does the steps. What cannot be done, because what it is about is not there, is not done."""

    def __init__(self, loop: SeededLoop, store: Store, history: History) -> None:
        self._loop, self._store, self._history = loop, store, history
        self.refused: dict[str, Refusal] = {}
        """Endings of Job names that admission refuses, and how."""

    def plan(self, steps: tuple[Step, ...]) -> None:
        """Do all of them, each at its time."""
        for step in steps:
            self._loop.world(step.at, self.do, step)

    def do(self, step: Step) -> None:
        method: Callable[..., None] = getattr(self, step.do)
        self._history.note(self._loop.time(), "user", f"{step.do} {' '.join(map(str, step.args))}")
        try:
            method(*step.args)
        except Refusal as refusal:
            self._history.note(self._loop.time(), "user", f"is refused: {refusal}")

    def admission(self, call: Call) -> Refusal | None:
        """What a webhook or a quota says to a create."""
        if call.resource != "jobs":
            return None
        return next((no for ending, no in self.refused.items() if call.key.name.endswith(ending)), None)

    # JobFlows

    def create(self, flow: FlowPlan) -> None:
        spec: Object = {"flows": flows_of(flow.entries)}
        if flow.policy:
            spec["jobRetainPolicy"] = flow.policy
        self._store.create("jobflows", {"metadata": named(flow.name), "spec": spec}, "user")

    def delete(self, name: str, propagation: str = "Background") -> None:
        self._store.delete("jobflows", Key(NAMESPACE, name), "user", propagation=propagation)

    def edit(self, name: str, entries: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        """A change of the spec that no webhook refused, for it was down."""
        old = self._store.get("jobflows", Key(NAMESPACE, name))
        spec = {**old["spec"], "flows": flows_of(entries)}
        self._store.update("jobflows", Key(NAMESPACE, name), {**old, "spec": spec}, "", "user")

    def tamper(self, name: str, changes: dict[str, Any]) -> None:
        """Write the status by hand: what `changes` says, the rest as it was; None for a status that is empty."""
        old = self._store.get("jobflows", Key(NAMESPACE, name))
        status = {**old.get("status", {}), **changes} if changes else {}
        self._store.update("jobflows", Key(NAMESPACE, name), {**old, "status": status}, "status", "user")

    def label(self, name: str) -> None:
        """A change of metadata, which means nothing."""
        old = self._store.get("jobflows", Key(NAMESPACE, name))
        labels = {"touched": str(self._store.version)}
        changed = {**old, "metadata": {**old["metadata"], "labels": labels}}
        self._store.update("jobflows", Key(NAMESPACE, name), changed, "", "user")

    # JobTemplates

    def template(self, name: str, ttl: int | None) -> None:
        """Create it, or change it."""
        spec = job_spec(ttl, f"v{self._store.version}")
        old = self._store.objects["jobtemplates"].get(Key(NAMESPACE, name))
        if old:
            self._store.update("jobtemplates", Key(NAMESPACE, name), {**old, "spec": spec}, "", "user")
        else:
            self._store.create("jobtemplates", {"metadata": named(name), "spec": spec}, "user")

    def untemplate(self, name: str) -> None:
        self._store.delete("jobtemplates", Key(NAMESPACE, name), "user")

    # Jobs

    def stranger(self, name: str, phase: str, owner: dict[str, Any] | None = None) -> None:
        """A Job that is not ours, under a name that ours would have."""
        metadata = named(name)
        if owner:
            metadata["ownerReferences"] = [
                {"apiVersion": FLOW_API_VERSION, "kind": "JobFlow", "controller": True, **owner}
            ]
        metadata["labels"] = {"volcano.sh/createdByJobFlow": f"{NAMESPACE}.{name.partition('-')[0]}"}
        job = self._store.create("jobs", {"metadata": metadata, "spec": job_spec(None, "strange")}, "user")
        if phase:
            status = {"state": {"phase": phase, "lastTransitionTime": self._store.now()}}
            self._store.update("jobs", Key(NAMESPACE, name), {**job, "status": status}, "status", "user")

    def unstrange(self, name: str) -> None:
        """The stranger's Job goes, if it is one that is there."""
        job = self._store.get("jobs", Key(NAMESPACE, name))
        owner = owner_of(job)
        if owner is None or self._store.find("jobflows", owner["uid"]) is None:
            self._store.delete("jobs", Key(NAMESPACE, name), "user")

    def delete_job(self, name: str, propagation: str = "") -> None:
        self._store.delete("jobs", Key(NAMESPACE, name), "user", propagation=propagation)

    def disown(self, name: str) -> None:
        """Take a Job's owner away."""
        job = self._store.get("jobs", Key(NAMESPACE, name))
        changed = {**job, "metadata": {**job["metadata"], "ownerReferences": []}}
        self._store.update("jobs", Key(NAMESPACE, name), changed, "", "user")

    # The Lease

    def unlease(self) -> None:
        """Delete the Lease."""
        for key in list(self._store.objects["leases"]):
            self._store.delete("leases", key, "user")

    def steal(self) -> None:
        """Write somebody else's name into the Lease."""
        for key, lease in list(self._store.objects["leases"].items()):
            spec = {**lease["spec"], "holderIdentity": "somebody"}
            self._store.update("leases", key, {**lease, "spec": spec}, "", "user")

    # Admission

    def refuse(self, ending: str, status: int, message: str) -> None:
        """Refuse to create Jobs whose names end so."""
        self.refused[ending] = Refusal(status, {403: "Forbidden", 422: "Invalid"}.get(status, "BadRequest"), message)

    def allow(self, ending: str) -> None:
        self.refused.pop(ending, None)


def named(name: str) -> Object:
    return {"name": name, "namespace": NAMESPACE}


def flows_of(entries: tuple[tuple[str, tuple[str, ...]], ...]) -> list[Object]:
    return [
        {"name": name, "dependsOn": {"targets": list(targets)}} if targets else {"name": name}
        for name, targets in entries
    ]


def job_spec(ttl: int | None, image: str) -> Object:
    spec: Object = {
        "minAvailable": 1,
        "tasks": [{"name": "main", "replicas": 1, "template": {"spec": {"image": image}}}],
    }
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    return spec
