"""What is plainly right breaks no rule; what is written in order is plainly right."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.jobflow import JobFlow
from shared.rules.jobflow import MOST_BYTES, faults_on_create
from tests.support.builders import a_jobflow, a_jobflow_object
from tests.support.generated import jobflow_objects
from webhook.glance import is_plainly_right


def agrees(obj: dict[str, Any], max_flows: int = 1000, size: int = 1000) -> bool:
    """The glance's answer, which must not be better than that of the rules."""
    jobflow = msgspec.convert(obj, JobFlow)
    plain = is_plainly_right(jobflow, max_flows, size)
    assert not (plain and faults_on_create(jobflow, max_flows=max_flows, size=size))
    return plain


def test_what_is_written_in_order_is_plainly_right() -> None:
    jobflow = a_jobflow("get", "clean: get", "count: get", "train: clean count", policy="delete")
    assert is_plainly_right(jobflow, 4, 1000)


@pytest.mark.parametrize(
    "flows",
    [
        pytest.param(["a\nb", "c"], id="two names in one"),
        pytest.param(["a", "a"], id="the same name twice"),
        pytest.param(["a", "b: a a"], id="the same target twice"),
        pytest.param(["a: a"], id="after itself"),
        pytest.param(["a: b", "b: a"], id="a loop"),
        pytest.param(["a", "b: c"], id="an unknown target"),
        pytest.param([], id="no entry"),
        pytest.param(["A"], id="an upper case letter"),
    ],
)
def test_what_is_wrong_is_never_plainly_right(flows: list[str]) -> None:
    assert not agrees(a_jobflow_object(*flows))


words = st.sampled_from(["a", "b", "c", "d-1", "e.f", "-x", "X", "", "a\n", "a\nb", "é", "x" * 30, "y" * 57, "z" * 64])


@given(
    name=words,
    flows=st.lists(st.tuples(words, st.lists(words, max_size=3)), max_size=5),
    policy=st.sampled_from([None, "retain", "delete", "keep", ""]),
    max_flows=st.integers(1, 5),
    size=st.sampled_from([100, MOST_BYTES - 200, MOST_BYTES]),
)
def test_whatever_is_plainly_right_breaks_no_rule(
    name: str, flows: list[tuple[str, list[str]]], policy: str | None, max_flows: int, size: int
) -> None:
    spec = {"flows": [{"name": flow, "dependsOn": {"targets": targets}} for flow, targets in flows]}
    agrees({"metadata": {"name": name}, "spec": {**spec, "jobRetainPolicy": policy}}, max_flows, size)


@given(jobflow_objects(), st.data())
def test_a_mistake_planted_in_a_valid_jobflow_is_never_overlooked(jobflow: dict[str, Any], data: st.DataObject) -> None:
    agrees(jobflow)
    flows = jobflow["spec"]["flows"]
    i, j = data.draw(st.integers(0, len(flows) - 1)), data.draw(st.integers(0, len(flows) - 1))
    match data.draw(st.sampled_from(["name", "target", "twice", "loop", "port"])):
        case "name":
            flows[i]["name"] = data.draw(words)
        case "target":
            flows[i].setdefault("dependsOn", {})["targets"] = [data.draw(words), flows[j]["name"]]
        case "twice":
            flows.append(flows[i])
        case "loop":
            flows[0].setdefault("dependsOn", {})["targets"] = [flows[-1]["name"]]
        case _:
            flows[i].setdefault("dependsOn", {})["probe"] = {"tcpSocketList": [{"taskName": "a", "port": 0}]}
    agrees(jobflow)


@pytest.mark.parametrize("length", [28, 29, 30, 31])
def test_the_glance_is_exact_about_the_length_of_names(length: int) -> None:
    assert agrees(a_jobflow_object("x" * length, name="y" * 29)) == (length <= 29)


@pytest.mark.parametrize("edges", [199, 200, 201])
def test_the_glance_is_exact_about_the_number_of_dependencies(monkeypatch: pytest.MonkeyPatch, edges: int) -> None:
    names = [f"x{i}" for i in range(21)]
    chosen = [(i, names[j]) for i in range(21) for j in range(i)][:edges]
    flows = [f"{name}: {' '.join(target for k, target in chosen if k == i)}" for i, name in enumerate(names)]
    monkeypatch.setattr("webhook.glance.DEPENDENCIES_PER_FLOW", 2)
    monkeypatch.setattr("shared.rules.jobflow.DEPENDENCIES_PER_FLOW", 2)
    assert agrees(a_jobflow_object(*flows), max_flows=100) == (edges <= 200)
