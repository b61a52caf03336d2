"""Case by case what Volcano's own published tests try on its webhooks for JobFlows and Jobs, and what is said here.

The cases are facts, told again in our words: what is tried, and whether Volcano takes it. Where the answer here is
another one, the case is among those `REFUSED_ONLY_HERE`. Whether a queue exists is the one thing that is not looked up.
"""

from typing import Any

import msgspec
import pytest

from shared.api.job_spec import JobTemplateInFull
from shared.rules.jobflow import faults_on_create
from shared.rules.jobtemplate import faults_in_jobtemplate
from tests.support.builders import a_jobflow, a_jobtemplate_object

ABORT, RESTART = "AbortJob", "RestartJob"
CONTAINER = {"name": "fake-name", "image": "busybox:1.24"}


def a_task(name: str = "task-1", replicas: int = 1, *, init: dict[str, Any] | None = None, **fields: Any) -> Any:
    container = CONTAINER | fields.pop("container", {})
    pod: dict[str, Any] = {"containers": [container]}
    if init:
        pod["initContainers"] = [{"name": "init-fake-name", "image": "busybox:1.24", **init}]
    template = {"metadata": {"labels": {"name": "test"}}, "spec": pod}
    return {"name": name, "replicas": replicas, "template": template, **fields}


def a_job(*tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"minAvailable": 1, "queue": "default", "tasks": list(tasks) or [a_task()], **fields}


def after(**targets: str) -> dict[str, Any]:
    """Tasks that depend on others: `t1="t2 t3"`."""
    return a_job(*(a_task(name, dependsOn={"name": names.split()}) for name, names in targets.items()))


def with_cpu(kind: str, cpu: str) -> dict[str, Any]:
    resources = {kind: {"cpu": cpu, "memory": "2000"}}
    return a_job(a_task(replicas=5, topologyPolicy="restricted", container={"resources": resources}))


PRIVILEGED = {"securityContext": {"privileged": True}}
EVENT = {"event": "PodFailed", "action": ABORT}

JOBS_THAT_VOLCANO_TAKES: dict[str, dict[str, Any]] = {
    "a plain one": a_job(policies=[{"event": "PodEvicted", "action": "RestartTask"}]),
    "a privileged init container": a_job(a_task(init=PRIVILEGED)),
    "a privileged container": a_job(a_task(container=PRIVILEGED)),
    "a task after another that stands below": after(t1="t2", t2=""),
    "a task after two, one of them after the other": after(t1="t2 t3", t2="t3", t3=""),
    "the same, in another order": after(t1="t2 t3", t2="", t3="t2"),
    "a topology policy with whole CPUs as limits": with_cpu("limits", "1"),
    "a topology policy with whole CPUs as requests": with_cpu("requests", "1"),
}

JOBS_THAT_VOLCANO_REFUSES: dict[str, tuple[dict[str, Any], str]] = {
    "one name for two tasks": (a_job(a_task("twice"), a_task("twice")), "spec.tasks[1].name"),
    "an event with two policies": (
        a_job(policies=[EVENT, {"event": "PodFailed", "action": RESTART}]), "spec.policies[1].event"
    ),
    "more available than there are replicas": (a_job(minAvailable=2), "spec.minAvailable"),
    "an unknown plugin": (a_job(plugins={"big_plugin": []}), "spec.plugins[big_plugin]"),
    "a negative time to live": (a_job(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished"),
    "less than nothing available": (a_job(minAvailable=-1), "spec.minAvailable"),
    "fewer than no retries": (a_job(maxRetry=-1), "spec.maxRetry"),
    "no task": ({"minAvailable": 1, "queue": "default", "tasks": []}, "spec.tasks"),
    "fewer than no replicas": (a_job(a_task(replicas=-1)), "spec.tasks[0].replicas"),
    "upper case in the name of a task": (a_job(a_task("Task-1")), "spec.tasks[0].name"),
    "an event and an exit code": (a_job(policies=[{**EVENT, "exitCode": -1}]), "spec.policies[0].exitCode"),
    "neither event nor exit code": (a_job(policies=[{"action": ABORT}]), "spec.policies[0].event"),
    "an unknown event": (a_job(policies=[{"event": "someFakeEvent", "action": ABORT}]), "spec.policies[0].event"),
    "an unknown action": (a_job(policies=[{"event": "PodEvicted", "action": "someFake"}]), "spec.policies[0].action"),
    "the exit code 0": (a_job(policies=[{"action": ABORT, "exitCode": 0}]), "spec.policies[0].exitCode"),
    "an exit code with two policies": (
        a_job(policies=[{"exitCode": 1, "action": ABORT}, {"exitCode": 1, "action": ABORT}]),
        "spec.policies[1].exitCode",
    ),
    "any event and another": (
        a_job(policies=[{"event": "*", "action": ABORT}, {"event": "PodFailed", "action": RESTART}]),
        "spec.policies[0].event",
    ),
    "the same in a task": (
        a_job(a_task(policies=[{"event": "*", "action": ABORT}, {"event": "PodFailed", "action": RESTART}])),
        "spec.tasks[0].policies[0].event",
    ),
    "a volume without a path": (
        a_job(volumes=[{"mountPath": "", "volumeClaimName": "pvc1"}]), "spec.volumes[0].mountPath"
    ),
    "two volumes at one path": (
        a_job(volumes=[{"mountPath": "/var", "volumeClaimName": name} for name in ("pvc1", "pvc2")]),
        "spec.volumes[1].mountPath",
    ),
    "a volume without a claim": (a_job(volumes=[{"mountPath": "/var"}]), "spec.volumes[0].volumeClaim"),
    "a task after one that does not exist": (after(t1="t3", t2=""), "spec.tasks[0].dependsOn.name[0]"),
    "two tasks after each other": (after(t1="t2", t2="t1", t3=""), "spec.tasks[0].dependsOn.name[0]"),
    "a task after itself": (after(t1="t2 t3", t2="t2", t3=""), "spec.tasks[1].dependsOn.name[0]"),
    "a topology policy with half a CPU": (
        with_cpu("limits", "500m"),
        "spec.tasks[0].template.spec.containers[0].resources.limits[cpu]",
    ),
    "fewer replicas than must be available": (a_job(a_task("task-1", 4), minAvailable=5), "spec.minAvailable"),
}  # fmt: skip

FLOWS_THAT_VOLCANO_TAKES = {
    "five entries, two arms": ["a", "b: a", "c: a b", "d: b", "e: c d"],
    "three layers": ["1: 2 3", "2: 3", "3: 4", "4"],
    "a tree": ["1: 2 3", "2: 4 5", "3", "4", "5"],
    "shortcuts": ["1: 2 3 4", "2: 3", "3: 4", "4: 5", "5"],
    "shortcuts that meet": ["1: 2 3 4", "2: 3 5", "3: 5", "4: 3 5", "5"],
}

FLOWS_THAT_VOLCANO_REFUSES = {
    "a target that does not exist": (["b: a", "c: a b", "d: b", "e: c d"], "spec.flows[0].dependsOn.targets[0]"),
    "two entries after each other": (
        ["a: b", "b: a", "c: a b", "d: b", "e: c d"], "spec.flows[0].dependsOn.targets[0]"
    ),
    "a loop, and a target that does not exist": (["1: 2", "2: 1 3"], "spec.flows[1].dependsOn.targets[1]"),
    "a loop with a way out": (["1: 2", "2: 1 3", "3"], "spec.flows[0].dependsOn.targets[0]"),
    "an entry after itself": (["1: 2 3 4", "2: 3 5", "3: 5", "4: 3 5", "5: 5 3"], "spec.flows[4].dependsOn.targets[0]"),
}  # fmt: skip

FLOWS_REFUSED_ONLY_HERE = {
    "a template twice, which Volcano never finishes": (["a", "a", "b: a", "c: a b", "d: b", "e: c d"], "spec.flows[1]"),
    "a template twice, with other targets": (["a", "b: a", "c: a", "c: b"], "spec.flows[3]"),
}

JOBS_REFUSED_ONLY_HERE = {
    "an exit code without an action, after which nothing would happen": (
        a_job(policies=[{"exitCode": 1}]), "spec.policies[0].action"
    ),
}  # fmt: skip


def places_in_job(spec: dict[str, Any]) -> list[str]:
    template = msgspec.convert(a_jobtemplate_object("get", spec=spec), JobTemplateInFull)
    return [str(fault.field) for fault in faults_in_jobtemplate(template)]


def places_in_flow(*flows: str) -> list[str]:
    return [str(fault.field) for fault in faults_on_create(a_jobflow(*flows), max_flows=1000, size=1000)]


@pytest.mark.parametrize("case", JOBS_THAT_VOLCANO_TAKES)
def test_a_job_that_volcano_takes_is_taken(case: str) -> None:
    assert places_in_job(JOBS_THAT_VOLCANO_TAKES[case]) == []


@pytest.mark.parametrize("case", JOBS_THAT_VOLCANO_REFUSES)
def test_a_job_that_volcano_refuses_is_refused_at_the_place(case: str) -> None:
    spec, place = JOBS_THAT_VOLCANO_REFUSES[case]
    assert place in places_in_job(spec)


def test_a_queue_that_does_not_exist_is_no_fault() -> None:
    assert places_in_job(a_job(queue="job-queue")) == []


@pytest.mark.parametrize("case", JOBS_REFUSED_ONLY_HERE)
def test_a_job_that_could_never_work_is_refused_only_here(case: str) -> None:
    spec, place = JOBS_REFUSED_ONLY_HERE[case]
    assert places_in_job(spec) == [place]


@pytest.mark.parametrize("case", FLOWS_THAT_VOLCANO_TAKES)
def test_a_jobflow_that_volcano_takes_is_taken(case: str) -> None:
    assert places_in_flow(*FLOWS_THAT_VOLCANO_TAKES[case]) == []


@pytest.mark.parametrize("case", FLOWS_THAT_VOLCANO_REFUSES)
def test_a_jobflow_that_volcano_refuses_is_refused_at_the_place(case: str) -> None:
    flows, place = FLOWS_THAT_VOLCANO_REFUSES[case]
    assert place in places_in_flow(*flows)


@pytest.mark.parametrize("case", FLOWS_REFUSED_ONLY_HERE)
def test_a_jobflow_that_could_never_finish_is_refused_only_here(case: str) -> None:
    flows, place = FLOWS_REFUSED_ONLY_HERE[case]
    assert places_in_flow(*flows)[0].startswith(place)
