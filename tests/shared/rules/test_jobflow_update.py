"""The spec of a JobFlow may not change; what only is written otherwise is no change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.jobflow_update import faults_on_update

A, B, C = {"name": "a"}, {"name": "b"}, {"name": "c"}


def changed(old, new):
    """The changed paths, as they are told."""
    faults = faults_on_update(old, new)
    if not faults:
        return []
    (fault,) = faults
    assert (str(fault.field), fault.reason) == ("spec", "FieldValueForbidden")
    paths = fault.message.removeprefix("Forbidden: may not be changed once the JobFlow exists (changed: ")
    assert paths.endswith("); create a new JobFlow instead")
    return paths.removesuffix("); create a new JobFlow instead").split(", ")


def after(*targets):
    return {"name": "b", "dependsOn": {"targets": list(targets)}}


@pytest.mark.parametrize(("old", "new"), [
    pytest.param({"flows": [A]}, {"flows": [A]}, id="nothing"),
    pytest.param({"flows": [A, B]}, {"flows": [A, {"name": "b", "dependsOn": {}}]}, id="an empty object"),
    pytest.param({"flows": [A, B]}, {"flows": [A, after()]}, id="an empty list"),
    pytest.param({"flows": [A, B]}, {"flows": [A, {"name": "b", "dependsOn": None, "patch": None}]}, id="null"),
    pytest.param({"flows": [A]}, {"flows": [{"name": "a", "patch": {"jobSpec": {"tasks": []}}}]}, id="empty deep down"),
    pytest.param({"flows": [A]}, {"flows": [A], "jobRetainPolicy": "retain"}, id="the default"),
    pytest.param(None, {}, id="no spec"),
    pytest.param(None, {"flows": []}, id="an empty spec"),
    pytest.param(
        {"flows": [{"name": "a", "dependsOn": {"probe": {"httpGetList": [{"taskName": "t", "port": 1}]}}}]},
        {"flows": [{"name": "a", "dependsOn": {"probe": {
            "httpGetList": [{"taskName": "t", "port": 1, "httpHeader": {"name": "", "value": ""}}]}}}]},
        id="the empty header that Go's typed clients write",
    ),
])  # fmt: skip
def test_what_means_the_same_is_no_change(old, new):
    assert changed(old, new) == []
    assert changed(new, old) == []


@pytest.mark.parametrize(("old", "new", "paths"), [
    pytest.param({"flows": [A, after("a")]}, {"flows": [A, after("a", "c")]},
                 ["spec.flows[1].dependsOn.targets"], id="targets"),
    pytest.param({"flows": [A, B]}, {"flows": [A, after("a")]},
                 ["spec.flows[1].dependsOn.targets"], id="targets where there were none"),
    pytest.param({"flows": [A, after("a", "c")]}, {"flows": [A, after("c", "a")]},
                 ["spec.flows[1].dependsOn.targets"], id="their order"),
    pytest.param({"flows": [A, B]}, {"flows": [A, C]}, ["spec.flows[1].name"], id="a name"),
    pytest.param({"flows": [A, B]}, {"flows": [A, B, C]}, ["spec.flows[2]"], id="an entry added"),
    pytest.param({"flows": [A]}, {"flows": [A, A]}, ["spec.flows[1]"], id="an entry once more"),
    pytest.param({"flows": [A, B]}, {"flows": [C, A, B]}, ["spec.flows[0]"], id="an entry put before"),
    pytest.param({"flows": [A, B, C]}, {"flows": [A, C]}, ["spec.flows[1]"], id="an entry removed"),
    pytest.param({"flows": [A, B, C]}, {"flows": [A, after("a"), C, {"name": "d"}]},
                 ["spec.flows[1].dependsOn.targets", "spec.flows[3]"], id="an entry changed and one added"),
    pytest.param({"flows": [A]}, {"flows": [A], "jobRetainPolicy": "delete"}, ["spec.jobRetainPolicy"], id="policy"),
    pytest.param({"flows": [A], "jobRetainPolicy": "delete"}, {"flows": [A]}, ["spec.jobRetainPolicy"], id="no policy"),
    pytest.param({"flows": [A]}, {"flows": []}, ["spec.flows"], id="all entries"),
    pytest.param({"flows": [A]}, None, ["spec.flows"], id="the whole spec"),
    pytest.param({"flows": [{"name": "a", "patch": {"jobSpec": {"minAvailable": 1}}}]},
                 {"flows": [{"name": "a", "patch": {"jobSpec": {"minAvailable": True}}}]},
                 ["spec.flows[0].patch.jobSpec.minAvailable"], id="true is not 1"),
    pytest.param({"flows": [{"name": "a", "patch": {"labels": {"app.io/x\n": "1"}}}]}, {"flows": [A]},
                 ["spec.flows[0].patch.labels[app.io/x\\n]"], id="a key that is no field"),
])  # fmt: skip
def test_the_places_that_changed_are_told(old, new, paths):
    assert changed(old, new) == paths


def test_they_are_told_in_the_order_of_the_document():
    old = {"jobRetainPolicy": "delete", "flows": [A, B]}
    new = {"flows": [{"patch": {"jobSpec": {"queue": "q"}}, "name": "x"}, after("a")]}
    assert changed(old, new) == [
        "spec.flows[0].name",
        "spec.flows[0].patch.jobSpec.queue",
        "spec.flows[1].dependsOn.targets",
        "spec.jobRetainPolicy",
    ]


def test_ten_places_are_told_and_the_others_counted():
    old, new = ({"flows": [{"name": f"{prefix}{i}"} for i in range(500)]} for prefix in "ab")
    assert changed(old, new) == [*(f"spec.flows[{i}].name" for i in range(10)), "and 490 more"]


def test_a_jobflow_that_would_be_refused_today_stays_editable():
    wrong = {"flows": [after("b", "b", "nobody"), after()], "jobRetainPolicy": "keep"}
    assert changed(wrong, {**wrong}) == []


documents = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "retain", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "flows", "a/b"]), inner),
    max_leaves=12,
)


@given(documents, documents)
def test_any_two_documents_are_compared_and_the_same_in_both_directions(old, new):
    assert bool(faults_on_update(old, new)) == bool(faults_on_update(new, old))
    assert not faults_on_update(old, old)
