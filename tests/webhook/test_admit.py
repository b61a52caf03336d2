"""What is judged for which kind and operation."""

import copy
from typing import Any

import pytest
from hypothesis import given

from shared.api.names import ALLOW_DELETE
from shared.rules.jobflow_warnings import TemplateFacts
from tests.support.builders import a_job_spec, a_jobflow_object, a_jobtemplate_object
from tests.support.generated import jobflow_objects
from tests.webhook.reviews import a_review, creation, deletion, sent, template_deletion
from webhook.admit import KINDS, ROWS, AskUsers, Known, judge
from webhook.review import Operation
from webhook.verdict import Verdict


def verdict_on(review: dict[str, Any], known: Known | None = None, resource: str = "jobflows") -> Verdict:
    verdict = asked(review, known, resource)
    assert isinstance(verdict, Verdict)
    return verdict


def asked(review: dict[str, Any], known: Known | None = None, resource: str = "jobflows") -> Verdict | AskUsers:
    judged = judge(sent(review), resource, known or Known())
    assert judged.error is None
    return judged.verdict


def update(change: dict[str, Any], *, metadata: dict[str, Any] | None = None, **about: Any) -> dict[str, Any]:
    """The review of an update of a JobFlow, `change` being what becomes different in its spec."""
    old = a_jobflow_object("get", "train: get", **about)
    new = copy.deepcopy(old)
    new["spec"].update(change)
    new["metadata"].update(metadata or {})
    return a_review("UPDATE", new=new, old=old)


def faults(verdict: Verdict) -> list[str]:
    return [str(fault) for fault in verdict.faults]


def test_every_kind_has_a_row_for_every_operation() -> None:
    assert set(ROWS) == {(resource, operation) for resource in KINDS for operation in Operation}


def test_a_jobflow_that_can_run_is_created() -> None:
    assert verdict_on(creation("get", "train: get")) == Verdict(allowed=True)


def test_a_jobflow_that_can_never_finish_is_refused_with_everything_that_is_wrong() -> None:
    verdict = verdict_on(creation("get: train", "train: get", "train", "eval: trian"))
    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 422, "Invalid")
    assert verdict.rules == {"no-cycle", "names-are-unique", "targets-exist"}
    assert len(verdict.faults) == 3


def test_the_most_entries_are_what_the_operator_has_set() -> None:
    review = creation("a", "b", "c")
    assert verdict_on(review, Known(max_flows=3)).allowed
    assert faults(verdict_on(review, Known(max_flows=2))) == ["spec.flows: Too many: 3: must have at most 2 items"]


def test_the_whole_object_counts_for_its_size_annotations_too() -> None:
    review = creation("get", metadata={"annotations": {"note": "x" * 1_300_000}})
    assert verdict_on(review).rules == {"fits-etcd"}


def test_wrong_types_are_told_before_anything_else_can_be_judged() -> None:
    jobflow = a_jobflow_object("get")
    jobflow["spec"]["flows"].append({"name": 7})
    verdict = verdict_on(a_review(new=jobflow))
    assert faults(verdict) == ["spec.flows[1].name: Invalid value: 7: must be a string"]
    assert verdict.rules == {"schema"}


def test_missing_templates_are_a_warning_and_no_fault() -> None:
    known = Known(templates=lambda namespace: TemplateFacts({"get"} if namespace == "ml" else set()))
    verdict = verdict_on(creation("get", "train: get"), known)
    assert verdict.allowed
    assert len(verdict.warnings) == 1
    assert "train" in verdict.warnings[0]
    assert "get" not in verdict.warnings[0].partition(":")[2]


def test_nothing_is_warned_of_while_nothing_is_known() -> None:
    assert verdict_on(creation("get"), Known(templates=lambda namespace: None)).warnings == ()


def test_a_jobflow_with_status_finalizers_and_owners_may_be_created() -> None:
    metadata = {
        "finalizers": ["example.com/hold"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u", "controller": True}],
    }
    assert verdict_on(creation("get", metadata=metadata, phase="Succeed")).allowed


def test_a_made_up_name_is_judged_as_any_name() -> None:
    made = creation("get", name="etl-x7k2p", metadata={"generateName": "etl-"})
    assert verdict_on(made).allowed
    too_long = creation("get", name="e" * 58, metadata={"generateName": "e" * 53})
    assert verdict_on(too_long).rules == {"child-names-fit"}


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"managedFields": [{"manager": "kubectl"}], "resourceVersion": "8"}, id="managed fields"),
        pytest.param({"labels": {"a": "b"}, "annotations": {"c": "d"}}, id="labels and annotations"),
        pytest.param({"finalizers": ["example.com/hold"]}, id="finalizers"),
        pytest.param({"ownerReferences": []}, id="owners"),
    ],
)
def test_everything_but_the_spec_may_change(metadata: dict[str, Any]) -> None:
    assert verdict_on(update({}, metadata=metadata)).allowed


def test_a_finalizer_can_be_taken_from_a_jobflow_that_is_being_deleted() -> None:
    deleting = {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["example.com/hold"]}
    assert verdict_on(update({}, metadata={**deleting, "finalizers": []})).allowed
    assert not verdict_on(update({"flows": []}, metadata=deleting)).allowed


TRAIN = {"name": "train", "dependsOn": {"targets": ["get"]}}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"jobRetainPolicy": "retain"}, id="the schema's default"),
        pytest.param({"jobRetainPolicy": None}, id="null"),
        pytest.param({"flows": [{"name": "get", "dependsOn": {}}, TRAIN]}, id="an empty map"),
        pytest.param({"flows": [{"name": "get", "dependsOn": {"targets": [], "probe": None}}, TRAIN]}, id="empty list"),
    ],
)
def test_what_means_the_same_is_no_change(change: dict[str, Any]) -> None:
    assert verdict_on(update(change)).allowed


def test_a_jobflow_that_todays_rules_refuse_stays_editable() -> None:
    looped = a_jobflow_object("a: b", "b: a", "b")
    labelled = copy.deepcopy(looped)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert verdict_on(a_review("UPDATE", new=labelled, old=looped)).allowed


def test_a_change_of_the_spec_is_refused_and_its_places_are_named() -> None:
    verdict = verdict_on(update({"flows": [{"name": "get"}, {"name": "train"}]}))
    assert verdict.rules == {"spec-does-not-change"}
    assert str(verdict.faults[0]) == (
        "spec: Forbidden: may not be changed once the JobFlow exists (changed: spec.flows[1].dependsOn.targets); "
        "create a new JobFlow instead"
    )
    assert len(verdict.faults) == 1


def test_a_running_jobflow_is_not_deleted_by_accident() -> None:
    running = a_jobflow_object("get", phase="Running")
    assert verdict_on(deletion(running)).code == 403
    cleaner = "system:serviceaccount:kube-system:generic-garbage-collector"
    assert verdict_on(deletion(running, user=cleaner)).allowed


def test_each_jobflow_of_a_deletecollection_is_judged_by_itself() -> None:
    assert verdict_on(deletion(a_jobflow_object("get", phase="Succeed"), name="")).allowed
    assert not verdict_on(deletion(a_jobflow_object("get", phase="Running"), name="")).allowed


def test_a_jobflow_whose_status_makes_no_sense_may_be_released() -> None:
    strange = a_jobflow_object("get", status={"state": {"phase": "?"}, "conditions": 7, "jobStatusList": {}})
    assert not verdict_on(deletion(strange)).allowed
    strange["metadata"]["annotations"] = {ALLOW_DELETE: "true"}
    assert verdict_on(deletion(strange)).allowed


def test_a_jobtemplate_of_the_right_types_is_stored() -> None:
    template = a_jobtemplate_object()
    assert verdict_on(a_review(new=template, resource="jobtemplates"), resource="jobtemplates").allowed
    template["spec"]["minAvailable"] = "1"
    verdict = verdict_on(a_review(new=template, resource="jobtemplates"), resource="jobtemplates")
    assert faults(verdict) == ['spec.minAvailable: Invalid value: "1": must be an integer']


def test_a_jobtemplate_is_refused_with_everything_that_is_wrong() -> None:
    spec = a_job_spec(minAvailable=5, queue="root")
    verdict = verdict_on(
        a_review(new=a_jobtemplate_object(spec=spec), resource="jobtemplates"), resource="jobtemplates"
    )
    assert (verdict.code, [str(fault.field) for fault in verdict.faults]) == (422, ["spec.minAvailable", "spec.queue"])


def test_an_update_that_leaves_a_jobtemplate_alone_is_not_judged() -> None:
    old = a_jobtemplate_object(spec=a_job_spec(minAvailable="1"))
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    new["spec"]["policies"] = []
    new["spec"]["maxRetry"] = 3
    assert verdict_on(a_review("UPDATE", new=new, old=old, resource="jobtemplates"), resource="jobtemplates").allowed
    new["spec"]["queue"] = "other"
    changed = a_review("UPDATE", new=new, old=old, resource="jobtemplates")
    assert not verdict_on(changed, resource="jobtemplates").allowed


def test_whether_a_jobtemplate_may_go_depends_on_its_users() -> None:
    question = asked(template_deletion("get"), resource="jobtemplates")
    assert isinstance(question, AskUsers)
    assert (question.namespace, question.name) == ("ml", "get")
    assert question.decide([]).allowed
    assert question.decide(["etl"]).code == 403
    assert question.give_up().code == 503


def test_a_released_jobtemplate_goes_without_a_question() -> None:
    released = template_deletion("get", metadata={"annotations": {ALLOW_DELETE: "true"}})
    assert verdict_on(released, resource="jobtemplates").allowed


@given(jobflow_objects())
def test_no_valid_jobflow_is_refused(jobflow: dict[str, Any]) -> None:
    assert verdict_on(a_review(new=jobflow)).allowed


@given(jobflow_objects())
def test_a_dry_run_and_a_second_asking_get_the_same_verdict(jobflow: dict[str, Any]) -> None:
    jobflow["spec"]["flows"].append(jobflow["spec"]["flows"][0])
    first = verdict_on(a_review(new=jobflow))
    assert first == verdict_on(a_review(new=jobflow, dryRun=True))
    assert not first.allowed
