"""What is refused when a JobFlow is created: each rule, its words and its place."""

import msgspec
import pytest

from shared.api.jobflow import JobFlow
from shared.api.names import DEFAULT_MAX_FLOWS
from shared.rules.jobflow import FOR_A_PLAN, ON_CREATE, faults_on_create, plan_faults
from tests.support.builders import a_flow, a_jobflow, a_jobflow_object


def told(jobflow, *, max_flows=DEFAULT_MAX_FLOWS, size=1000):
    """What the user reads, without near misses."""
    return [str(fault) for fault in faults_on_create(jobflow, max_flows=max_flows, size=size)]


def with_flows(*flows):
    """A JobFlow of entries as JSON."""
    built = a_jobflow_object()
    built["spec"]["flows"] = list(flows)
    return msgspec.convert(built, JobFlow)


@pytest.mark.parametrize("flows", [
    pytest.param(["get"], id="one entry"),
    pytest.param(["get", "clean: get", "count: get", "train: clean count"], id="a diamond"),
    pytest.param(["train: clean", "clean: get", "get"], id="in any order"),
    pytest.param(["get:"], id="no targets"),
    pytest.param(["a.b", "0"], id="dots and digits"),
    pytest.param(["a", "b", "c: a"], id="islands"),
])  # fmt: skip
def test_what_is_right_has_no_fault(flows):
    assert told(a_jobflow(*flows, policy="delete")) == []
    assert plan_faults(a_jobflow(*flows)) == []


@pytest.mark.parametrize("spec", [{}, {"flows": []}, {"flows": None}])
def test_a_jobflow_has_at_least_one_entry(spec):
    jobflow = msgspec.convert({**a_jobflow_object(), "spec": spec}, JobFlow)
    assert told(jobflow) == ["spec.flows: Required value: must have at least one entry"]


def test_more_entries_than_allowed_are_the_only_fault():
    assert told(a_jobflow(*["again: nobody"] * 1001)) == ["spec.flows: Too many: 1001: must have at most 1000 items"]
    assert told(a_jobflow(*map(str, range(3))), max_flows=2) == ["spec.flows: Too many: 3: must have at most 2 items"]
    assert told(a_jobflow(*map(str, range(3))), max_flows=3) == []


def test_more_dependencies_than_a_hundred_times_as_many_are_the_only_fault():
    most, more = ["get", "clean: " + "nobody " * 200], ["get", "clean: " + "nobody " * 201]
    assert told(a_jobflow(*more), max_flows=2) == ["spec.flows: Too many: 201: must have at most 200 dependencies"]
    assert "Too many" not in "".join(told(a_jobflow(*most), max_flows=2))


def test_a_jobflow_leaves_room_for_its_status():
    jobflow = a_jobflow("get", "clean: get")  # etl-get and etl-clean: 2 x 7 + 60 and 2 x 9 + 60 bytes of status
    assert told(jobflow, size=1_300_000 - 152) == []
    (fault,) = told(jobflow, size=1_300_000 - 151)
    assert fault == (
        "spec: Too long: may not be more than 1300000 bytes: "
        "the object has 1299849 bytes, and its status will need at least 152"
    )


def test_what_takes_up_the_room_is_said():
    patch = {"jobSpec": {"volumes": ["x" * 1_000_000]}}
    jobflow = with_flows({"name": "get", "patch": patch}, {"name": "b", "dependsOn": {"targets": ["g" * 300_000]}})
    assert "1302000 bytes (patches 1000028, names and targets 300013)" in told(jobflow, size=1_302_000)[0]


A_SUBDOMAIN = (
    'lower case letters, digits, "-" and ".", with a letter or digit at both ends and on both sides of each "."'
)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a.", "a..b", "a b", "x" * 70 + "_"])
def test_an_entry_has_the_name_of_a_jobtemplate(name):
    assert told(with_flows({"name": name})) == [
        f'spec.flows[0].name: Invalid value: "{name}": must be the name of a JobTemplate: {A_SUBDOMAIN}'
    ]


def test_an_entry_has_a_name():
    assert told(with_flows({"name": "get"}, {"name": ""}, {})) == [
        "spec.flows[1].name: Required value: must be the name of a JobTemplate",
        "spec.flows[2].name: Required value: must be the name of a JobTemplate",
    ]


@pytest.mark.parametrize("name", ["get\n", "x\x1b[31m", "k\u00f6ln", "\u0661"])
def test_a_name_that_only_looks_right_is_refused(name):
    assert len(told(with_flows({"name": name}))) == 1


@pytest.mark.parametrize("name", ["x" * 254, "X" * 1_000_000])
def test_a_name_that_is_too_long_for_a_jobtemplate_is_just_that(name):
    assert told(with_flows({"name": name})) == ["spec.flows[0].name: Too long: may not be more than 253 bytes"]


def test_a_jobtemplate_appears_once():
    assert told(a_jobflow("a", "b: a", "a: b", "c: a", "a")) == [
        'spec.flows[2].name: Duplicate value: "a"',
        'spec.flows[4].name: Duplicate value: "a"',
    ]


def test_a_duplicate_is_nothing_else_besides():
    assert told(a_jobflow("A", "A", "b", "b: b"))[1:] == [
        'spec.flows[1].name: Duplicate value: "A"',
        'spec.flows[3].name: Duplicate value: "b"',
    ]


def test_a_target_names_an_entry():
    assert told(a_jobflow("prep", "train: prepp prep other prepp")) == [
        'spec.flows[1].dependsOn.targets[0]: Not found: "prepp": names no entry of spec.flows',
        'spec.flows[1].dependsOn.targets[2]: Not found: "other": names no entry of spec.flows',
        'spec.flows[1].dependsOn.targets[3]: Duplicate value: "prepp"',
    ]


def test_an_empty_target_names_no_entry_not_even_one_without_a_name():
    assert told(with_flows({"name": ""}, {"name": "a", "dependsOn": {"targets": [""]}})) == [
        "spec.flows[0].name: Required value: must be the name of a JobTemplate",
        'spec.flows[1].dependsOn.targets[0]: Not found: "": names no entry of spec.flows',
    ]


def test_a_target_of_a_duplicate_entry_must_exist_too():
    assert 'spec.flows[1].dependsOn.targets[0]: Not found: "b": names no entry of spec.flows' in told(
        a_jobflow("a", "a: b")
    )


def test_a_target_is_named_once():
    assert told(a_jobflow("a", "b", "c: a b a b")) == [
        'spec.flows[2].dependsOn.targets[2]: Duplicate value: "a"',
        'spec.flows[2].dependsOn.targets[3]: Duplicate value: "b"',
    ]


def test_an_entry_that_depends_on_itself_is_not_also_a_cycle():
    assert told(a_jobflow("a", "b: a b")) == [
        'spec.flows[1].dependsOn.targets[1]: Invalid value: "b": must not be the entry itself'
    ]


def test_a_cycle_is_told_in_the_order_in_which_it_would_run():
    (fault,) = told(a_jobflow("a: c", "b: a", "c: b"))
    assert fault == (
        'spec.flows[0].dependsOn.targets[0]: Invalid value: "c": must not close a loop: a -> b -> c -> a '
        "(each runs after the one before it)"
    )


def test_each_independent_cycle_is_told_once():
    faults = told(a_jobflow("x: b", "a: x0 b", "x0", "b: y a", "y: z", "z: y"))
    assert [fault.partition(" (")[0] for fault in faults] == [
        'spec.flows[1].dependsOn.targets[1]: Invalid value: "b": must not close a loop: a -> b -> a',
        'spec.flows[4].dependsOn.targets[0]: Invalid value: "z": must not close a loop: y -> z -> y',
    ]


def test_of_a_long_loop_both_ends_are_told():
    around = 100
    (fault,) = told(a_jobflow(*[f"n{i}: n{(i - 1) % around}" for i in range(around)]))
    begin, end = " -> ".join(f"n{i}" for i in range(10)), " -> ".join(f"n{i % around}" for i in range(91, 101))
    assert f"must not close a loop: {begin} -> ... -> {end} (" in fault


def test_a_duplicate_entry_adds_no_dependencies():
    assert told(a_jobflow("a", "b: a", "a: b")) == ['spec.flows[2].name: Duplicate value: "a"']


def test_a_job_name_leaves_room_for_the_names_of_pods():
    fits, too_long = "x" * 55, "x" * 57
    assert told(a_jobflow(fits)) == []
    (fault,) = told(a_jobflow("a", too_long))
    assert fault == (
        f'spec.flows[1].name: Invalid value: "{too_long}": must be 2 characters shorter: '
        f'its Job would be named "etl-{too_long}", with 61 characters; at most 59 leave room for the names of Pods'
    )


def test_a_jobflow_whose_name_leaves_no_room_for_any_entry_is_told_once():
    name = "x" * 58
    assert told(a_jobflow("a", name="x" * 57)) == []
    (fault,) = told(a_jobflow("a", "b", "much-longer", name=name))
    assert fault == (
        f'metadata.name: Invalid value: "{name}": must be 1 character shorter: '
        f'even the shortest Job would be named "{name}-x", with 60 characters; at most 59 leave room for the names of '
        "Pods"
    )


def test_a_name_that_is_still_to_be_made_is_judged_at_its_longest():
    assert told(a_jobflow("a", name="", metadata={"generateName": "x" * 51 + "-"})) == []
    assert told(a_jobflow("ab", name="", metadata={"generateName": "x" * 51 + "-"}))[0].startswith(
        'spec.flows[0].name: Invalid value: "ab": must be 1 character shorter: its Job would be named'
    )
    for length in (53, 58, 100, 1000):
        (fault,) = told(a_jobflow("a", name="", metadata={"generateName": "x" * length}))
        assert fault.startswith("metadata.generateName: Invalid value: ")
        assert f"must be {length - 52} character" in fault


def test_a_jobflow_has_a_name_that_its_jobs_can_begin_with():
    assert told(a_jobflow("a", name="")) == ["metadata.name: Required value: name or generateName is required"]
    assert told(a_jobflow("a", "b", name="ML")) == [f'metadata.name: Invalid value: "ML": must be {A_SUBDOMAIN}']


def test_the_retain_policy_is_known():
    assert told(a_jobflow("a", policy="keep")) == [
        'spec.jobRetainPolicy: Unsupported value: "keep": supported values: "retain", "delete"'
    ]
    assert told(a_jobflow("a", policy="retain")) == []


def test_faults_come_in_the_order_of_the_document():
    probe = {"tcpSocketList": [{"taskName": "t"}], "httpGetList": [{"taskName": "t", "port": 0}]}
    first = {"name": "B", "dependsOn": {"probe": probe, "targets": ["nobody"]}}
    built = a_jobflow_object(name="x" * 60, policy="keep")
    built["spec"]["flows"] = [first, *map(a_flow, ("c: c", "B", "d: d"))]
    faults = told(msgspec.convert(built, JobFlow), size=2_000_000)
    assert [fault.partition(": ")[0] for fault in faults] == [
        "metadata.name",
        "spec",
        "spec.flows[0].name",
        "spec.flows[0].dependsOn.targets[0]",
        "spec.flows[0].dependsOn.probe.httpGetList[0].port",
        "spec.flows[0].dependsOn.probe.tcpSocketList[0].port",
        "spec.flows[1].dependsOn.targets[0]",
        "spec.flows[2].name",
        "spec.flows[3].dependsOn.targets[0]",
        "spec.jobRetainPolicy",
    ]


def test_a_plan_needs_less_than_creation_does():
    probes = {"name": "a", "dependsOn": {"probe": {"tcpSocketList": [{}]}}}
    assert plan_faults(with_flows(probes, a_flow("b: a a"))) == []
    assert plan_faults(a_jobflow("a", policy="keep")) == []
    assert plan_faults(a_jobflow(*map(str, range(DEFAULT_MAX_FLOWS + 1)))) == []


@pytest.mark.parametrize("flows", [
    pytest.param([], id="no entries"),
    pytest.param(["a", "a"], id="a name twice"),
    pytest.param(["a: b"], id="an unknown target"),
    pytest.param(["a: a"], id="an entry after itself"),
    pytest.param(["a: b", "b: a"], id="a cycle"),
    pytest.param(["A"], id="no valid name"),
    pytest.param(["x" * 60], id="a name that is too long"),
])  # fmt: skip
def test_what_no_plan_can_be_made_of_is_told_as_on_creation(flows):
    jobflow = a_jobflow(*flows)
    assert plan_faults(jobflow) == faults_on_create(jobflow, max_flows=1000, size=1000) != []


def test_the_name_of_an_entry_whose_job_exists_is_no_question_any_more():
    jobflow = a_jobflow("X", "y" * 60, "z")
    assert [str(fault.field) for fault in plan_faults(jobflow)] == ["spec.flows[0].name", "spec.flows[1].name"]
    assert plan_faults(jobflow, started={"X", "y" * 60}) == []
    assert plan_faults(a_jobflow("a", name="x" * 63), started={"a"}) == []
    assert len(plan_faults(a_jobflow("a", "b", name="x" * 63), started={"a"})) == 1


def test_every_rule_says_what_it_is_and_bears_a_name_of_its_own():
    rules = {*ON_CREATE, *FOR_A_PLAN}
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.says and not rule.id.startswith("-") for rule in rules)


def test_the_verdict_is_always_the_same():
    jobflow = a_jobflow("a: c nobody", "b: a a", "c: b", "c", policy="keep")
    assert faults_on_create(jobflow, max_flows=9, size=9) == faults_on_create(jobflow, max_flows=9, size=9)
