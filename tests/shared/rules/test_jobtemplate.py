"""What is refused of a JobTemplate: each rule, its words and its place."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.job_spec import JobTemplateInFull
from shared.api.meta import ObjectMeta
from shared.rules.difference import differences, meaning
from shared.rules.fault import SPEC
from shared.rules.jobtemplate import DEFAULTS, ON_JOBTEMPLATE, faults_in_jobtemplate
from tests.shared.rules.jobtemplate_cases import RIGHT, WRONG
from tests.support.builders import a_job_spec, a_jobtemplate_object
from tests.support.generated import dns_labels, job_specs
from tests.support.specs import a_rich_job_spec, changed


def judged(spec, name="get", **metadata):
    built = a_jobtemplate_object(name, spec=spec)
    built["metadata"] |= metadata
    return faults_in_jobtemplate(msgspec.convert(built, JobTemplateInFull))


def told(spec, name="get", **metadata):
    return [str(fault) for fault in judged(spec, name, **metadata)]


def test_what_is_right_has_no_fault():
    assert told(a_job_spec()) == []
    assert told(a_rich_job_spec()) == []


@pytest.mark.parametrize(("place", "value"), RIGHT)
def test_what_volcano_takes_is_taken(place, value):
    assert told(changed(place, value)) == []


@pytest.mark.parametrize(
    ("rule", "place", "value", "path", "kind"),
    [
        pytest.param(rule, *case, id=f"{rule}-{case[0]}-{k}")
        for rule, cases in WRONG.items()
        for k, case in enumerate(cases)
    ],
)
def test_one_mistake_is_one_fault_of_one_rule(rule, place, value, path, kind):
    (fault,) = judged(changed(place, value))
    assert (fault.rule, str(fault.field), fault.message.split(":")[0]) == (rule, path, kind)


def test_each_rule_has_its_examples():
    assert set(WRONG) == {rule.id for rule in ON_JOBTEMPLATE}
    assert len({rule.id for rule in ON_JOBTEMPLATE}) == len(ON_JOBTEMPLATE)
    assert all(rule.says for rule in ON_JOBTEMPLATE)


def test_a_jobtemplate_without_a_spec_has_no_tasks():
    assert told({}) == ["spec.tasks: Required value: must have at least one task"]
    assert [fault.rule for fault in faults_in_jobtemplate(JobTemplateInFull(ObjectMeta("get")))] == ["has-tasks"]


def test_a_pod_name_is_judged_in_the_shortest_jobflow_and_with_the_tasks_place():
    spec = a_job_spec()
    spec["tasks"][0]["name"] = "t" * 20
    assert told(spec, name="x" * 38) == []  # x-<38>-<20>-0 has 63 characters
    (fault,) = told(spec, name="x" * 39)
    assert fault == (
        f'spec.tasks[0].name: Invalid value: "{"t" * 20}": must be 1 character shorter: its Pod would be named '
        f'"x-{"x" * 39}-{"t" * 20}-0", with 64 characters even in a JobFlow of one letter; at most 63 are possible'
    )


def test_a_jobtemplate_whose_name_leaves_no_room_for_any_task_is_told_once():
    assert [str(fault.field) for fault in judged(a_rich_job_spec(), name="x" * 58)] == ["metadata.name"]
    assert [str(fault.field) for fault in judged(a_rich_job_spec(), name="", generateName="x" * 53)] == [
        "metadata.generateName"
    ]


def test_defaults_of_volcanos_webhook_count_as_filled_in():
    spec = a_job_spec()
    unnamed = {key: value for key, value in spec["tasks"][0].items() if key != "name"}
    assert told(a_job_spec(tasks=[unnamed, {**unnamed, "dependsOn": {"name": ["default0"]}}])) == []
    assert told(a_job_spec(tasks=[unnamed, {**unnamed, "name": "default0"}])) == [
        'spec.tasks[1].name: Duplicate value: "default0"'
    ]
    partitioned = {**unnamed, "replicas": 4, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}
    assert told(a_job_spec(tasks=[partitioned])) == []
    partitioned["partitionPolicy"]["minPartitions"] = 3
    assert told(a_job_spec(tasks=[partitioned])) == [
        "spec.tasks[0].partitionPolicy.minPartitions: Invalid value: 3: must not be more than totalPartitions (2)"
    ]


@pytest.mark.parametrize(("resources", "whole"), [
    ({"requests": {"cpu": "2"}}, True), ({"limits": {"cpu": 2}}, True), ({"requests": {"cpu": "2000m"}}, True),
    ({"requests": {"cpu": "1500m"}}, False), ({"requests": {"cpu": "0"}}, False), ({}, False), (None, False),
    ({"requests": {"memory": "1Gi"}, "limits": {"cpu": "2"}}, False),
])  # fmt: skip
def test_a_topology_policy_needs_whole_cpus_of_every_container(resources, whole):
    spec = a_job_spec()
    spec["tasks"][0]["topologyPolicy"] = "single-numa-node"
    spec["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = resources
    assert (told(spec) == []) == whole


def test_faults_come_in_the_order_of_the_document():
    spec = changed("queue", "root")
    spec |= {"minAvailable": -1, "policies": [{}], "plugins": {"x": []}}
    spec["tasks"][1] |= {"dependsOn": {"name": ["x"]}, "template": None, "replicas": -1}
    spec["tasks"][0]["template"]["spec"]["containers"][0] |= {"image": "", "name": ""}
    assert [str(fault.field) for fault in judged(spec)] == [
        "spec.minAvailable",
        "spec.tasks[0].template.spec.containers[0].name",
        "spec.tasks[0].template.spec.containers[0].image",
        "spec.tasks[1].replicas",
        "spec.tasks[1].template.spec.containers",
        "spec.tasks[1].dependsOn.name[0]",
        "spec.policies[0].action",
        "spec.policies[0].event",
        "spec.plugins[x]",
        "spec.queue",
    ]


def test_the_defaults_of_the_crd_are_no_change():
    old = a_rich_job_spec()
    new = {**old, "networkTopology": {"mode": "hard"}}
    del old["queue"], old["maxRetry"]
    assert not any(differences(meaning(old, DEFAULTS), meaning(new, DEFAULTS), SPEC))


@given(job_specs(), dns_labels)
def test_a_valid_jobtemplate_has_no_fault(spec, name):
    assert told(spec, name) == []


@pytest.mark.parametrize("rule", WRONG)
@given(data=st.data())
def test_a_planted_fault_is_found_alone_and_where_it_is_whatever_else_is_right(rule, data):
    place, value, path, _ = data.draw(st.sampled_from(WRONG[rule]))
    spec, others = changed(place, value), data.draw(job_specs())
    if spec.get("tasks"):
        besides = [{**task, "name": f"g{k}-{task['name'][:8]}z"} for k, task in enumerate(others["tasks"])]
        for task in besides:  # which are right, and add nothing to any sum
            task.pop("dependsOn", None)
            task |= {"replicas": 0, "minAvailable": 0}
        spec["tasks"] = [*spec["tasks"], *besides]
    name = data.draw(st.sampled_from(["get", "a-b", "0.x", "x.1"]))
    assert [(fault.rule, str(fault.field)) for fault in judged(spec, name)] == [(rule, path)]


def test_what_one_rule_has_said_no_other_says_again():
    unknown = {"event": "Podfailed", "action": "AbortJob"}
    assert [fault.rule for fault in judged(changed("policies", [unknown, unknown]))] == ["policy-events-are-known"] * 2

    spec = changed("tasks.0.partitionPolicy", {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1})
    spec["tasks"][0]["minAvailable"] = 3
    assert [fault.rule for fault in judged(spec)] == ["task-min-available-fits"]
