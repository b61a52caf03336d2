"""Objects for tests: a builder names what matters and hides the rest.

`a_jobflow("get", "clean: get", "train: clean get")` reads as the graph that it makes.
"""

from typing import Any

import msgspec

from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate


def a_jobflow(*flows: str, **about: Any) -> JobFlow:
    """The JobFlow of `a_jobflow_object`, decoded as the programs decode it."""
    return msgspec.convert(a_jobflow_object(*flows, **about), JobFlow)


def a_jobflow_object(
    *flows: str,
    name: str = "etl",
    namespace: str = "ml",
    uid: str = "uid-of-etl",
    policy: str | None = None,
    phase: str | None = None,
    metadata: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A JobFlow as JSON, one entry for each of `flows`: `"get"`, or `"train: clean count"` with what it depends on.

    `phase` is short for the `status` that has just that; `metadata` adds to name, namespace and uid.
    """
    spec: dict[str, Any] = {"flows": [a_flow(flow) for flow in flows]}
    if policy is not None:
        spec["jobRetainPolicy"] = policy
    built: dict[str, Any] = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name, "namespace": namespace, "uid": uid, **(metadata or {})},
        "spec": spec,
    }
    if status is not None or phase is not None:
        built["status"] = status or {"state": {"phase": phase}}
    return built


def a_flow(text: str) -> dict[str, Any]:
    """An entry of `spec.flows` as JSON: `"train: clean count"`."""
    name, colon, targets = text.partition(":")
    flow: dict[str, Any] = {"name": name.strip()}
    if colon:
        flow["dependsOn"] = {"targets": targets.split()}
    return flow


def a_jobtemplate(name: str = "get", namespace: str = "ml", spec: dict[str, Any] | None = None) -> JobTemplate:
    """The JobTemplate of `a_jobtemplate_object`, decoded as the programs decode it."""
    return msgspec.json.decode(msgspec.json.encode(a_jobtemplate_object(name, namespace, spec)), type=JobTemplate)


def a_jobtemplate_object(
    name: str = "get", namespace: str = "ml", spec: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A JobTemplate as JSON, of one task with one container unless a `spec` is given."""
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"},
        "spec": spec if spec is not None else a_job_spec(),
    }


def a_job_spec(**fields: Any) -> dict[str, Any]:
    """A Volcano Job's spec as JSON, with `fields` added or replaced."""
    container = {"name": "main", "image": "busybox:1.36", "command": ["sh", "-c", "echo done"]}
    task = {"name": "work", "replicas": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    return {"minAvailable": 1, "queue": "default", "tasks": [task], **fields}
