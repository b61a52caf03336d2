"""Offers a namespace of its own to each test, with the words in which the tests of the whole system speak."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support.builders import a_flow, a_job_spec
from tests.support.cluster import PATIENCE, Cluster
from tests.support.kubectl import VOLCANO_JOBS, Kubectl, Object
from tests.support.waiting import eventually

Event = tuple[str, Object]


@dataclass(frozen=True)
class Workspace:
    """A namespace, and kubectl in it. `since` is the version of the world when it was made."""

    cluster: Cluster
    kubectl: Kubectl
    since: str

    @property
    def name(self) -> str:
        """The namespace's name."""
        return self.kubectl.namespace

    @property
    def has_our_status(self) -> bool:
        """Whether the CRDs keep the status fields that only ours know."""
        return self.cluster.crds == "ours"

    def play(self, job: str, phase: str) -> None:
        """Wait until a Job is there, and move it to a phase, as Volcano's Job controller would."""
        self.wait_for_job(job)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        state = {"phase": phase, "lastTransitionTime": now}
        self.kubectl.patch_status(VOLCANO_JOBS, job, {"state": state, "minAvailable": 1})

    def play_new(self, job: str, phase: str, *, than: Mapping[str, Object]) -> None:
        """Do the same to the Job that has followed one of `than` under its name."""
        old = than[job]["metadata"]["uid"]

        def is_new() -> bool:
            found = self.kubectl.get(VOLCANO_JOBS, job)
            return found is not None and found["metadata"]["uid"] != old

        assert eventually(is_new), f"Job {job} was not created anew"
        self.play(job, phase)

    def wait_for_job(self, job: str) -> Object:
        """Wait until a Job is there, and return it."""
        self.kubectl("wait", "--for=create", f"{VOLCANO_JOBS}/{job}", PATIENCE)
        found = self.kubectl.get(VOLCANO_JOBS, job)
        assert found, f"Job {job} came and went"
        return found

    def jobs(self) -> set[str]:
        """Return the names of the Jobs that exist."""
        return set(self.kubectl.by_name(VOLCANO_JOBS))

    def wait_for_phase(self, jobflow: str, phase: str) -> Object:
        """Wait until a JobFlow is in a phase, and return its status."""
        try:
            self.kubectl("wait", f"--for=jsonpath={{.status.state.phase}}={phase}", f"jobflow/{jobflow}", PATIENCE)
        except AssertionError as late:
            raise AssertionError(f"{late}\nits status is {self.status(jobflow)}") from None
        return self.status(jobflow)

    def wait_for_status(self, jobflow: str, **expected: Any) -> Object:
        """Wait until fields of a status have their values (None: are missing or empty), and return all of it."""

        def is_so() -> bool:
            status = self.status(jobflow)
            return all((status.get(field) or None) == (value or None) for field, value in expected.items())

        assert eventually(is_so), f"expected {expected} of {jobflow}, its status is {self.status(jobflow)}"
        return self.status(jobflow)

    def wait_for_reason(self, jobflow: str, reason: str) -> str:
        """Wait until the status has a reason, and return its message; for CRDs that keep both."""
        assert eventually(lambda: self.status(jobflow).get("state", {}).get("reason") == reason), self.status(jobflow)
        return str(self.status(jobflow)["state"]["message"])

    def status(self, jobflow: str) -> Object:
        """Return a JobFlow's status, empty while it has none."""
        found = self.kubectl.get("jobflow", jobflow)
        assert found, f"there is no JobFlow {jobflow}"
        return dict(found.get("status") or {})

    def job_history(self, seconds: int = 1) -> list[Event]:
        """Return every event of the Jobs of this namespace so far."""
        return self.kubectl.history("jobs", self.since, seconds)


def jobflow(name: str, *flows: str, policy: str | None = None, **metadata: Any) -> Object:
    """Return a JobFlow to apply: `jobflow("etl", "get", "train: get")`."""
    spec: Object = {"flows": [a_flow(flow) for flow in flows]}
    if policy is not None:
        spec["jobRetainPolicy"] = policy
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def jobtemplate(name: str, **fields: Any) -> Object:
    """Return a JobTemplate to apply, with `fields` added to its spec."""
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name},
        "spec": a_job_spec(**fields),
    }


def jobtemplates(*names: str) -> list[Object]:
    """Return a JobTemplate for each name."""
    return [jobtemplate(name) for name in names]


def a_job(name: str, **metadata: Any) -> Object:
    """Return a Job to apply that no JobFlow has made."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, **metadata},
        "spec": a_job_spec(),
    }


def created_out_of_turn(flow: Object, history: Iterable[Event]) -> list[str]:
    """Return the Jobs of a JobFlow that were created before all that they depend on had completed."""
    name = flow["metadata"]["name"]
    targets = {
        f"{name}-{entry['name']}": {f"{name}-{target}" for target in entry.get("dependsOn", {}).get("targets", ())}
        for entry in flow["spec"]["flows"]
    }
    completed: set[str] = set()
    early = []
    for kind, job in history:
        child = job["metadata"]["name"]
        if kind == "ADDED" and child in targets and not targets[child] <= completed:
            early.append(child)
        if job.get("status", {}).get("state", {}).get("phase") == "Completed":
            completed.add(child)
    return early


def creations(history: Iterable[Event]) -> list[str]:
    """Return the names of the Jobs that were created, sorted; a name appears as often as one was created under it."""
    return sorted(job["metadata"]["name"] for kind, job in history if kind == "ADDED")
