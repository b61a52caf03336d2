"""Say for a person why a JobFlow is where it is: `status.state.reason` and `status.state.message`.

The gravest matter gives the reason, one CamelCase word as Kubernetes' conditions have it. The message names entries by
their names, the gravest first, and stays short enough for a column.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from controller.jobflow.progress import LOST, Progress
from controller.jobflow.snapshot import Snapshot
from shared.api.job import JobPhase
from shared.api.jobflow import Phase
from shared.flow.names import child_name

SPEC_INVALID: Final = "SpecInvalid"
JOB_FAILED: Final = "JobFailed"
JOB_LOST: Final = "JobLost"
NAME_CONFLICT: Final = "JobNameConflict"
JOB_REFUSED: Final = "JobRefused"
TEMPLATE_NOT_FOUND: Final = "TemplateNotFound"
JOB_SUSPENDED: Final = "JobSuspended"

GONE: Final = "it is gone"
NOT_OURS: Final = "the Job of that name is not, or not any more, of this JobFlow"

LONGEST: Final = 1024
"""Characters that a message may have."""

_NAMED: Final = 3
"""Entries that are named for one kind of matter; the rest are counted."""


class Matter(NamedTuple):
    """Something that a person would want to know about one entry."""

    reason: str
    text: str


def explain(seen: Snapshot, progress: Progress, phase: Phase) -> tuple[str | None, str | None]:
    """Reason and message of a JobFlow in `phase`; None for each where there is nothing to say."""
    said = matters(seen, progress, phase)
    if said:
        return next(iter(said)), shortened("; ".join(said.values()))
    return None, None if phase in (Phase.SUCCEED, Phase.TERMINATING) else _waits(seen, progress)


def matters(seen: Snapshot, progress: Progress, phase: Phase) -> Mapping[str, str]:
    """What is wrong with a JobFlow in `phase`, by reason, the gravest first; empty where nothing is."""
    if phase in (Phase.SUCCEED, Phase.TERMINATING):
        return {}
    found = list(_failures(seen, progress))
    if phase != Phase.FAILED:
        found += [Matter(SPEC_INVALID, fault) for fault in seen.faults] or list(_obstacles(seen, progress))
    texts: dict[str, list[str]] = {}
    for matter in found:
        texts.setdefault(matter.reason, []).append(matter.text)
    return {
        reason: "; ".join(all_[:_NAMED]) + (f"; and {len(all_) - _NAMED} more" if len(all_) > _NAMED else "")
        for reason, all_ in texts.items()
    }


def _failures(seen: Snapshot, progress: Progress) -> Iterator[Matter]:
    for flow, state in progress.states.items():
        name = child_name(seen.jobflow.name, flow)
        if state == LOST:
            found = NOT_OURS if name in seen.strangers else seen.absent.get(name, GONE)
            yield Matter(JOB_LOST, f'Job "{name}" was lost before it finished: {found}')
        elif state in (JobPhase.FAILED, JobPhase.TERMINATED):
            yield Matter(JOB_FAILED, f'Job "{name}" is {state}')


def _obstacles(seen: Snapshot, progress: Progress) -> Iterator[Matter]:
    """What only somebody outside can mend: conflicts, refusals, missing templates, Jobs that somebody has suspended."""
    unstarted = [flow.name for flow in seen.jobflow.flows if flow.name not in progress.states]
    for name in unstarted:
        job = child_name(seen.jobflow.name, name)
        problem = seen.problems.get(name)
        if job in seen.strangers or (problem and problem.reason == NAME_CONFLICT):
            yield Matter(NAME_CONFLICT, f'{name} waits: a Job "{job}" exists that is not of this JobFlow; delete it')
    for name in unstarted:
        problem = seen.problems.get(name)
        if problem and problem.reason == JOB_REFUSED and child_name(seen.jobflow.name, name) not in seen.strangers:
            yield Matter(JOB_REFUSED, f"{name} waits: {problem.message}")
    for name in unstarted:
        if name not in seen.templates:
            yield Matter(TEMPLATE_NOT_FOUND, f'{name} waits: JobTemplate "{name}" does not exist; create it')
    for name, state in progress.states.items():
        if state == JobPhase.ABORTED:
            yield Matter(
                JOB_SUSPENDED, f'Job "{child_name(seen.jobflow.name, name)}" is Aborted (suspended); resume it'
            )


def _waits(seen: Snapshot, progress: Progress) -> str | None:
    """What the entries wait for that only wait for others."""
    waiting = [flow for flow in seen.jobflow.flows if flow.name not in progress.states]
    texts = []
    for flow in waiting[:_NAMED]:
        left = [target for target in flow.targets if target not in progress.completed]
        if left:
            more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            texts.append(f"{flow.name} waits for {', '.join(left[:_NAMED])}{more}")
    if not texts:
        return None
    rest = len(waiting) - _NAMED
    return shortened("; ".join(texts) + (f"; {rest} more wait" if rest > 0 else ""))


def shortened(text: str) -> str:
    """`text` in one line, cut to `LONGEST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
