"""What valid tasks of a Job are: names, numbers, and what they wait for.

`topology.py` judges their partitions and policies of placement, and `pods.py` and others their pod templates.

Where Volcano's webhook fills in a default, that default is judged: a task without a name is `default0`, one without
`minAvailable` needs all its replicas, or those of as many partitions as it needs.
"""

from collections.abc import Iterator
from typing import Final

from shared.api.job_spec import JobTemplateInFull, Task
from shared.flow import names
from shared.rules.dependencies import Dependencies
from shared.rules.fault import (
    SPEC,
    Fault,
    FieldPath,
    duplicate,
    invalid,
    required,
    shown,
    too_long,
)
from shared.rules.room import A_LABEL, must_be_shorter, name_fault
from shared.rules.rule import Rule

MOST: Final = 2**31 - 1
"""The largest number of Volcano's fields, which have 32 bits."""


@Rule
def has_tasks(template: JobTemplateInFull) -> Iterator[Fault]:
    """A JobTemplate has at least one task."""
    if not template.tasks:
        yield required(SPEC / "tasks", "must have at least one task")


@Rule
def task_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """The name of a task is a DNS-1123 label of at most 63 characters."""
    for i, name, task in _first_of_each_name(template):
        if not task.name or names.is_label(name):
            continue
        if len(name) > names.LONGEST_LABEL:
            yield too_long(_task(i) / "name", names.LONGEST_LABEL)
        else:
            yield invalid(_task(i) / "name", name, f"must be {A_LABEL}")


@Rule
def task_names_are_unique(template: JobTemplateInFull) -> Iterator[Fault]:
    """Each task has a name of its own."""
    seen = set[str]()
    for i, task in enumerate(template.tasks):
        name = task_name(i, task)
        if name in seen:
            yield duplicate(_task(i) / "name", name)
        seen.add(name)


@Rule
def task_names_fit(template: JobTemplateInFull) -> Iterator[Fault]:
    """The Pods of a task, `<jobflow>-<template>-<task>-<n>`, have names of at most 63 characters in some JobFlow."""
    if not template.tasks:
        return
    room = names.LONGEST_POD - len(_pod_name("", "t", 0))
    own = name_fault(template.metadata, room, lambda name: _too_long(_pod_name(name, "t", 0), "even the shortest"))
    if own:
        yield own
        return
    for i, name, _ in _first_of_each_name(template):
        pod = _pod_name(names.longest_name(template.metadata), name, i)
        excess = len(pod) - names.LONGEST_POD
        if excess > 0 and names.is_label(name):
            yield must_be_shorter(_task(i) / "name", name, excess, _too_long(pod, "its"))


@Rule
def numbers_are_in_range(template: JobTemplateInFull) -> Iterator[Fault]:
    """Counts are not negative, `minSuccess` and the sizes of partitions at least 1, and all within 32 bits."""
    spec = template.spec
    if not spec:
        return
    numbers = [
        (SPEC / "minAvailable", spec.min_available, 0),
        (SPEC / "maxRetry", spec.max_retry, 0),
        (SPEC / "ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0),
        (SPEC / "minSuccess", spec.min_success, 1),
    ]
    for i, task in enumerate(template.tasks):
        numbers += [
            (_task(i) / "replicas", task.replicas, 0),
            (_task(i) / "minAvailable", task.min_available, 0),
            (_task(i) / "maxRetry", task.max_retry, 0),
        ]
        if policy := task.partition_policy:
            numbers += [
                (_task(i) / "partitionPolicy" / "totalPartitions", policy.total_partitions, 1),
                (_task(i) / "partitionPolicy" / "partitionSize", policy.partition_size, 1),
                (_task(i) / "partitionPolicy" / "minPartitions", policy.min_partitions, 0),
            ]
    for at, number, least in numbers:
        if number is not None and not least <= number <= MOST:
            yield invalid(at, number, f"must be between {least} and {MOST}, inclusive")


@Rule
def task_min_available_fits(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task does not need more Pods than it has."""
    for i, task in enumerate(template.tasks):
        if fits(task.min_available) and fits(task.replicas) and (task.min_available or 0) > (task.replicas or 0):
            yield invalid(
                _task(i) / "minAvailable", task.min_available, f"must not be more than replicas ({task.replicas or 0})"
            )


@Rule
def min_available_fits(template: JobTemplateInFull) -> Iterator[Fault]:
    """A Job does not need more Pods than its tasks have, and those are within 32 bits in sum."""
    if not template.spec or not all(fits(task.replicas) for task in template.tasks):
        return
    if any(task_min_available_fits(template)):
        return  # more replicas there may mend this too
    replicas = sum(task.replicas or 0 for task in template.tasks)
    if replicas > MOST:
        yield invalid(SPEC / "tasks", replicas, f"replicas of all tasks must not be more than {MOST} in sum")
        return
    wanted = template.spec.min_available or 0
    if template.tasks and replicas < wanted <= MOST:
        yield invalid(SPEC / "minAvailable", wanted, f"must not be more than the replicas of all tasks ({replicas})")


@Rule
def task_targets_exist(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task depends on tasks of the same Job only."""
    yield from _dependencies(template).unknown(among="spec.tasks")


@Rule
def task_targets_are_unique(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task names each task that it depends on once."""
    yield from _dependencies(template).repeated()


@Rule
def no_task_after_itself(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task does not depend on itself."""
    yield from _dependencies(template).on_oneself("the task")


@Rule
def no_task_cycle(template: JobTemplateInFull) -> Iterator[Fault]:
    """Tasks do not wait for each other in a loop."""
    yield from _dependencies(template).loops()


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    has_tasks,
    task_names_are_valid,
    task_names_are_unique,
    task_names_fit,
    numbers_are_in_range,
    task_min_available_fits,
    min_available_fits,
    task_targets_exist,
    task_targets_are_unique,
    no_task_after_itself,
    no_task_cycle,
)


def task_name(place: int, task: Task) -> str:
    """The task's name, or the one that Volcano's webhook gives it."""
    return task.name or f"default{place}"


def _pod_name(template: str, task: str, place: int) -> str:
    """A Pod of the task in a JobFlow whose name has one letter. Volcano tries it with the task's place as the index."""
    return f"x-{template}-{task}-{place}"


def _too_long(pod: str, whose: str) -> str:
    named = f'{whose} Pod would be named "{shown(pod)}", with {len(pod)} characters'
    return f"{named} even in a JobFlow of one letter; at most {names.LONGEST_POD} are possible"


def _task(place: int) -> FieldPath:
    return SPEC / "tasks" / place


def fits(number: int | None) -> bool:
    """What does not is told by `numbers_are_in_range`, and by no other rule."""
    return number is None or 0 <= number <= MOST


def _first_of_each_name(template: JobTemplateInFull) -> Iterator[tuple[int, str, Task]]:
    seen = set[str]()
    for i, task in enumerate(template.tasks):
        name = task_name(i, task)
        if name not in seen:
            seen.add(name)
            yield i, name, task


def _dependencies(template: JobTemplateInFull) -> Dependencies:
    return Dependencies(
        [
            (task_name(i, task), (task.depends_on.name or ()) if task.depends_on else ())
            for i, task in enumerate(template.tasks)
        ],
        lambda i: _task(i) / "dependsOn" / "name",
    )
