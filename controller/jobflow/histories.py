"""Keep the record of one Job: an entry of `status.jobStatusList`, with the phases that it went through."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from controller.jobflow.progress import LOST
from controller.jobflow.snapshot import Step
from shared.api.job import FINAL, Job
from shared.api.jobflow import JobStatus, RunningHistory
from shared.api.times import format_time, parse_duration, parse_time


def record(
    before: JobStatus | None, name: str, state: str, job: Job | None, now: datetime, *, passed: Sequence[Step] = ()
) -> JobStatus:
    """The record of a Job in `state`, going on from what was recorded `before`.

    `job` is the Job as it was last seen, None if it is only remembered; `passed` are phases that it was seen in since
    `before`. What was recorded stays; times are the Job's own transition times where it has them, else `now`. A
    finished Job has an end, and keeps it.
    """
    before = before or JobStatus(name=name)
    histories = _extended(before.running_histories, _news(before.running_histories, state, job, passed), now)
    if job is None:
        end = before.end_timestamp or (format_time(now) if state == LOST or state in FINAL else None)
        return replace(before, state=state, end_timestamp=end, running_histories=histories)
    return JobStatus(
        name=name,
        state=state,
        start_timestamp=job.metadata.creation_timestamp or before.start_timestamp,
        end_timestamp=_end(before, state, job, now),
        restart_count=job.status.retry_count,
        running_histories=histories,
    )


def _news(recorded: tuple[RunningHistory, ...], state: str, job: Job | None, passed: Sequence[Step]) -> Sequence[Step]:
    """The phases that are not recorded yet: those that the Job says it went through, else those it was seen in."""
    present = Step(state, job.status.state.last_transition_time if job and job.phase == state else None)
    if job and job.status.conditions:
        steps = [Step(entry.status, entry.last_transition_time) for entry in job.status.conditions if entry.status]
        return _after(recorded, [*steps, present] if state and (not steps or steps[-1].state != state) else steps)
    told = {(it.state, it.start_timestamp) for it in recorded}
    seen = [step for step in passed if step not in told]
    last = seen[-1].state if seen else recorded[-1].state if recorded else ""
    return [*seen, present] if state and state != last else seen


def _extended(recorded: tuple[RunningHistory, ...], fresh: Sequence[Step], now: datetime) -> tuple[RunningHistory, ...]:
    if not fresh:
        return recorded
    histories = list(recorded)
    for step in fresh:
        start = step.time or format_time(now)
        if histories and histories[-1].end_timestamp is None:
            histories[-1] = replace(histories[-1], end_timestamp=start)
        histories.append(RunningHistory(start_timestamp=start, state=step.state))
    return tuple(histories)


def _after(recorded: tuple[RunningHistory, ...], steps: Sequence[Step]) -> Sequence[Step]:
    """The steps that come after the last one that is recorded.

    A step is the recorded one if phase and time agree. Where none does (the Job wrote no times, or forgot its
    beginning), what is later than the recorded one counts, and of steps without a time only the present one.
    """
    if not recorded:
        return steps
    last = recorded[-1]
    for i in range(len(steps) - 1, -1, -1):
        if steps[i].state == last.state and steps[i].time in (last.start_timestamp, None):
            return steps[i + 1 :]
    began = parse_time(last.start_timestamp)
    later = [step for step in steps if (at := parse_time(step.time)) and began and at > began]
    if later and later[0].state == last.state:
        later = later[1:]
    if not later and steps and steps[-1].state != last.state:
        return steps[-1:]
    return later


def _end(before: JobStatus, state: str, job: Job, now: datetime) -> str | None:
    """When the Job ended: None while it runs; once said it stays, for Volcano touches finished Jobs again."""
    if state not in FINAL and state != LOST:
        return None
    if before.end_timestamp and before.state == state:
        return before.end_timestamp
    if state == LOST:
        return format_time(now)
    if job.phase == state and job.status.state.last_transition_time:
        return job.status.state.last_transition_time
    start, ran = parse_time(job.metadata.creation_timestamp), parse_duration(job.status.running_duration)
    return format_time(start + ran if start and ran is not None else now)
