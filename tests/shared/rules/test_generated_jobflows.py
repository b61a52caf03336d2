"""The rules hold for JobFlows that nobody thought of."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.jobflow import JobFlow
from shared.rules.jobflow import ON_CREATE, faults_on_create, plan_faults
from shared.rules.jobflow_update import faults_on_update
from shared.rules.jobflow_warnings import TemplateFacts, warnings_on_create
from tests.support.builders import a_jobflow
from tests.support.generated import graphs, jobflow_objects

MOST_FLOWS = 20


def judged(built):
    size = len(msgspec.json.encode(built))
    return faults_on_create(msgspec.convert(built, JobFlow), max_flows=MOST_FLOWS, size=size)


@given(jobflow_objects())
def test_a_valid_jobflow_has_no_fault(built):
    assert judged(built) == []
    assert plan_faults(msgspec.convert(built, JobFlow)) == []
    assert faults_on_update(built["spec"], copy.deepcopy(built["spec"])) == []


@given(jobflow_objects())
def test_a_valid_jobflow_whose_templates_exist_has_no_warning_but_for_what_has_no_effect_yet(built):
    known = TemplateFacts({flow["name"] for flow in built["spec"]["flows"]})
    warnings = warnings_on_create(msgspec.convert(built, JobFlow), known)
    assert all("no effect yet: spec.flows[" in warning for warning in warnings)


@given(graphs())
def test_a_graph_is_refused_exactly_if_networkx_finds_a_cycle_in_it(graph):
    faults = faults_on_create(
        a_jobflow(*(f"{name}: {' '.join(targets)}" for name, targets in graph.items())), max_flows=MOST_FLOWS, size=1
    )
    assert bool(faults) != networkx.is_directed_acyclic_graph(networkx.DiGraph(graph))
    assert {fault.rule for fault in faults} <= {"no-cycle", "not-after-itself"}


Planted = tuple[str, str]
Plant = Callable[[dict[str, Any], Callable[..., Any]], Planted]


def an_entry(built, draw):
    """Any entry, with its place."""
    i = draw(st.integers(0, len(built["spec"]["flows"]) - 1))
    return i, built["spec"]["flows"][i]


def targets_of(flow):
    return flow.setdefault("dependsOn", {}).setdefault("targets", [])


def rename(built, old, new):
    for flow in built["spec"]["flows"]:
        flow["name"] = new if flow["name"] == old else flow["name"]
        depends_on = flow.get("dependsOn", {})
        if "targets" in depends_on:
            depends_on["targets"] = [new if target == old else target for target in depends_on["targets"]]


def no_entries(built, draw):
    built["spec"]["flows"] = []
    return "has-flows", "spec.flows"


def too_many_entries(built, draw):
    built["spec"]["flows"] = [{"name": f"n{i}"} for i in range(draw(st.integers(MOST_FLOWS + 1, 50)))]
    return "not-too-many", "spec.flows"


def an_annotation_without_measure(built, draw):
    built["metadata"]["annotations"] = {"a": "x" * 1_300_000}
    return "fits-etcd", "spec"


def a_bad_name(built, draw):
    i, flow = an_entry(built, draw)
    rename(built, flow["name"], draw(st.sampled_from(["Get", "a_b", "-a", "a-", "a..b", "a\n", "x" * 254])))
    return "names-are-valid", f"spec.flows[{i}].name"


def a_name_again(built, draw):
    _, flow = an_entry(built, draw)
    built["spec"]["flows"].append({"name": flow["name"]})
    return "names-are-unique", f"spec.flows[{len(built['spec']['flows']) - 1}].name"


def an_unknown_target(built, draw):
    i, flow = an_entry(built, draw)
    targets_of(flow).append("nobody")
    return "targets-exist", f"spec.flows[{i}].dependsOn.targets[{len(targets_of(flow)) - 1}]"


def a_target_again(built, draw):
    built["spec"]["flows"].insert(0, {"name": "first"})
    i, flow = an_entry(built, draw)
    if flow["name"] == "first":
        i, flow = len(built["spec"]["flows"]), {"name": "last"}
        built["spec"]["flows"].append(flow)
    targets_of(flow).extend(["first", "first"])
    return "targets-are-unique", f"spec.flows[{i}].dependsOn.targets[{len(targets_of(flow)) - 1}]"


def an_entry_after_itself(built, draw):
    i, flow = an_entry(built, draw)
    targets_of(flow).append(flow["name"])
    return "not-after-itself", f"spec.flows[{i}].dependsOn.targets[{len(targets_of(flow)) - 1}]"


def a_loop(built, draw):
    size = len(built["spec"]["flows"])
    length = draw(st.integers(2, 5))
    loop = [{"name": f"l{i}", "dependsOn": {"targets": [f"l{(i + 1) % length}"]}} for i in range(length)]
    built["spec"]["flows"].extend(loop)
    return "no-cycle", f"spec.flows[{size}].dependsOn.targets[0]"


def a_name_without_room(built, draw):
    i, flow = an_entry(built, draw)
    rename(built, flow["name"], "x" * draw(st.integers(59 - len(built["metadata"]["name"]), 253)))
    return "child-names-fit", f"spec.flows[{i}].name"


def a_jobflow_name_without_room(built, draw):
    built["metadata"]["name"] = "x" * draw(st.integers(58, 253))
    return "child-names-fit", "metadata.name"


def an_unknown_policy(built, draw):
    built["spec"]["jobRetainPolicy"] = draw(st.sampled_from(["keep", "Retain", "retain ", ""]))
    return "retain-policy-is-known", "spec.jobRetainPolicy"


def a_probe(built, draw, **probe):
    i, flow = an_entry(built, draw)
    flow.setdefault("dependsOn", {})["probe"] = probe
    return f"spec.flows[{i}].dependsOn.probe"


def an_incomplete_probe(built, draw):
    at = a_probe(built, draw, tcpSocketList=[{"taskName": "t"}])
    return "probes-are-complete", f"{at}.tcpSocketList[0].port"


def a_wrong_port(built, draw):
    at = a_probe(built, draw, httpGetList=[{"taskName": "t", "port": draw(st.sampled_from([0, -1, 65536]))}])
    return "probe-ports-are-valid", f"{at}.httpGetList[0].port"


def a_phase_without_measure(built, draw):
    at = a_probe(built, draw, taskStatusList=[{"taskName": "t", "phase": "x" * 64}])
    return "probe-texts-fit", f"{at}.taskStatusList[0].phase"


PLANTS: tuple[Plant, ...] = (
    no_entries,
    too_many_entries,
    an_annotation_without_measure,
    a_bad_name,
    a_name_again,
    an_unknown_target,
    a_target_again,
    an_entry_after_itself,
    a_loop,
    a_name_without_room,
    a_jobflow_name_without_room,
    an_unknown_policy,
    an_incomplete_probe,
    a_wrong_port,
    a_phase_without_measure,
)


@pytest.mark.parametrize("plant", PLANTS)
@given(data=st.data())
def test_a_planted_fault_is_found_alone_and_where_it_is(plant, data):
    built = copy.deepcopy(data.draw(jobflow_objects(most=6)))
    rule, path = plant(built, data.draw)
    assert [(fault.rule, str(fault.field)) for fault in judged(built)] == [(rule, path)]


def test_every_rule_has_a_fault_that_is_planted():
    planted = set()

    for plant in PLANTS:
        built = {"metadata": {"name": "etl"}, "spec": {"flows": [{"name": "a"}]}}
        planted.add(plant(built, simplest)[0])
    assert planted == {rule.id for rule in ON_CREATE}


def simplest(strategy):
    """One example of a strategy, the same every time."""
    from hypothesis import find, settings

    return find(strategy, lambda _: True, settings=settings(database=None, derandomize=True))
