"""What a decision about one JobFlow may look at: a frozen picture, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One JobFlow and all that bears on it, at one moment.

    `jobs`, `departed`, `absent` and `strangers` are keyed by Job name, `templates` and `problems` by entry name.
    """

    jobflow: JobFlow
    now: datetime

    jobs: Mapping[str, Job]
    """The JobFlow's own Jobs, by the uid of their controlling owner."""

    templates: Mapping[str, JobTemplate]
    """The JobTemplates that exist, of those that the entries name."""

    departed: Mapping[str, Job]
    """Own Jobs that have gone, as they were last seen."""

    absent: Mapping[str, str]
    """Own Jobs that a live read did not find, with what it found instead."""

    strangers: frozenset[str]
    """Names of this JobFlow's Jobs that Jobs of somebody else bear."""

    problems: Mapping[str, "Problem"]
    """What came of the last attempt to create an entry's Job, where it failed."""

    passed: Mapping[str, tuple["Step", ...]] = field(default_factory=dict)
    """Phases that Jobs were seen in since the last write, by Job name, of Jobs that keep no record of their own."""

    faults: tuple[str, ...] = ()
    """What makes the spec impossible to run, in the webhook's words; empty for every JobFlow that passed it."""

    size: int = 0
    """Bytes of JSON that the object takes at the API server besides the status; 0 where nobody has measured it."""


class Step(NamedTuple):
    """A phase that a Job entered, and when, where that is known."""

    state: str
    time: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the Job of an entry could not be created when it was last tried."""

    reason: str
    message: str
    template_version: str
    """Which version of the JobTemplate it was tried with: another one is worth another attempt at once."""

    waits: bool
    """The time for the next attempt has not come."""
