"""What is refused of a probe."""

import msgspec
import pytest

from shared.api.jobflow import JobFlow
from shared.rules.jobflow import faults_on_create
from tests.support.builders import a_jobflow_object

GET = {"taskName": "web", "port": 80}


def told(probe):
    built = a_jobflow_object("a")
    built["spec"]["flows"][0]["dependsOn"] = {"probe": probe}
    faults = faults_on_create(msgspec.convert(built, JobFlow), max_flows=1, size=1)
    return [str(fault).removeprefix("spec.flows[0].dependsOn.probe.") for fault in faults]


@pytest.mark.parametrize("probe", [
    {},
    {"httpGetList": [], "tcpSocketList": None},
    {"httpGetList": [GET]},
    {"httpGetList": [{**GET, "path": "/", "httpHeader": {"name": "Accept", "value": "*/*"}}]},
    {"httpGetList": [{**GET, "httpHeader": {"name": "", "value": ""}}]},
    {"httpGetList": [{**GET, "httpHeader": None}]},
    {"tcpSocketList": [{"taskName": "t", "port": 1}, {"taskName": "t" * 253, "port": 65535}]},
    {"taskStatusList": [{"taskName": "t", "phase": "x" * 63}]},
])  # fmt: skip
def test_what_is_right_has_no_fault(probe):
    assert told(probe) == []


@pytest.mark.parametrize(("probe", "faults"), [
    ({"httpGetList": [GET, {}]},
     ["httpGetList[1].taskName: Required value", "httpGetList[1].port: Required value"]),
    ({"httpGetList": [{**GET, "httpHeader": {"name": "Accept"}}]}, ["httpGetList[0].httpHeader.value: Required value"]),
    ({"httpGetList": [{**GET, "httpHeader": {"name": "", "value": "x"}}]},
     ["httpGetList[0].httpHeader.name: Required value"]),
    ({"tcpSocketList": [{"taskName": ""}]},
     ["tcpSocketList[0].taskName: Required value", "tcpSocketList[0].port: Required value"]),
    ({"taskStatusList": [{}]},
     ["taskStatusList[0].taskName: Required value", "taskStatusList[0].phase: Required value"]),
])  # fmt: skip
def test_a_probe_is_complete(probe, faults):
    assert told(probe) == faults


@pytest.mark.parametrize("port", [0, -1, 65536, 2**40])
def test_a_port_is_a_port(port):
    probe = {"httpGetList": [{**GET, "port": port}], "tcpSocketList": [{**GET, "port": port}]}
    assert told(probe) == [
        f"{where}[0].port: Invalid value: {port}: must be between 1 and 65535, inclusive"
        for where in ("httpGetList", "tcpSocketList")
    ]


def test_texts_have_the_lengths_that_volcano_allows():
    task = "t" * 254
    assert told({
        "httpGetList": [{**GET, "taskName": task}],
        "tcpSocketList": [{**GET, "taskName": task}],
        "taskStatusList": [{"taskName": task, "phase": "p" * 64}],
    }) == [
        "httpGetList[0].taskName: Too long: may not be more than 253 bytes",
        "tcpSocketList[0].taskName: Too long: may not be more than 253 bytes",
        "taskStatusList[0].taskName: Too long: may not be more than 253 bytes",
        "taskStatusList[0].phase: Too long: may not be more than 63 bytes",
    ]  # fmt: skip
