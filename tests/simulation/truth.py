"""What is true of each JobFlow and each Job, taken down from the store's own history: what the oracle judges by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.api.names import JOBFLOW
from tests.simulation.loop import SeededLoop
from tests.simulation.store import Change, Object, is_deleting, key_of, owner_of, owner_uid, phase_of

FINISHED = {"Succeed", "Failed", "Terminating"}
FAILURES = {"Failed", "Terminated"}
HANDS = {"user", "garbage", "gc", "volcano"}
"""Who is no controller."""


@dataclass
class JobTruth:
    """One Job that was created for a JobFlow."""

    uid: str
    name: str
    at: float
    by: str
    phases: set[str] = field(default_factory=set)
    """Phases that it was in while it was the JobFlow's."""
    gone_at: float | None = None
    disowned: bool = False

    @property
    def lost(self) -> bool:
        """It is not the JobFlow's any more, or is not at all."""
        return self.disowned or self.gone_at is not None


@dataclass
class FlowTruth:
    """One JobFlow, by its uid."""

    uid: str
    name: str
    specs: list[tuple[float, Mapping[str, tuple[str, ...]]]]
    """Every spec it had, and since when: what each entry depends on."""
    policy: str | None
    latest: Object
    jobs: dict[str, list[JobTruth]] = field(default_factory=dict)
    """By name."""
    listed: dict[str, float] = field(default_factory=dict)
    """Names that a stored status ever told, and since when."""
    completed: set[str] = field(default_factory=set)
    """Names that a stored status ever called Completed."""
    finished_at: float | None = None
    deleting_at: float | None = None
    gone_at: float | None = None
    tampered: bool = False
    """Somebody has written its status by hand."""

    @property
    def entries(self) -> Mapping[str, tuple[str, ...]]:
        return self.specs[-1][1]

    def job_name(self, entry: str) -> str:
        return f"{self.name}-{entry}"

    def own(self, entry: str) -> list[JobTruth]:
        return self.jobs.get(self.job_name(entry), [])

    def was(self, entry: str, *phases: str) -> bool:
        """The entry's own Job was once in one of those phases."""
        return any(not job.phases.isdisjoint(phases) for job in self.own(entry))

    def phase(self) -> str:
        """As it is stored."""
        return phase_of(self.latest)


class Truth:
    """All JobFlows and Jobs there ever were."""

    def __init__(self, loop: SeededLoop) -> None:
        self._loop = loop
        self.flows: dict[str, FlowTruth] = {}
        self.jobs: dict[str, JobTruth] = {}
        """Those that were created for a JobFlow, by uid."""
        self.owner: dict[str, FlowTruth] = {}
        """The JobFlow of each of them."""
        self.transitions: list[tuple[str, str, str]] = []
        """Phases of JobFlows that controllers stored: uid, before, after."""

    def present(self) -> Iterator[FlowTruth]:
        """The JobFlows that exist."""
        return (flow for flow in self.flows.values() if flow.gone_at is None)

    def hear(self, change: Change) -> None:
        """Take down one step of the store's history."""
        if change.resource == "jobflows":
            self._hear_of_flow(change)
        elif change.resource == "jobs":
            self._hear_of_job(change)

    def _hear_of_flow(self, change: Change) -> None:
        now, obj = self._loop.time(), change.new
        uid = obj["metadata"]["uid"]
        flow = self.flows.get(uid)
        if flow is None:
            spec = obj.get("spec", {})
            flow = FlowTruth(uid, key_of(obj).name, [(now, entries_of(obj))], spec.get("jobRetainPolicy"), obj)
            self.flows[uid] = flow
        before, flow.latest = flow.phase(), obj
        if change.kind == "DELETED":
            flow.gone_at = now
            return
        if is_deleting(obj) and flow.deleting_at is None:
            flow.deleting_at = now
        if (entries := entries_of(obj)) != flow.entries:
            flow.specs.append((now, entries))
        after = phase_of(obj)
        if change.by in HANDS and change.old is not None and change.old.get("status") != obj.get("status"):
            flow.tampered = True
        if before != after:
            flow.finished_at = now if after in FINISHED else None
            if change.by not in HANDS:
                self.transitions.append((uid, before, after))
        for entry in obj.get("status", {}).get("jobStatusList", ()):
            flow.listed.setdefault(entry["name"], now)
            if entry.get("state") == "Completed":
                flow.completed.add(entry["name"])

    def _hear_of_job(self, change: Change) -> None:
        obj = change.new
        uid = obj["metadata"]["uid"]
        if change.kind == "ADDED" and change.by not in HANDS:
            owner = owner_of(obj)
            flow = self.flows.get(owner["uid"]) if owner and owner["kind"] == JOBFLOW else None
            if flow is None:
                return
            job = JobTruth(uid, key_of(obj).name, self._loop.time(), change.by)
            flow.jobs.setdefault(job.name, []).append(job)
            self.jobs[uid], self.owner[uid] = job, flow
        elif uid in self.jobs:
            job = self.jobs[uid]
            job.disowned = job.disowned or owner_uid(obj) != self.owner[uid].uid
            if not job.disowned:
                job.phases.add(phase_of(obj))
            if change.kind == "DELETED":
                job.gone_at = self._loop.time()


def entries_of(obj: Object) -> dict[str, tuple[str, ...]]:
    """What each entry of a JobFlow's spec depends on."""
    flows = obj.get("spec", {}).get("flows") or ()
    return {flow["name"]: tuple((flow.get("dependsOn") or {}).get("targets") or ()) for flow in flows}
