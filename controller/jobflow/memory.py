"""What a pass over a JobFlow leaves for the next one, besides what is stored.

All of it is of the last seconds and can be lost: the cluster has the truth, and tells it again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from controller.jobflow.actions import Created, Outcome, RefusedJob
from controller.jobflow.cluster import Stored
from controller.jobflow.explain import JOB_REFUSED, NAME_CONFLICT
from controller.jobflow.progress import LOST, Progress
from controller.jobflow.shape import Shape, shape_of
from controller.jobflow.snapshot import Problem, Snapshot, Step
from controller.jobflow.writes import pause_after, retry_after
from shared.api.job import FINAL, Job
from shared.api.jobflow import Flow, JobFlow
from shared.kube.cache import is_newer

LAG: Final = 5.0
"""Seconds that a cache may take to show a Job that this process has created, before the API server is asked for it.

A busy API server lets a watch lag for a second or two, and to ask it for each of a thousand Jobs makes it no faster."""


@dataclass(slots=True)
class Refusal:
    """The attempts to create an entry's Job that failed in a row. `retry_at` is on the monotonic clock."""

    problem: Problem
    attempts: int
    retry_at: float


class Look(NamedTuple):
    """What was seen of a JobFlow when it was last looked at."""

    seen: Snapshot
    progress: Progress

    shape: Shape

    at: float
    """When everything was looked at, on the monotonic clock."""

    ripe: tuple[Flow, ...] | None
    """The entries that something was completed for since the look before; None where everything was looked at."""


@dataclass(slots=True)
class Memory:
    """What is remembered of one JobFlow, by its uid. Moments are on the monotonic clock, in seconds."""

    created: dict[str, tuple[Job, float]] = field(default_factory=dict)
    """Own Jobs as the API server answered them, until the cache shows them; and when."""

    departed: dict[str, Job] = field(default_factory=dict)
    """Own Jobs that have gone, as they were last seen, until the status tells what became of them."""

    deleted: set[str] = field(default_factory=set)
    """Uids of own Jobs that this process has deleted and that have not been seen to go."""

    passed: dict[str, list[Step]] = field(default_factory=dict)
    """Phases that own Jobs were seen in and that no stored status tells yet, of Jobs that keep no record themselves.

    Volcano's Jobs keep one (`status.conditions`)."""

    refusals: dict[str, Refusal] = field(default_factory=dict)
    """By entry name."""

    look: Look | None = None
    """The last look, and what has changed since."""

    news: set[str] = field(default_factory=set)
    """Names of own Jobs that have changed since the last look."""

    all_is_news: bool = False
    """Something has changed since the last look that is more than an own Job's phase."""

    newest: JobFlow | None = None
    """The JobFlow as the API server answered it, until the cache is as new."""

    confirmed: JobFlow | None = None
    """The JobFlow as the last live look showed it."""

    confirmed_at: float | None = None
    """When that look was asked for."""

    written_at: float | None = None
    pause: float = 0.0
    """Seconds from the last write of the status to the next that is not urgent."""

    written_version: str = ""
    """The resourceVersion that this process gave the JobFlow last."""

    besides: int = 0
    """Bytes of JSON that the object takes besides its status, when it was last measured."""

    faults: tuple[str, tuple[str, ...]] | None = None
    """What is wrong with the spec, and of which generation."""

    shape: tuple[int, Shape] | None = None
    """What the spec says, and of which generation."""

    def shape_of(self, jobflow: JobFlow) -> Shape:
        """What the JobFlow's spec says; arranged once for each spec."""
        generation = jobflow.metadata.generation
        if self.shape is None or self.shape[0] != generation:
            self.shape = generation, shape_of(jobflow)
        return self.shape[1]

    def latest(self, cached: JobFlow) -> JobFlow:
        """The JobFlow as the cache has it, or as this process has since seen it."""
        if self.newest and not is_newer(self.newest, cached):
            self.newest = None
        return self.newest or cached

    def learn(self, live: Stored, asked_at: float, status_size: int, *, over: JobFlow | None = None) -> None:
        """Take in the JobFlow as the API server has answered it.

        After a guarded write `over` is what was written over: where a look that was asked for later than the write
        still showed it, the write took effect after that, and its answer is no older than the look.
        """
        if self.newest and is_newer(self.newest, live.jobflow):
            return  # a slow answer, which a later one has overtaken
        if over is not None and self.confirmed is over and self.confirmed_at is not None:
            asked_at = max(asked_at, self.confirmed_at)
        self.newest = live.jobflow
        self.confirm(live.jobflow, asked_at)
        self.besides = max(0, live.size - status_size)

    def confirm(self, known: JobFlow, asked_at: float) -> None:
        """The API server, asked at that moment, has answered that the JobFlow is as it is known."""
        if self.confirmed is known and self.confirmed_at is not None:
            asked_at = max(asked_at, self.confirmed_at)
        self.confirmed, self.confirmed_at = known, asked_at

    def own_jobs(self, cached: dict[str, Job], bearer: Callable[[str], Job | None], now: float) -> dict[str, Job]:
        """The JobFlow's own Jobs: those of the cache, and those that it does not show yet.

        `bearer` is the Job that the cache shows under a name, whoever owns it. What the cache has not shown for a
        while, or shows as somebody else's, counts as gone, which makes somebody ask the API server.
        """
        for name, (job, at) in list(self.created.items()):
            if name in cached or (name in self.departed and self.departed[name].uid == job.uid):
                del self.created[name]
            elif now - at >= LAG or bearer(name):
                self.departed.setdefault(name, job)
                del self.created[name]
        for name in self.departed.keys() & cached.keys():
            del self.departed[name]
        return {**cached, **{name: job for name, (job, _) in self.created.items()}} if self.created else cached

    def unshown_for_long(self, now: float) -> float | None:
        """Seconds until a Job that was created counts as gone if the cache does not show it; None if it shows all."""
        return max(0.001, min(at for _, at in self.created.values()) + LAG - now) if self.created else None

    def found(self, jobs: Iterable[Job], now: float) -> None:
        """Take in own Jobs that a live read has found though the cache does not show them."""
        for job in jobs:
            self.created[job.name] = (job, now)
            self.departed.pop(job.name, None)
        self.all_is_news = True

    def take(self, outcome: Outcome, now: float, chance: float) -> None:
        """Remember how an attempt to create a Job turned out. `chance`, from 0 to 1, spreads the next attempts."""
        if isinstance(outcome, Created):
            self.created[outcome.job.name] = (outcome.job, now)
            self.news.add(outcome.job.name)
            self.refusals.pop(outcome.flow, None)
        elif isinstance(outcome, RefusedJob):
            self._refuse(
                outcome.flow, Problem(JOB_REFUSED, outcome.message, outcome.template_version, True), now, chance
            )
        else:
            self._refuse(outcome.flow, Problem(NAME_CONFLICT, "", outcome.template_version, True), now, chance)

    def _refuse(self, flow: str, problem: Problem, now: float, chance: float) -> None:
        attempts = self.refusals[flow].attempts + 1 if flow in self.refusals else 1
        self.refusals[flow] = Refusal(problem, attempts, now + retry_after(attempts) * (1 - chance / 4))

    def problems(self, now: float) -> dict[str, Problem]:
        """Why Jobs could not be created, and whether the next attempt has to wait."""
        return {
            flow: Problem(it.problem.reason, it.problem.message, it.problem.template_version, it.retry_at > now)
            for flow, it in self.refusals.items()
        }

    def wrote(self, jobflow: JobFlow, asked_at: float, now: float, size: int) -> None:
        """A status was stored, and the object has `size` bytes: what it tells need not be remembered."""
        self.written_at, self.pause = asked_at, pause_after(size, now - asked_at)
        self.written_version = jobflow.metadata.resource_version
        told = {entry.name for entry in jobflow.status.job_status_list if entry.state in FINAL or entry.state == LOST}
        for name in told & self.departed.keys():
            del self.departed[name]
        if self.passed:
            self._forget_what_is_told(jobflow)

    def saw(self, job: Job, at: str) -> None:
        """A Job was seen in a phase that it was not in before; `at` is now."""
        if job.phase and not job.status.conditions:
            step = Step(job.phase, job.status.state.last_transition_time or at)
            self.passed.setdefault(job.name, []).append(step)

    def steps(self) -> dict[str, tuple[Step, ...]]:
        """The phases that are yet to be told, by Job name."""
        return {name: tuple(steps) for name, steps in self.passed.items()}

    def _forget_what_is_told(self, jobflow: JobFlow) -> None:
        for entry in jobflow.status.job_status_list:
            if entry.name in self.passed:
                told = {(it.state, it.start_timestamp) for it in entry.running_histories}
                self.passed[entry.name] = [step for step in self.passed[entry.name] if step not in told]
                if not self.passed[entry.name]:
                    del self.passed[entry.name]

    def next_retry(self, seen: Snapshot, now: float) -> float | None:
        """Seconds until a Job that was refused may be tried again; None where none waits for that.

        What had its time when `seen` was looked at, and was not tried, waits for something else.
        """
        waiting = [
            it.retry_at for flow, it in self.refusals.items() if flow not in seen.problems or seen.problems[flow].waits
        ]
        return max(0.0, min(waiting) - now) if waiting else None

    def pause_left(self, now: float) -> float:
        """Seconds until a status that is not urgent may be written."""
        return 0.0 if self.written_at is None else self.written_at + self.pause - now
