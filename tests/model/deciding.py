"""The controller's own code, asked what it decides in a state of the model."""

from typing import NamedTuple

from msgspec.structs import replace

from controller.jobflow import phase, plan, progress, status
from controller.jobflow.explain import GONE as IT_IS_GONE
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.status_patch import differs
from controller.workloads.volcano_job import LIST_OF_PHASE
from shared.api.job import FINAL, Job, JobPhase
from shared.api.jobflow import JobFlow, JobFlowStatus, JobStatus
from shared.api.jobflow import State as StoredState
from shared.flow.names import child_name
from tests.model.graphs import Graph
from tests.model.state import GONE, Entry, State
from tests.support.builders import a_jobflow, a_jobtemplate
from tests.support.seeing import NOON, a_job


class Decision(NamedTuple):
    """What one pass would do."""

    starts: tuple[int, ...]
    status: JobFlowStatus
    states: tuple[str | None, ...]
    """What `status` says of each entry; None for those that it does not list."""
    leftovers: tuple[int, ...]
    """The Jobs that are deleted now, for what the status that is stored says."""
    settled: State
    """What is so once all of it has taken effect."""
    again: str
    """What a second pass would still do then; empty where that is nothing."""


class Controller:
    """The pure half of the controller, for JobFlows of one graph with the retain policy `delete`."""

    def __init__(self, graph: Graph) -> None:
        names = "abcd"[: len(graph)]
        flows = [f"{names[i]}: {' '.join(names[target] for target in targets)}" for i, targets in enumerate(graph)]
        self.jobflow = a_jobflow(*reversed(flows), policy="delete", metadata={"generation": 1})
        self.names = names
        self.jobs = [child_name("etl", name) for name in names]
        self._templates = {name: a_jobtemplate(name) for name in names}
        self._seen_jobs: dict[tuple[int, str], Job] = {}
        self._number = {name: number for number, name in enumerate(names)}

    def snapshot(self, state: State, *, jobflow: JobFlow | None = None, is_deleting: bool = False) -> Snapshot:
        """What the controller sees once it has asked the API server for the Jobs that it misses."""
        jobflow = jobflow or self._stored(state, is_deleting=is_deleting)
        seen = Snapshot(
            jobflow=jobflow,
            now=NOON,
            jobs={self.jobs[i]: self._job(i, it.job) for i, it in enumerate(state.entries) if it.exists},
            templates=self._templates,
            departed={
                self.jobs[i]: self._job(i, it.sight) for i, it in enumerate(state.entries) if it.sight is not None
            },
            absent={},
            strangers=frozenset(),
            problems={},
        )
        missed = progress.unaccounted(seen)
        if not missed:
            return seen
        return Snapshot(
            jobflow, NOON, seen.jobs, seen.templates, seen.departed, dict.fromkeys(missed, IT_IS_GONE), frozenset(), {}
        )

    def starts(self, seen: Snapshot) -> tuple[int, ...]:
        """The entries whose Jobs are created."""
        known = progress.progress_of(seen)
        return tuple(self._number[create.flow] for create in plan.starts(seen, known))

    def status(self, seen: Snapshot) -> JobFlowStatus:
        """The status that is stored."""
        return status.observe(seen, progress.progress_of(seen))

    def phase(self, seen: Snapshot) -> str:
        """The phase in it."""
        return phase.phase_of(seen, progress.progress_of(seen))

    def _leftovers(self, seen: Snapshot) -> tuple[int, ...]:
        return tuple(self.jobs.index(job.name) for job in plan.leftovers(seen, seen.jobflow))

    def states(self, told: JobFlowStatus) -> tuple[str | None, ...]:
        listed = {entry.name: entry.state for entry in told.job_status_list}
        return tuple(listed.get(job) for job in self.jobs)

    def decide(self, state: State) -> Decision:
        """What one pass does in this state, and whether one is enough."""
        seen = self.snapshot(state)
        starts = self.starts(seen)
        told = self.status(seen)
        settled, again = self._a_whole_pass(state, starts, told)
        return Decision(starts, told, self.states(told), self._leftovers(seen), settled, again)

    def _a_whole_pass(self, state: State, starts: tuple[int, ...], told: JobFlowStatus) -> tuple[State, str]:
        """The state once all that one pass decides has taken effect, and what a second one would do after that."""
        for number in starts:
            state = created(state, number)
        if starts:
            told = self.status(self.snapshot(state))
        state = stored(state, told.state.phase, self.states(told))
        jobflow = replace(self._stored(state), status=told)
        seen = self.snapshot(state, jobflow=jobflow)
        if deleted := self._leftovers(seen):
            for number in deleted:
                state = gone(state, number)
            seen = self.snapshot(state, jobflow=jobflow)
        if again := self.starts(seen):
            return state, f"creates {again}"
        if differs(told, then := self.status(seen)):
            return state, f"writes another status: {then} after {told}"
        if left := self._leftovers(seen):
            return state, f"deletes {left}"
        return state, ""

    def _job(self, number: int, in_phase: str) -> Job:
        key = number, in_phase
        if key not in self._seen_jobs:
            self._seen_jobs[key] = a_job(
                self.jobflow,
                self.names[number],
                in_phase,
                state={"phase": in_phase, "lastTransitionTime": "2026-03-01T11:30:00Z"},
            )
        return self._seen_jobs[key]

    def _stored(self, state: State, *, is_deleting: bool = False) -> JobFlow:
        listed = tuple(
            JobStatus(name=self.jobs[i], state=it.stored) for i, it in enumerate(state.entries) if it.stored is not None
        )
        metadata = self.jobflow.metadata
        if is_deleting:
            metadata = replace(metadata, deletion_timestamp="2026-03-01T11:59:00Z")
        lists: dict[str, list[str]] = {}
        for entry in sorted(listed, key=lambda it: it.name):
            lists.setdefault(LIST_OF_PHASE.get(entry.state, "unknown_jobs"), []).append(entry.name)
        completed = sum(entry.state == JobPhase.COMPLETED for entry in listed)
        told = JobFlowStatus(
            job_status_list=listed,
            state=StoredState(state.phase),
            progress=f"{completed}/{len(state.entries)}",
            **{name: tuple(jobs) for name, jobs in lists.items()},
        )
        return replace(self.jobflow, metadata=metadata, status=told)


def created(state: State, number: int) -> State:
    """A create has taken effect. The Job is new, and so is what the controller knows of it."""
    return state.with_entry(number, Entry(job="", stored=state.entries[number].stored))


def gone(state: State, number: int) -> State:
    """A Job goes, and the controller sees it go."""
    entry = state.entries[number]
    broke = entry.broke or entry.job not in FINAL
    return state.with_entry(number, entry._replace(job=GONE, sight=entry.job, broke=broke))


def stored(state: State, in_phase: str, states: tuple[str | None, ...]) -> State:
    """A status write has taken effect. What it tells of the ends of Jobs that have gone is remembered no longer."""

    def told(entry: Entry, listed: str | None) -> Entry:
        is_told = listed in FINAL or listed == progress.LOST
        return entry._replace(stored=listed, sight=None if is_told else entry.sight)

    return State(in_phase, tuple(told(it, listed) for it, listed in zip(state.entries, states, strict=True)))
