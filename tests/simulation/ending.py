"""Judge how a run has ended: every JobFlow where it belongs, the status true, the counters right, no program harmed."""

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import msgspec

from shared.api.meta import Key
from shared.kube.resources import JOBFLOWS, JOBS, JOBTEMPLATES, Resource
from tests.simulation.oracle import LISTS
from tests.simulation.store import Object, is_deleting, key_of, owner_of, owner_uid, phase_of
from tests.simulation.truth import FAILURES, FlowTruth
from tests.simulation.users import NAMESPACE

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

RESOURCES: dict[str, Resource[Any]] = {"jobflows": JOBFLOWS, "jobtemplates": JOBTEMPLATES, "jobs": JOBS}
LIST_OF = {
    "": "pendingJobs",
    "Pending": "pendingJobs",
    "Running": "runningJobs",
    "Failed": "failedJobs",
    "Completed": "completedJobs",
    "Completing": "completedJobs",
    "Terminated": "terminatedJobs",
    "Terminating": "terminatedJobs",
}
FROM = "volcano.sh/createdByJobTemplate"


def unsettled(sim: "Simulation") -> list[str]:
    """What is not yet as it is to be in the end. Nothing, once everything has come to its end."""
    left = [f"{flow.name}: {what}" for flow in sim.oracle.truth.present() for what in _of_flow(sim, flow)]
    for job in sim.store.objects["jobs"].values():
        owner = owner_of(job)
        if is_deleting(job):
            left.append(f"Job {key_of(job).name} is being deleted")
        if owner and owner["kind"] == "JobFlow" and sim.store.find("jobflows", owner["uid"]) is None:
            left.append(f"Job {key_of(job).name} is an orphan")
    if sim.loop.time() < sim.volcano.busy_until:
        left.append("Jobs are at work")
    return left + list(_templates(sim)) + list(_programs(sim))


def _programs(sim: "Simulation") -> Iterator[str]:
    for replica in sim.replicas:
        if replica.process is None or not replica.is_up:
            yield f"{replica.name} is not up"
        elif not sim.api.is_followed(replica.process):
            yield f"{replica.name} does not know all there is"


def _of_flow(sim: "Simulation", flow: FlowTruth) -> Iterator[str]:
    obj = flow.latest
    phase, jobs = flow.phase(), _own_jobs(sim, flow)
    if is_deleting(obj):
        yield f"is being deleted still, in phase {phase}"
        return
    if phase == "Terminating" or (flow.tampered and phase in ("Succeed", "Failed")):
        return  # a hand has written it, and a finished JobFlow stays finished
    if phase == "Succeed" and flow.policy == "delete":
        left = [
            name for name in jobs if phase_of(jobs[name]) == "Completed" and name in map(flow.job_name, flow.entries)
        ]
        if left:
            yield f"{left} should have been deleted"
    if phase not in ("Succeed", "Failed"):
        yield from _unfinished(sim, flow, obj, jobs)
    yield from _status(sim, flow, obj.get("status") or {}, jobs)


def _unfinished(sim: "Simulation", flow: FlowTruth, obj: Object, jobs: dict[str, Object]) -> Iterator[str]:
    """Why a JobFlow that is not finished ought to be further."""
    if not is_sound(obj):
        said = ((obj.get("status") or {}).get("state") or {}).get("reason")
        if said not in ("SpecInvalid", "JobFailed", "JobLost") and not sim.plan.volcanos_crd:
            yield f"its spec is invalid, and it says {said}"
        return
    states = {entry: _state(sim, flow, entry, jobs) for entry in flow.entries}
    if any(state in (*FAILURES, "Lost") for state in states.values()):
        yield f"is {flow.phase() or 'nothing'}, with {states}"
    if states and all(state == "Completed" for state in states.values()):
        yield f"is {flow.phase() or 'nothing'}, and all have completed"
    for entry, targets in flow.entries.items():
        ready = states[entry] is None and all(states[target] == "Completed" for target in targets)
        if ready and not _is_held_up(sim, flow, entry):
            yield f"{entry} should have been started"


def _state(sim: "Simulation", flow: FlowTruth, entry: str, jobs: dict[str, Object]) -> str | None:
    """The state of an entry that is true, None if its Job was never created, as far as anybody can know."""
    own, name = flow.own(entry), flow.job_name(entry)
    if not own or _unseen(sim, flow, name):
        return None
    if name in jobs:
        return phase_of(jobs[name])
    told = {it["name"]: it.get("state") for it in flow.latest.get("status", {}).get("jobStatusList", ())}.get(name)
    if any("Completed" in job.phases for job in own):
        return "Completed" if told == "Completed" else told or "Completed"
    ends = {phase for job in own for phase in job.phases if phase in FAILURES}
    return ends.pop() if ends else "Lost"


def _is_held_up(sim: "Simulation", flow: FlowTruth, entry: str) -> bool:
    key = Key(NAMESPACE, flow.job_name(entry))
    return (
        Key(NAMESPACE, entry) not in sim.store.objects["jobtemplates"]
        or key in sim.store.objects["jobs"]
        or any(key.name.endswith(ending) for ending in sim.users.refused)
    )


def _own_jobs(sim: "Simulation", flow: FlowTruth) -> dict[str, Object]:
    every = sim.store.objects["jobs"].values()
    return {
        key_of(job).name: job
        for job in every
        if owner_uid(job) == flow.uid and job["metadata"]["uid"] in sim.oracle.truth.jobs
    }


def _status(sim: "Simulation", flow: FlowTruth, status: Any, jobs: dict[str, Object]) -> Iterator[str]:
    """What the status says that is not so."""
    told = {entry["name"]: entry.get("state", "") for entry in status.get("jobStatusList") or ()}
    lists = {name: listed for listed in LISTS for name in status.get(listed) or ()}
    for name, job in jobs.items():
        phase = phase_of(job)
        if told.get(name) != phase and told.get(name) != "Completed":
            yield f"{name} is {phase or 'new'} and is told to be {told.get(name)}"
        if told.get(name) == phase and lists.get(name) != LIST_OF.get(phase, "unKnowJobs"):
            yield f"{name} is {phase} and is in {lists.get(name)}"
    for name in flow.jobs:
        if name not in told and not flow.tampered and not _unseen(sim, flow, name):
            yield f"{name} was created and is not told of"


def _unseen(sim: "Simulation", flow: FlowTruth, name: str) -> bool:
    """The Jobs of that name came and went, and nobody who works was ever shown one: the known window."""
    if name in flow.listed or not all(job.lost for job in flow.jobs[name]):
        return False
    holders = {lease["spec"].get("holderIdentity") for lease in sim.store.objects["leases"].values()}
    at_work = [it.process for it in sim.replicas if it.process and (not sim.plan.lease or it.process.name in holders)]
    running = [sim.oracle.knowledge(process) for process in at_work]
    return all(not any(job.uid in known.jobs for job in flow.jobs[name]) for known in running)


def _templates(sim: "Simulation") -> Iterator[str]:
    made: dict[str, list[str]] = {}
    for job in sim.store.objects["jobs"].values():
        owner = owner_of(job)
        source = (job["metadata"].get("annotations") or {}).get(FROM)
        if owner and owner["kind"] == "JobFlow" and source:
            made.setdefault(source.partition(".")[2], []).append(key_of(job).name)
    for key, template in sim.store.objects["jobtemplates"].items():
        told = (template.get("status") or {}).get("jobDependsOnList") or []
        if told != sorted(made.get(key.name, [])):
            yield f"template {key.name} tells of {told}, and there are {sorted(made.get(key.name, []))}"


def is_sound(obj: Object) -> bool:
    """The spec can be run: unique names, known targets, no cycle."""
    flows = obj.get("spec", {}).get("flows") or []
    names = [flow["name"] for flow in flows]
    graph = {flow["name"]: (flow.get("dependsOn") or {}).get("targets") or [] for flow in flows}
    if len(set(names)) != len(names) or any(target not in graph for targets in graph.values() for target in targets):
        return False
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return bool(names)


def check_programs(sim: "Simulation") -> None:
    """Counters (I8), caches (I11), and whether anything failed in a way that was not foreseen."""
    happened = Counter(after for _, _, after in sim.oracle.truth.transitions)
    for phase in ("Succeed", "Failed"):
        name = f"volcano_jobflow_{phase.lower()}_phase_count"
        counted = sum(_counted(registry, name) for replica in sim.replicas for registry in replica.registries)
        if counted > happened[phase]:
            sim.oracle.wrong("I8", f"{counted} counted as {phase}, and {happened[phase]} were")
    for replica in sim.replicas:
        for _, controller, main in replica.all:
            for resource, informer in controller.informers.items():
                _check_cache(sim, resource, informer.cache)
            if not main.done():
                sim.oracle.wrong("end", f"{main.get_name()} does not end")
    for fault in (*sim.loop.faults, *(fault for replica in sim.replicas for fault in replica.faults)):
        sim.oracle.wrong("end", fault)


def _check_cache(sim: "Simulation", resource: str, cache: Any) -> None:
    """What a cache holds is to the letter what the API server once answered."""
    for cached in cache:
        body = sim.store.bodies.get((resource, cached.metadata.resource_version), b"{}")
        if msgspec.json.encode(RESOURCES[resource].decode(body)) != msgspec.json.encode(cached):
            sim.oracle.wrong("I11", f"{resource} {cached.name} in a cache was changed")


def _counted(registry: Any, name: str) -> int:
    counters = registry.counters
    return sum(int(sample.value) for family in counters.collect() if family.name == name for sample in family.samples)
