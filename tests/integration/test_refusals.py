"""What the webhook refuses, as kubectl prints it to whoever applied it."""

import pytest

from tests.support.cluster import ROOT
from tests.support.kubectl import Object, as_yaml
from tests.support.workspace import Workspace, jobflow, jobtemplate, jobtemplates

pytestmark = pytest.mark.integration

REFUSED = ROOT / "examples" / "refused"


def with_entries(*entries: Object, **spec: object) -> Object:
    return jobflow("ml") | {"spec": {"flows": list(entries), **spec}}


def probing(**probe: object) -> Object:
    return with_entries({"name": "get"}, {"name": "train", "dependsOn": {"targets": ["get"], "probe": probe}})


CASES = [
    pytest.param(jobflow("ml"), ["spec.flows: Required value"], id="has-flows"),
    pytest.param(
        jobflow("ml", *(f"e{i}" for i in range(1001))),
        ["spec.flows: Too many: 1001: must have at most 1000 items"],
        id="not-too-many",
    ),
    pytest.param(
        with_entries({"name": "get", "patch": {"jobSpec": {"plugins": {"env": ["x" * 1_310_000]}}}}),
        ["spec: Too long: may not be more than 1300000 bytes"],
        id="fits-etcd",
    ),
    pytest.param(jobflow("ml", "Get"), ['spec.flows[0].name: Invalid value: "Get": must '], id="names-are-valid"),
    pytest.param(
        jobflow("ml", "get", "train: get", "get"),
        ['spec.flows[2].name: Duplicate value: "get"'],
        id="names-are-unique",
    ),
    pytest.param(
        jobflow("ml", "prep", "train: prepp"),
        ['spec.flows[1].dependsOn.targets[0]: Not found: "prepp": names no entry of spec.flows; did you mean "prep"?'],
        id="targets-exist",
    ),
    pytest.param(
        jobflow("ml", "get", "train: get get"),
        ['spec.flows[1].dependsOn.targets[1]: Duplicate value: "get"'],
        id="targets-are-unique",
    ),
    pytest.param(
        jobflow("ml", "get: get"),
        ['spec.flows[0].dependsOn.targets[0]: Invalid value: "get": must not '],
        id="not-after-itself",
    ),
    pytest.param(
        jobflow("ml", "a: c", "b: a", "c: b"),
        [
            'spec.flows[0].dependsOn.targets[0]: Invalid value: "c":',
            "must not close a loop: a -> b -> c -> a (each runs after the one before it)",
        ],
        id="no-cycle",
    ),
    pytest.param(
        jobflow("f" * 20, "e" * 39),
        [f'spec.flows[0].name: Invalid value: "{"e" * 39}": must be 1 character shorter', f"{'f' * 20}-{'e' * 39}"],
        id="child-names-fit",
    ),
    pytest.param(
        jobflow("f" * 58, "e"),
        [f'metadata.name: Invalid value: "{"f" * 58}": must be 1 character shorter'],
        id="child-names-fit, no entry could",
    ),
    pytest.param(
        with_entries({"name": "get"}, jobRetainPolicy="keep"),
        ['spec.jobRetainPolicy: Unsupported value: "keep": supported values: "retain", "delete"'],
        id="an unknown policy",
    ),
    pytest.param(
        probing(tcpSocketList=[{"taskName": "main", "port": 65536}]),
        ["spec.flows[1].dependsOn.probe.tcpSocketList[0].port: Invalid value: 65536"],
        id="a port that is none",
    ),
    pytest.param(
        probing(httpGetList=[{"port": 80}]),
        ["spec.flows[1].dependsOn.probe.httpGetList[0].taskName: Required value"],
        id="a probe of no task",
    ),
    pytest.param(
        jobflow("ml", "Get", "get", "get", "train: gett", "a: b", "b: a"),
        [
            'spec.flows[0].name: Invalid value: "Get"',
            'spec.flows[2].name: Duplicate value: "get"',
            'spec.flows[3].dependsOn.targets[0]: Not found: "gett"',
            'spec.flows[4].dependsOn.targets[0]: Invalid value: "b": must not close a loop: a -> b -> a',
        ],
        id="all that is wrong at once, in the order of the document",
    ),
    pytest.param(
        jobflow("ml", "get", *(f"e{i}: nowhere{i}" for i in range(25))),
        ['Not found: "nowhere0"', 'Not found: "nowhere19"', "spec: and 5 more faults"],
        id="the first twenty of many, and how many more",
    ),
]


@pytest.mark.parametrize(("flow", "told"), CASES)
def test_a_jobflow_that_could_not_work_is_refused_with_what_to_mend(
    ns: Workspace, flow: Object, told: list[str]
) -> None:
    said = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(flow))

    assert f'The JobFlow "{flow["metadata"]["name"]}" is invalid' in said
    places = [said.find(each) for each in told]
    assert -1 not in places, said
    assert places == sorted(places), said
    assert ns.kubectl.by_name("jobflow") == {}


def test_more_than_one_fault_is_a_list_of_bullets(ns: Workspace) -> None:
    said = ns.kubectl.refused("create", "-f", str(REFUSED / "duplicate.yaml"))

    near = 'did you mean "extract"?'
    assert said.splitlines() == [
        'The JobFlow "twice" is invalid: ',
        f'* spec.flows[1].dependsOn.targets[0]: Not found: "extrakt": names no entry of spec.flows; {near}',
        '* spec.flows[2].name: Duplicate value: "extract"',
    ]


def test_a_type_that_is_wrong_is_refused_by_the_schema(ns: Workspace) -> None:
    said = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(with_entries({"name": "get", "dependsOn": ["get"]})))

    assert "spec.flows[0].dependsOn" in said
    assert "must be of type object" in said


def test_a_dry_run_gets_the_same_verdict_and_stores_nothing(ns: Workspace) -> None:
    flow = jobflow("ml", "get: get")

    dry = ns.kubectl.refused("create", "--dry-run=server", "-f", "-", stdin=as_yaml(flow))
    real = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(flow))
    ns.kubectl("create", "--dry-run=server", "-f", "-", stdin=as_yaml(jobflow("ml", "get")))

    assert dry == real
    assert ns.kubectl.by_name("jobflow") == {}


@pytest.mark.parametrize(
    ("jobflow_name", "entry"),
    [
        pytest.param("f" * 57, "e", id="the longest name of a JobFlow"),
        pytest.param("f", "e" * 57, id="the longest name of an entry"),
        pytest.param("a.b-c.d", "e.f", id="dots and hyphens"),
        pytest.param("1", "2", id="digits"),
    ],
)
def test_names_at_their_limits_are_taken_and_run(ns: Workspace, jobflow_name: str, entry: str) -> None:
    template = jobtemplate(entry)
    template["spec"]["tasks"][0]["name"] = "t"  # a Pod's name has that in it too
    ns.kubectl.apply(template, jobflow(jobflow_name, entry))

    ns.play(f"{jobflow_name}-{entry}", "Completed")

    ns.wait_for_phase(jobflow_name, "Succeed")


def test_a_generated_name_is_judged_as_the_api_server_made_it(ns: Workspace) -> None:
    short = jobflow("", "get") | {"metadata": {"generateName": "nightly-"}}
    ns.kubectl("create", "-f", "-", stdin=as_yaml(short))

    too_long = jobflow("", "e" * 50) | {"metadata": {"generateName": "nightly-"}}
    said = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(too_long))

    assert "must be 5 characters shorter" in said


@pytest.mark.parametrize("field", ["patch", "probe"])
def test_a_field_without_effect_yet_is_taken_with_a_warning(ns: Workspace, field: str) -> None:
    entry: Object = {"name": "train", "dependsOn": {"targets": ["get"]}}
    if field == "patch":
        entry["patch"] = {"jobSpec": {"minAvailable": 2}}
    else:
        entry["dependsOn"]["probe"] = {"tcpSocketList": [{"taskName": "main", "port": 80}]}

    said = ns.kubectl.apply(*jobtemplates("get", "train"), with_entries({"name": "get"}, entry))

    (warning,) = [line for line in said.splitlines() if line.startswith("Warning:")]
    assert field in warning
    assert "no effect" in warning
