"""What these tests expect was compared, step by step, with kube-apiserver 1.36.2."""

import copy
import json

import pytest

from devcluster.apply import ApplyConflict, ApplyError, server_side_apply, track_update

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "flows": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}},
                "policy": TEXT,
                "queue": TEXT,
                "containers": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": TEXT, "image": TEXT}},
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {"phase": TEXT, "conditions": {"type": "object", "additionalProperties": TEXT}},
        },
    },
}
EARLY, LATE = "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def a_jobflow(spec=None, **meta):
    return {
        "apiVersion": "flow/v1",
        "kind": "JobFlow",
        "metadata": {"name": "ml", "namespace": "d", **meta},
        **({"spec": spec} if spec is not None else {}),
    }


def applied(live, obj, manager="me", *, force=False, now=EARLY, subresource=""):
    return server_side_apply(live, obj, manager, force, now, SCHEMA, subresource)


def updated(live, new, manager="you", *, now=LATE, subresource=""):
    new = copy.deepcopy(new)
    track_update(live, new, manager, now, SCHEMA, subresource)
    return new


def owned(obj):
    return {
        (entry["manager"], entry["operation"], *([entry["subresource"]] if "subresource" in entry else [])): entry[
            "fieldsV1"
        ]
        for entry in obj["metadata"].get("managedFields", [])
    }


def conflicts(*arguments, **options):
    with pytest.raises(ApplyConflict) as caught:
        applied(*arguments, **options)
    return caught.value


FLOWS = {"flows": [{"name": "a"}], "policy": "retain"}


def test_who_applies_owns_what_is_applied_and_nothing_of_the_servers():
    made = applied(None, a_jobflow(FLOWS, labels={"x": "1"}))

    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "flow/v1",
            "time": EARLY,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {"f:flows": {}, "f:policy": {}}},
        }
    ]


def test_what_is_not_applied_any_more_is_removed():
    live = applied(None, a_jobflow(FLOWS, labels={"x": "1", "y": "2"}))

    again = applied(live, a_jobflow({"flows": [{"name": "a"}]}, labels={"x": "1"}))

    assert again["metadata"]["labels"] == {"x": "1"}
    assert again["spec"] == {"flows": [{"name": "a"}]}


def test_unless_somebody_else_owns_it():
    live = applied(applied(None, a_jobflow(FLOWS)), a_jobflow({"policy": "retain"}), "other")

    again = applied(live, a_jobflow({"flows": [{"name": "a"}]}))

    assert again["spec"]["policy"] == "retain"
    assert owned(again)["other", "Apply"] == {"f:spec": {"f:policy": {}}}


def test_what_the_server_has_filled_in_stays_with_its_neighbours():
    live = applied(None, a_jobflow({**FLOWS, "containers": [{"name": "a"}]}))
    live["spec"]["queue"] = "default"
    live["spec"]["containers"][0]["image"] = "default"

    kept = applied(live, a_jobflow({"policy": "retain", "containers": [{"name": "a"}]}))
    gone = applied(live, a_jobflow({"policy": "retain"}))

    assert kept["spec"] == {"policy": "retain", "queue": "default", "containers": [{"name": "a", "image": "default"}]}
    assert gone["spec"] == {"policy": "retain", "queue": "default"}


def test_another_value_for_what_others_own_is_a_conflict():
    live = updated(applied(None, a_jobflow(FLOWS, labels={"x": "1"})), a_jobflow(FLOWS, labels={"x": "2"}))

    clash = conflicts(live, a_jobflow(FLOWS, labels={"x": "3"}))

    assert clash.conflicts == [('"you" using flow/v1', ".metadata.labels.x")]
    assert str(clash) == 'Apply failed with 1 conflict: conflict with "you" using flow/v1: .metadata.labels.x'


def test_several_conflicts_are_told_by_manager():
    live = applied(None, a_jobflow(FLOWS, labels={"x": "1"}), "other")

    clash = conflicts(live, a_jobflow({"flows": [], "policy": "delete"}, labels={"x": "3"}))

    assert str(clash).splitlines() == [
        'Apply failed with 3 conflicts: conflicts with "other":',
        "- .metadata.labels.x",
        "- .spec.flows",
        "- .spec.policy",
    ]


def test_the_same_value_is_owned_by_both():
    live = applied(None, a_jobflow(FLOWS), "other")

    both = applied(live, a_jobflow({"policy": "retain"}))

    assert owned(both)["other", "Apply"] == {"f:spec": {"f:flows": {}, "f:policy": {}}}
    assert owned(both)["me", "Apply"] == {"f:spec": {"f:policy": {}}}


def test_force_takes_over():
    live = applied(None, a_jobflow(FLOWS), "other")

    taken = applied(live, a_jobflow({"policy": "delete"}), force=True)

    assert taken["spec"] == {"flows": [{"name": "a"}], "policy": "delete"}
    assert owned(taken)["other", "Apply"] == {"f:spec": {"f:flows": {}}}
    assert owned(taken)["me", "Apply"] == {"f:spec": {"f:policy": {}}}


def test_applying_the_same_again_changes_nothing_at_all():
    live = applied(None, a_jobflow(FLOWS), now=EARLY)

    assert applied(live, a_jobflow(FLOWS), now=LATE) == live


def test_applying_changes_neither_what_is_stored_nor_what_is_sent():
    live, sent = applied(None, a_jobflow(FLOWS)), a_jobflow({"policy": "delete"})
    before = copy.deepcopy((live, sent))

    applied(live, sent)

    assert (live, sent) == before


def test_an_object_that_nobody_kept_track_of_is_owned_as_before_the_first_apply():
    live = a_jobflow(FLOWS, uid="u", resourceVersion="1")

    made = applied(live, a_jobflow({"policy": "retain"}))

    assert owned(made)["before-first-apply", "Update"] == {"f:spec": {".": {}, "f:flows": {}, "f:policy": {}}}


def test_entries_of_a_list_by_key_have_owners_of_their_own():
    live = applied(None, a_jobflow({"containers": [{"name": "a", "image": "1"}]}))
    live = applied(live, a_jobflow({"containers": [{"name": "b", "image": "2"}]}), "other")

    again = applied(live, a_jobflow({"containers": [{"name": "c"}]}))

    assert again["spec"]["containers"] == [{"name": "b", "image": "2"}, {"name": "c"}]
    assert owned(again)["other", "Apply"] == {
        "f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:image": {}, "f:name": {}}}}
    }


def test_an_entry_goes_with_the_fields_that_others_have_in_it():
    live = applied(None, a_jobflow({"policy": "retain", "containers": [{"name": "a"}]}))
    live = updated(live, a_jobflow({"policy": "retain", "containers": [{"name": "a", "image": "2"}]}))

    again = applied(live, a_jobflow({"policy": "retain"}))

    assert again["spec"] == {"policy": "retain"}


def test_who_applies_is_the_same_in_every_version():
    live = applied(None, a_jobflow(FLOWS))

    again = applied(live, {**a_jobflow({"policy": "delete"}), "apiVersion": "flow/v2"})

    assert [entry["apiVersion"] for entry in again["metadata"]["managedFields"]] == ["flow/v2"]
    assert again["spec"] == {"policy": "delete"}


def test_finalizers_and_owners_are_merged_in_every_kind():
    live = applied(None, a_jobflow(finalizers=["a/x"], ownerReferences=[{"uid": "1", "name": "one"}]))

    both = applied(live, a_jobflow(finalizers=["b/x"], ownerReferences=[{"uid": "2", "name": "two"}]), "other")

    assert sorted(both["metadata"]["finalizers"]) == ["a/x", "b/x"]
    assert sorted(owner["uid"] for owner in both["metadata"]["ownerReferences"]) == ["1", "2"]


def test_status_is_applied_through_its_subresource_alone():
    obj = {**a_jobflow(FLOWS, labels={"x": "1"}), "status": {"phase": "Running"}}

    main, status = applied(None, obj), applied(a_jobflow(FLOWS), obj, subresource="status")

    assert "status" not in main
    assert status["status"] == {"phase": "Running"}
    assert "labels" not in status["metadata"]
    assert owned(status)["me", "Apply", "status"] == {"f:status": {"f:phase": {}}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bogus": 1}, ".spec.bogus: field not declared in schema"),
        (
            {"flows": [{"nme": "a"}], "x": 1},
            "errors:\n  .spec.flows[0].nme: field not declared in schema\n  .spec.x: field not declared in schema",
        ),
        ({"containers": [{"name": "a"}, {"name": "a"}]}, '.spec.containers: duplicate entries for key [name="a"]'),
    ],
)
def test_what_fits_no_schema_cannot_be_applied(spec, message):
    with pytest.raises(ApplyError) as caught:
        applied(None, a_jobflow(spec))

    assert str(caught.value) == f"failed to create typed patch object (d/ml; flow/v1, Kind=JobFlow): {message}"


def test_kubectl_takes_over_what_it_has_applied_on_the_clients_side():
    last = json.dumps(a_jobflow({"policy": "retain"}))
    live = updated(None, a_jobflow(FLOWS, annotations={LAST_APPLIED: last}), "kubectl-client-side-apply")

    taken = applied(live, a_jobflow({"policy": "delete"}), "kubectl")

    assert taken["spec"]["policy"] == "delete"
    assert json.loads(taken["metadata"]["annotations"][LAST_APPLIED])["spec"] == {"policy": "delete"}
    assert conflicts(live, a_jobflow({"flows": []}), "kubectl").conflicts[0][1] == ".spec.flows"
    assert conflicts(live, a_jobflow({"policy": "delete"}), "somebody")


def test_a_create_is_owned_by_who_created():
    made = updated(None, a_jobflow(FLOWS, labels={"x": "1"}, uid="u"))

    assert owned(made) == {
        ("you", "Update"): {
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
            "f:spec": {".": {}, "f:flows": {}, "f:policy": {}},
        }
    }


def test_a_change_is_owned_by_who_made_it_and_taken_from_all_others():
    live = applied(None, a_jobflow(FLOWS, labels={"x": "1"}))

    new = updated(live, a_jobflow({**FLOWS, "policy": "delete"}))

    assert owned(new)["me", "Apply"] == {"f:spec": {"f:flows": {}}}
    assert owned(new)["you", "Update"] == {"f:spec": {"f:policy": {}}}


def test_a_write_that_changes_nothing_leaves_everybody_as_they_were():
    live = updated(None, a_jobflow(FLOWS), now=EARLY)

    assert updated(live, a_jobflow(FLOWS), "other", now=LATE) == live


def test_a_write_to_the_status_is_kept_apart():
    live = updated(None, a_jobflow(FLOWS))

    new = updated(live, {**live, "status": {"phase": "Running"}}, subresource="status")

    assert owned(new)["you", "Update", "status"] == {"f:status": {".": {}, "f:phase": {}}}
    assert owned(new)["you", "Update"] == owned(live)["you", "Update"]


def test_managed_fields_are_dropped_on_request_and_then_nobody_keeps_track():
    live = updated(None, a_jobflow(FLOWS))

    dropped = updated(live, a_jobflow(FLOWS, managedFields=[{}], labels={"x": "1"}))
    after = updated(dropped, a_jobflow(FLOWS, labels={"x": "2"}))

    assert "managedFields" not in dropped["metadata"]
    assert "managedFields" not in after["metadata"]


def test_a_status_write_cannot_rewrite_who_owns_what():
    live = updated(None, a_jobflow(FLOWS))
    sent = {**a_jobflow(FLOWS, managedFields=[{}]), "status": {"phase": "Running"}}

    assert ("you", "Update") in owned(updated(live, sent, "other", subresource="status"))


def test_the_list_of_writers_does_not_grow_for_ever():
    obj = updated(None, a_jobflow(FLOWS), "writer-00")
    for i in range(1, 30):
        labels = {**obj["metadata"].get("labels", {}), f"l{i:02}": "x"}
        obj = updated(obj, a_jobflow(FLOWS, labels=labels), f"writer-{i:02}", now=f"2026-11-21T12:00:{i:02}Z")

    managers = [name for name, _ in owned(obj)]
    assert len(managers) <= 10
    assert "ancient-changes" in managers
    assert "writer-29" in managers
    assert "f:l01" in owned(obj)["ancient-changes", "Update"]["f:metadata"]["f:labels"]


def test_built_in_kinds_are_merged_without_a_schema():
    def a_pod(*containers, **data):
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": list(containers)},
            **data,
        }

    live = server_side_apply(None, a_pod({"name": "a"}), "me", False, EARLY, None)
    both = server_side_apply(live, a_pod({"name": "b"}, data={"k": "v"}), "other", False, EARLY, None)

    assert [one["name"] for one in both["spec"]["containers"]] == ["a", "b"]
    assert owned(both)["other", "Apply"] == {
        "f:data": {"f:k": {}},
        "f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
    }
