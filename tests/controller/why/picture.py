"""Pictures for tests of the answer: facts from a JobFlow in short words, and snapshots of any state that may be."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from controller.jobflow.snapshot import Problem, Snapshot
from controller.why.facts import Facts, Run
from shared.api.jobflow import JobFlow
from shared.flow.names import child_name
from tests.support.builders import a_jobflow
from tests.support.seeing import NOON, a_job, seeing

MADE = "2026-03-01T11:50:00Z"
"""Ten minutes before NOON."""

STATES = ("", "Pending", "Running", "Restarting", "Completing", "Completed", "Aborted", "Failed", "Terminated", "Lost")


def a_running_jobflow(*flows: str, phase: str = "Running", **about: Any) -> JobFlow:
    """A JobFlow that a controller has looked at."""
    metadata = {"creationTimestamp": MADE, "generation": 1, **about.pop("metadata", {})}
    state = {"phase": phase, **about.pop("state", {})}
    status = {"state": state, "observedGeneration": 1, "startTime": MADE, **about.pop("status", {})}
    return a_jobflow(*flows, metadata=metadata, status=status, **about)


def facts_of(jobflow: JobFlow, *, runs: dict[str, list[float]] | None = None, **about: Any) -> Facts:
    """Facts about `jobflow`; `runs` are the seconds of earlier runs by template, the rest is what `seeing` takes."""
    own = {name: about.pop(name) for name in ("estimates", "events", "said", "leases", "unread") if name in about}
    earlier = {name: [Run(seconds, NOON) for seconds in each] for name, each in (runs or {}).items()}
    return Facts(seeing(jobflow, **about), runs=earlier, **own)


def running(jobflow: JobFlow, flow: str, phase: str = "Running", *, since: str = "11:57", **fields: Any) -> Any:
    """A Job that was created, and came to its phase, at that time of the day."""
    at = f"2026-03-01T{since}:00Z"
    conditions = [{"status": phase, "lastTransitionTime": at}]
    metadata = {"creationTimestamp": fields.pop("created", at), **fields.pop("metadata", {})}
    return a_job(jobflow, flow, phase, metadata=metadata, conditions=conditions, **fields)


@st.composite
def snapshots(draw: st.DrawFn, most: int = 6) -> Snapshot:
    """Any state of a JobFlow with an acyclic graph, those that no controller would lead to among them."""
    names = [f"n{i}" for i in range(draw(st.integers(1, most)))]
    flows = []
    for i, name in enumerate(names):
        targets = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else []
        flows.append(f"{name}: {' '.join(targets)}")
    phase = draw(st.sampled_from(["", "Pending", "Running", "Running", "Failed", "Succeed", "Succeed", "Terminating"]))
    deleted = {"deletionTimestamp": MADE} if draw(st.integers(0, 9)) == 0 else {}
    jobflow = a_running_jobflow(*draw(st.permutations(flows)), phase=phase, metadata=deleted)
    states = {name: draw(st.sampled_from([None, None, *STATES])) for name in names}
    exist = {name for name in names if draw(st.integers(0, 3))}
    unstarted = [name for name in names if states[name] is None]
    strangers = {name for name in unstarted if draw(st.integers(0, 4)) == 0}
    seen = seeing(
        jobflow,
        templates=exist,
        strangers=strangers,
        absent={name: "it is gone" for name in names if states[name] == "Lost"},
        faults=draw(st.sampled_from([(), (), (), ("spec.flows: something",)])),
        **{name: state for name, state in states.items() if state not in (None, "Lost")},
    )
    problems = {
        name: Problem(draw(st.sampled_from(["JobRefused", "JobNameConflict"])), "no", f"uid-of-{name}/0", waits)
        for name in unstarted
        if draw(st.integers(0, 4)) == 0
        for waits in [draw(st.booleans())]
    }
    return replace(seen, problems=problems)


def with_job(seen: Snapshot, flow: str, phase: str) -> Snapshot:
    """The same, but that the entry's own Job is there in that phase."""
    name = child_name(seen.jobflow.name, flow)
    jobs = {**seen.jobs, name: a_job(seen.jobflow, flow, phase)}
    absent = {job: why for job, why in seen.absent.items() if job != name}
    return replace(seen, jobs=jobs, absent=absent, strangers=seen.strangers - {name})
