"""What must hold in every state of the model: the controller's invariants, said anew and without its code."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from controller.jobflow.progress import LOST
from shared.api.job import FINAL, JobPhase
from tests.model.deciding import Decision
from tests.model.state import GONE, NEVER, State

if TYPE_CHECKING:
    from tests.model.space import Space

BAD: Final = {JobPhase.FAILED, JobPhase.TERMINATED, LOST}
BEGUN: Final = {JobPhase.RUNNING, JobPhase.COMPLETING, JobPhase.COMPLETED, JobPhase.RESTARTING}
FINISHED: Final = {"Succeed", "Failed", "Terminating"}
MAY_FOLLOW: Final = {
    "": {"Pending", "Running", "Succeed", "Failed"},
    "Pending": {"Pending", "Running", "Succeed", "Failed"},
    "Running": {"Running", "Succeed", "Failed"},
    "Succeed": {"Succeed"},
    "Failed": {"Failed"},
}
LIST: Final = {
    "": "pending_jobs",
    "Pending": "pending_jobs",
    "Running": "running_jobs",
    "Failed": "failed_jobs",
    "Completed": "completed_jobs",
    "Completing": "completed_jobs",
    "Terminated": "terminated_jobs",
    "Terminating": "terminated_jobs",
}
LISTS: Final = (*dict.fromkeys(LIST.values()), "unknown_jobs")


def broken(space: "Space", state: State, decision: Decision) -> Iterator[str]:
    """The rules that the controller breaks if it does in this state what it decides."""
    yield from _creates(space, state, decision)
    yield from _status(space, state, decision)
    yield from _deletes(state, decision)
    if decision.again:
        yield f"I9: a second pass is not idle: {decision.again}"


def _creates(space: "Space", state: State, decision: Decision) -> Iterator[str]:
    entries = state.entries
    for number in decision.starts:
        if not all(entries[target].completed for target in space.graph[number]):
            yield f"I1: {number} is created before all that it depends on was Completed"
        entry = entries[number]
        known_window = entry.job == GONE and entry.sight is None and entry.stored is None
        if entry.job != NEVER and not known_window:
            yield f"I2: {number} is created twice"
    if decision.starts and (state.phase in FINISHED or decision.status.state.phase in FINISHED):
        yield f"I3: {decision.starts} are created for a JobFlow that has finished"
    deleting = space.controller.snapshot(state, is_deleting=True)
    if space.controller.starts(deleting):
        yield "I3: something is created for a JobFlow that is being deleted"
    if space.controller.phase(deleting) != "Terminating":
        yield "I4: a JobFlow that is being deleted is not Terminating"
    due = [
        number
        for number, entry in enumerate(entries)
        if entry.job == NEVER and all(decision.states[target] == JobPhase.COMPLETED for target in space.graph[number])
    ]
    if decision.status.state.phase not in FINISHED and not set(due) <= set(decision.starts):
        yield f"L1: {due} may start, and only {decision.starts} do"


def _status(space: "Space", state: State, decision: Decision) -> Iterator[str]:
    states, told = decision.states, decision.status
    expected = tuple(_true_state(space, state, number) for number in range(len(state.entries)))
    if states != expected:
        yield f"I12: the status says {states}, and it is {expected}"
    listed = {
        name: LIST.get(it, "unknown_jobs")
        for name, it in zip(space.controller.jobs, states, strict=True)
        if it is not None
    }
    for each in LISTS:
        if list(getattr(told, each)) != sorted(name for name, where in listed.items() if where == each):
            yield f"I12: {each} is {getattr(told, each)}, and the Jobs are {states}"
    after = told.state.phase
    if after not in MAY_FOLLOW[state.phase]:
        yield f"I4: {state.phase or 'no phase'} becomes {after}"
    if after == "Succeed" and not all(entry.completed for entry in state.entries):
        yield "I5: Succeed though a Job was not Completed"
    broke = any(entry.broke or entry.is_lost_to_sight for entry in state.entries)
    if after == "Failed" != state.phase and not broke:
        yield "I5: Failed though no Job failed, was terminated or lost"
    if after != (due := _due_phase(state.phase, states)):
        yield f"I4: the phase is {after}, and {due} is due"
    if told.progress != f"{states.count(JobPhase.COMPLETED)}/{len(states)}":
        yield f"I12: the progress is {told.progress}"


def _deletes(state: State, decision: Decision) -> Iterator[str]:
    for number in decision.leftovers:
        if state.phase != "Succeed":
            yield f"I6: {number} is deleted while {state.phase or 'no phase'} is stored"
        if state.entries[number].job != JobPhase.COMPLETED:
            yield f"I6: {number} is deleted and is {state.entries[number].job}"


def _true_state(space: "Space", state: State, number: int) -> str | None:
    """What a status has to say of an entry, None where no Job of it is known."""
    entry = state.entries[number]
    if entry.stored == JobPhase.COMPLETED:
        return entry.stored
    if entry.exists:
        return entry.job
    for end in (entry.sight, entry.stored):
        if end in FINAL:
            return end
    known = [state.entries[later] for later in space.after[number]]
    if any(it.exists or it.sight is not None or it.stored is not None for it in known):
        return JobPhase.COMPLETED
    return None if entry.sight is None and entry.stored is None else LOST


def _due_phase(before: str, states: tuple[str | None, ...]) -> str:
    if before in FINISHED:
        return before
    if all(it == JobPhase.COMPLETED for it in states):
        return "Succeed"
    if BAD & set(states):
        return "Failed"
    return "Running" if before == "Running" or BEGUN & set(states) else "Pending"
