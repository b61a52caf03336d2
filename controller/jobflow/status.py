"""Say what is so: a JobFlow's whole status, as Volcano's design document fills it, and the fields beyond Volcano's.

Equal snapshots give equal statuses, and the status of a snapshot that holds the status just stored is that status.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from controller.jobflow.explain import explain
from controller.jobflow.histories import record
from controller.jobflow.phase import phase_of
from controller.jobflow.progress import LOST, Progress
from controller.jobflow.snapshot import Snapshot
from controller.workloads.volcano_job import LIST_OF_PHASE
from shared.api.job import Job, JobPhase
from shared.api.jobflow import Condition, JobFlowStatus, JobStatus, Phase, State
from shared.api.times import format_time
from shared.flow.names import child_name

WAITING: Final = "Waiting"
"""Phase in `status.conditions` of an entry whose Job is not created yet (Volcano's design document)."""


DONE: Final = (Phase.SUCCEED, Phase.FAILED)


class _Known(NamedTuple):
    """A Job that was created for this JobFlow: its state, and its last sight where there is one."""

    state: str
    job: Job | None


def observe(seen: Snapshot, progress: Progress) -> JobFlowStatus:
    """The status that is true of this snapshot.

    One that has finished, and of whose Jobs nothing is to be seen, has nothing new to tell: what another controller, or
    an earlier version, has not told of it then cannot be known any more.
    """
    before = seen.jobflow.status
    if before.state.phase in DONE and not (seen.jobs or seen.departed or seen.absent):
        return before
    known = _known(seen, progress)
    phase = phase_of(seen, progress)
    reason, message = explain(seen, progress, phase)
    lists: dict[str, list[str]] = {name: [] for name in ("unknown_jobs", *LIST_OF_PHASE.values())}
    for name in sorted(known):
        lists[LIST_OF_PHASE.get(known[name].state, "unknown_jobs")].append(name)
    done = phase in DONE
    return JobFlowStatus(
        **{name: tuple(jobs) for name, jobs in lists.items()},
        job_status_list=_records(seen, known),
        conditions=_conditions(seen, known),
        state=State(phase, reason, message),
        progress=f"{len(progress.completed)}/{progress.total}",
        observed_generation=seen.jobflow.metadata.generation or None,
        start_time=before.start_time or format_time(seen.now),
        completion_time=before.completion_time or (format_time(seen.now) if done else None),
    )


def _known(seen: Snapshot, progress: Progress) -> dict[str, _Known]:
    """Every Job that was ever created for this JobFlow, by name, in the order of `spec.flows`.

    Jobs of entries that somebody took out of the spec come last, and keep what was known of them.
    """
    known: dict[str, _Known] = {}
    for flow in seen.jobflow.flows:
        if (state := progress.states.get(flow.name)) is not None:
            name = child_name(seen.jobflow.name, flow.name)
            known[name] = _Known(state, seen.jobs.get(name) or seen.departed.get(name))
    for entry in seen.jobflow.status.job_status_list:
        if entry.name not in known:
            job = seen.jobs.get(entry.name) or seen.departed.get(entry.name)
            state = LOST if job is None and entry.name in seen.absent else job.phase if job else entry.state
            known[entry.name] = _Known(entry.state if entry.state == JobPhase.COMPLETED else state, job)
    for name in sorted(seen.jobs.keys() - known.keys()):
        known[name] = _Known(seen.jobs[name].phase, seen.jobs[name])
    return known


def _records(seen: Snapshot, known: dict[str, _Known]) -> tuple[JobStatus, ...]:
    before = {entry.name: entry for entry in seen.jobflow.status.job_status_list}
    return tuple(
        record(before.get(name), name, it.state, it.job, seen.now, passed=seen.passed.get(name, ()))
        for name, it in known.items()
    )


def _conditions(seen: Snapshot, known: dict[str, _Known]) -> dict[str, Condition]:
    before = seen.jobflow.status.conditions
    conditions = {name: _condition(before.get(name), it) for name, it in known.items()}
    for flow in seen.jobflow.flows:
        conditions.setdefault(child_name(seen.jobflow.name, flow.name), Condition(phase=WAITING))
    return conditions


def _condition(before: Condition | None, it: _Known) -> Condition:
    if it.job is None:
        return replace(before or Condition(), phase=it.state)
    status = it.job.status
    return Condition(
        phase=it.state,
        create_time=it.job.metadata.creation_timestamp,
        running_duration=status.running_duration,
        task_status_count=status.task_status_count or None,
    )


def is_worth_storing_at_once(stored: JobFlowStatus, seen: Snapshot, progress: Progress) -> bool:
    """A change of phase, and a completion that may soon have no other witness than the status.

    A Job with a TTL, and one that is being deleted, may be gone before the next write; were the controller to stop in
    between, a Job that was Completed would look lost.
    """
    if phase_of(seen, progress) != stored.state.phase:
        return True
    witnesses = [
        job
        for jobs in (seen.jobs, seen.departed)
        for job in jobs.values()
        if jobs is seen.departed or job.spec.ttl_seconds_after_finished is not None or job.metadata.is_deleting
    ]
    if not witnesses:
        return False
    remembered = {entry.name for entry in stored.job_status_list if entry.state == JobPhase.COMPLETED}
    return any(job.phase == JobPhase.COMPLETED and job.name not in remembered for job in witnesses)
