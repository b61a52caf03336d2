import copy
import json
from typing import NamedTuple

import pytest

from devcluster.apply import ApplyConflict, ApplyError, server_side_apply, track_update
from devcluster.patches import APPLY_PATCH, MERGE_PATCH, apply_patch

pytestmark = pytest.mark.real


class Step(NamedTuple):
    """Something that is done to an object."""

    how: str
    manager: str
    part: dict
    subresource: str = ""
    force: bool = False


NOW = "2026-11-21T12:00:00Z"


def flows(*names, **spec):
    return {"spec": {"flows": [{"name": name} for name in names], "jobRetainPolicy": "retain", **spec}}


def meta(**fields):
    return {"metadata": fields}


LAST_APPLIED = {
    "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
        {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", **meta(name="x", labels={"x": "1"}), **flows("a")}
    )
}

OWNERSHIP = [
    Step("apply", "a", {**flows("a"), **meta(labels={"x": "1", "y": "2"}, annotations={"p.q/r": "s"})}),
    Step("apply", "a", {**flows("a"), **meta(labels={"x": "1"})}),
    Step("apply", "b", {**flows("a"), **meta(labels={"x": "2", "z": "1"})}),
    Step("apply", "b", {**flows("b"), **meta(labels={"x": "2", "z": "1"})}, "", True),
    Step("apply", "a", {**flows("b"), **meta(labels={"x": "2"})}),
    Step("apply", "a", flows("b")),
    Step("apply", "a", {"spec": {"flows": [{"name": "b"}]}}),
    Step("merge", "c", meta(labels={"x": "9", "n": "1"}, finalizers=["f/x"])),
    Step(
        "merge", "d", {"status": {"state": {"phase": "Running"}, "conditions": {"j1": {"phase": "Pending"}}}}, "status"
    ),
    Step("merge", "d", {"status": {"state": {"phase": "Failed"}, "conditions": {"j2": {}, "j1": None}}}, "status"),
    Step("merge", "e", meta(labels=None)),
    Step("merge", "e", meta(finalizers=["f/x", "g/y"])),
    Step("apply", "a", {**flows("b"), **meta(finalizers=["h/z", "g/y"])}),
    Step("apply", "a", {**flows("b"), **meta(finalizers=["h/z"])}),
    Step("merge", "e", meta(finalizers=None, annotations={})),
    Step("merge", "e", meta(managedFields=[])),
    Step("apply", "s", {"status": {"state": {"phase": "Succeed"}}}, "status", True),
    Step("apply", "s", {"status": {}}, "status"),
    Step("merge", "e", meta(managedFields=[{}])),
    Step("merge", "e", meta(labels={"after": "1"})),
    Step("apply", "n", {**flows("b"), **meta(labels={"after": "2"})}, "", True),
]
CLIENT_SIDE = [
    Step("create", "c", {**flows("a"), **meta(labels={"x": "1"}, annotations=LAST_APPLIED)}),
    Step("apply", "kubectl", {**flows("b"), **meta(labels={"x": "2"})}),
    Step("apply", "kubectl", {"spec": {"flows": [{"name": "b", "nme": 1}]}}),
    Step("apply", "other", {**flows("z"), **meta(labels={"x": "7"})}),
]
CONFIGMAP = [
    Step("create", "c", {"data": {"a": "1", "b": "2"}}),
    Step("apply", "a", {"data": {"a": "1", "c": "3"}}),
    Step("apply", "a", {"data": {"c": "4"}}),
    Step("apply", "a", {}),
    Step("merge", "p", {"data": {"a": "5", "b": None}}),
    Step("apply", "q", {"data": {"a": "6"}}),
]


def comparable(obj):
    """The object without what only a server writes, its times included."""
    left = copy.deepcopy(obj)
    for name in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        left["metadata"].pop(name, None)
    for entry in left["metadata"].get("managedFields", ()):
        entry.pop("time", None)
    left["metadata"].setdefault("managedFields", []).sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return left


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        pytest.param(OWNERSHIP, "jobflows", id="a JobFlow changes hands"),
        pytest.param(CLIENT_SIDE, "jobflows", id="from the client's side to the server's"),
        pytest.param(CONFIGMAP, "configmaps", id="a ConfigMap, without a schema"),
    ],
)
def test_whoever_writes_owns_what_kube_apiserver_says(ask, jobflows, steps, kind):
    custom = kind == "jobflows"
    path = jobflows.path if custom else "/api/v1/namespaces/default/configmaps"
    schema = jobflows.schema if custom else None
    name = f"apply-{steps[0][0]}-{kind}"
    head = (
        {"apiVersion": jobflows.api_version, "kind": "JobFlow"} if custom else {"apiVersion": "v1", "kind": "ConfigMap"}
    )
    live = None
    for step in steps:
        whole = {
            **head,
            **step.part,
            "metadata": {**step.part.get("metadata", {}), "name": name, "namespace": "default"},
        }
        answer = asked(ask, path, step, whole)

        expected = comparable(answer.body) if answer.code < 300 else answer.body["message"]
        assert outcome(step, live, whole, schema) == expected, step
        live = answer.body if answer.code < 300 else live


def asked(ask, path, step, whole):
    address = f"{path}/{whole['metadata']['name']}{'/' if step.subresource else ''}{step.subresource}"
    if step.how == "create":
        return ask("POST", f"{path}?fieldManager={step.manager}", whole)
    if step.how == "merge":
        return ask("PATCH", f"{address}?fieldManager={step.manager}", step.part, MERGE_PATCH)
    return ask("PATCH", f"{address}?fieldManager={step.manager}&force={str(step.force).lower()}", whole, APPLY_PATCH)


def outcome(step, live, whole, schema):
    """What the embedded server's own functions make of a request, or the message of their refusal."""
    try:
        if step.how == "apply":
            applied = server_side_apply(live, whole, step.manager, step.force, NOW, schema, step.subresource)
            return comparable(applied)
    except (ApplyConflict, ApplyError) as refusal:
        return str(refusal)
    mine = copy.deepcopy(whole) if step.how == "create" else apply_patch(MERGE_PATCH, live, step.part)
    track_update(live, mine, step.manager, NOW, schema, step.subresource)
    return comparable(mine)
