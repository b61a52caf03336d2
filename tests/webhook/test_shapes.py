"""Values of the wrong type: all of them at once, each with its path."""

from typing import Any

import pytest

from shared.api.job_spec import JobTemplateInFull
from shared.api.jobflow import JobFlow
from tests.support.builders import a_job_spec, a_jobflow_object, a_jobtemplate_object
from webhook.shapes import MOST, MisshapenError, read


def told(tree: Any, model: type = JobFlow) -> list[str]:
    with pytest.raises(MisshapenError) as caught:
        read(tree, model)
    assert {fault.rule for fault in caught.value.faults} == {"schema"}
    return [str(fault) for fault in caught.value.faults]


def flows(*flows: Any) -> dict[str, Any]:
    return {"metadata": {"name": "etl"}, "spec": {"flows": list(flows)}}


def test_what_fits_is_read() -> None:
    jobflow = read(a_jobflow_object("get", "train: get"), JobFlow)
    assert [flow.name for flow in jobflow.flows] == ["get", "train"]


def test_all_wrong_types_are_told_at_once_in_the_order_of_the_model() -> None:
    tree = flows({"name": 1}, {"dependsOn": {"targets": ["x", 2, True], "probe": []}, "name": "a"}, "get")
    tree["spec"]["jobRetainPolicy"] = 5
    tree["metadata"]["annotations"] = {"a": "fine", "b": 3}
    assert told(tree) == [
        "metadata.annotations[b]: Invalid value: 3: must be a string",
        "spec.flows[0].name: Invalid value: 1: must be a string",
        "spec.flows[1].dependsOn.targets[1]: Invalid value: 2: must be a string",
        "spec.flows[1].dependsOn.targets[2]: Invalid value: true: must be a string",
        "spec.flows[1].dependsOn.probe: Invalid value: a list: must be an object",
        'spec.flows[2]: Invalid value: "get": must be an object',
        "spec.jobRetainPolicy: Invalid value: 5: must be a string",
    ]


def test_null_where_something_is_needed_is_a_missing_value() -> None:
    assert told(flows({"name": None}, None)) == ["spec.flows[0].name: Required value", "spec.flows[1]: Required value"]


def test_null_where_nothing_is_needed_is_fine() -> None:
    assert read(flows({"name": "get", "dependsOn": None, "patch": None}), JobFlow).flows[0].targets == ()


def test_an_integer_is_neither_true_nor_a_fraction_nor_a_text() -> None:
    probe = {"tcpSocketList": [{"taskName": "a", "port": port} for port in (True, 80.5, "80", 80)]}
    said = told(flows({"name": "get", "dependsOn": {"probe": probe}}))
    assert [line.rpartition(": ")[2] for line in said] == ["must be an integer"] * 3


def test_a_jobtemplate_is_read_in_full() -> None:
    spec = a_job_spec(minAvailable="1", plugins={"svc": "--port=1"})
    spec["tasks"][0]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": "http"}]
    assert told(a_jobtemplate_object(spec=spec), JobTemplateInFull) == [
        'spec.minAvailable: Invalid value: "1": must be an integer',
        'spec.tasks[0].template.spec.containers[0].ports[0].containerPort: Invalid value: "http": must be an integer',
        'spec.plugins[svc]: Invalid value: "--port=1": must be a list',
    ]


def test_a_body_full_of_mistakes_does_not_fill_the_memory() -> None:
    tree = flows({"name": "get", "dependsOn": {"targets": [1] * 1_000_000}})
    assert len(told(tree)) == MOST
