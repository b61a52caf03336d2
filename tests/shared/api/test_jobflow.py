"""JobFlows decode as the wire is: what is missing, null or unknown is no error, and spellings are Volcano's."""

import msgspec
import pytest

from shared.api.jobflow import JobFlow, JobFlowStatus, Phase, RetainPolicy
from shared.api.meta import Key
from tests.support.builders import a_jobflow


def decoded(text):
    return msgspec.json.decode(text, type=JobFlow)


@pytest.mark.parametrize("text", [
    "{}",
    '{"spec": {}}',
    '{"spec": {"flows": null, "jobRetainPolicy": null}}',
    '{"spec": {"flows": []}, "status": {"unheardOf": 1}}',
])  # fmt: skip
def test_a_jobflow_may_lack_anything(text):
    jobflow = decoded(text)
    assert (jobflow.flows, jobflow.phase, jobflow.deletes_jobs) == ((), "", False)


def test_targets_may_be_missing_at_every_level():
    written = [{}, {"dependsOn": {}}, {"dependsOn": {"targets": None}}, {"dependsOn": {"targets": ["a"]}}]
    jobflow = msgspec.convert({"spec": {"flows": written}}, JobFlow)
    assert [flow.targets for flow in jobflow.flows] == [(), (), (), ("a",)]


def test_a_probe_is_read_under_the_names_that_volcano_gives_its_fields():
    header = {"name": "n", "value": "v"}
    written = {
        "httpGetList": [{"taskName": "t", "path": "/", "port": 80, "httpHeader": header}],
        "tcpSocketList": [{"taskName": "t", "port": 81}],
        "taskStatusList": [{"taskName": "t", "phase": "Running"}],
    }
    jobflow = msgspec.convert({"spec": {"flows": [{"name": "a", "dependsOn": {"probe": written}}]}}, JobFlow)
    probe = jobflow.flows[0].depends_on.probe
    get = probe.http_get_list[0]
    assert (get.task_name, get.path, get.port, get.http_header.name, get.http_header.value) == ("t", "/", 80, "n", "v")
    assert probe.tcp_socket_list[0].port == 81
    assert probe.task_status_list[0].phase == "Running"


def test_jobs_are_deleted_only_where_the_policy_says_so():
    assert a_jobflow("a", policy=RetainPolicy.DELETE).deletes_jobs
    assert not a_jobflow("a", policy=RetainPolicy.RETAIN).deletes_jobs
    assert not a_jobflow("a").deletes_jobs


def test_the_phase_may_be_a_word_that_nobody_knows():
    assert a_jobflow("a", phase="Succeed").phase == Phase.SUCCEED
    assert a_jobflow("a", phase="Dreaming").phase == "Dreaming"


def test_the_status_has_volcanos_spelling():
    status = JobFlowStatus(unknown_jobs=("x",), completed_jobs=("y",))
    assert msgspec.json.encode(status) == b'{"completedJobs":["y"],"unKnowJobs":["x"]}'
    assert msgspec.convert({"unKnowJobs": ["x"]}, JobFlowStatus).unknown_jobs == ("x",)


def test_a_jobflow_is_named_by_namespace_and_name():
    assert a_jobflow("a", name="etl", namespace="ml").key == Key("ml", "etl")
    assert str(Key("ml", "etl")) == "ml/etl"
