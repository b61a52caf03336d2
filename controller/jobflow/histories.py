"""Keep the record of one Job: an entry of `status.jobStatusList`, with the phases that it went through."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from controller.jobflow.progress import LOST
from shared.api.job import FINAL, Job
from shared.api.jobflow import JobStatus, RunningHistory
from shared.api.times import format_time, parse_duration, parse_time


class _Step(NamedTuple):
    """A phase that a Job entered, and when, where the Job says so."""

    state: str
    time: str | None


def record(before: JobStatus | None, name: str, state: str, job: Job | None, now: datetime) -> JobStatus:
    """The record of a Job in `state`, going on from what was recorded `before`.

    `job` is the Job as it was last seen, None if it is only remembered. What was recorded stays; times are the Job's
    own transition times where it has them, else `now`. A finished Job has an end, and keeps it.
    """
    before = before or JobStatus(name=name)
    histories = _extended(before.running_histories, _steps(state, job), now)
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


def _steps(state: str, job: Job | None) -> list[_Step]:
    """The phases that the Job says it went through, the present one last."""
    steps = []
    if job:
        steps = [
            _Step(entry.status, entry.last_transition_time) for entry in job.status.conditions or () if entry.status
        ]
    if state and (not steps or steps[-1].state != state):
        steps.append(_Step(state, job.status.state.last_transition_time if job and job.phase == state else None))
    return steps


def _extended(
    recorded: tuple[RunningHistory, ...], steps: Sequence[_Step], now: datetime
) -> tuple[RunningHistory, ...]:
    fresh = _after(recorded, steps)
    if not fresh:
        return recorded
    histories = list(recorded)
    for step in fresh:
        start = step.time or format_time(now)
        if histories and histories[-1].end_timestamp is None:
            histories[-1] = replace(histories[-1], end_timestamp=start)
        histories.append(RunningHistory(start_timestamp=start, state=step.state))
    return tuple(histories)


def _after(recorded: tuple[RunningHistory, ...], steps: Sequence[_Step]) -> Sequence[_Step]:
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
    if state not in FINAL:
        return None
    if before.end_timestamp and before.state == state:
        return before.end_timestamp
    if job.phase == state and job.status.state.last_transition_time:
        return job.status.state.last_transition_time
    start, ran = parse_time(job.metadata.creation_timestamp), parse_duration(job.status.running_duration)
    return format_time(start + ran if start and ran is not None else now)
