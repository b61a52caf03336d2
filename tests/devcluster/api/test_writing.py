"""Creating, updating and patching objects: versions, identity, what the server owns, and what it refuses."""

import asyncio

import pytest

from tests.devcluster.api.client import JSON_PATCH, MERGE, STRATEGIC, Api, a_widget


async def test_a_new_object_gets_a_uid_a_version_a_time_and_generation_one(api: Api):
    created = await api.widget("a", color="red")

    meta = created["metadata"]
    assert meta["uid"]
    assert int(meta["resourceVersion"]) > 0
    assert meta["creationTimestamp"].endswith("Z")
    assert meta["generation"] == 1
    assert meta["namespace"] == api.namespace


async def test_what_was_created_is_what_is_read(api: Api):
    created = await api.widget("a", color="red")

    read = await api.get(f"{api.widgets}/a")

    assert (read.code, read.body) == (200, created)


async def test_an_object_that_is_not_there_is_not_found_in_kubernetes_words(api: Api):
    answer = await api.get(f"{api.widgets}/a")

    assert (answer.code, answer.body["reason"]) == (404, "NotFound")
    assert answer.message == 'widgets.tests.example "a" not found'
    assert answer.body["details"] == {"name": "a", "group": "tests.example", "kind": "widgets"}


async def test_a_second_create_of_the_same_name_is_refused(api: Api):
    await api.widget("a")

    answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.message == 'widgets.tests.example "a" already exists'


async def test_of_many_creates_of_one_name_one_succeeds(api: Api):
    answers = await asyncio.gather(*(api.post(api.widgets, a_widget("a")) for _ in range(8)))

    assert sorted(answer.code for answer in answers) == [201] + [409] * 7


async def test_a_create_in_a_namespace_that_is_not_there_is_refused(api: Api):
    answer = await api.post("/apis/tests.example/v1/namespaces/nowhere/widgets", a_widget("a"))

    assert answer.code == 404
    assert answer.message == 'namespaces "nowhere" not found'


async def test_a_name_can_be_generated(api: Api):
    first = await api.post(api.widgets, a_widget("", generateName="a-"))
    second = await api.post(api.widgets, a_widget("", generateName="a-"))

    names = {first.body["metadata"]["name"], second.body["metadata"]["name"]}
    assert len(names) == 2
    assert all(name.startswith("a-") and len(name) == len("a-") + 5 for name in names)


async def test_an_object_needs_a_name(api: Api):
    answer = await api.post(api.widgets, a_widget(""))

    assert answer.code == 422
    assert answer.causes == [("metadata.name", "Required value: name or generateName is required")]


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254])
async def test_a_name_that_is_no_dns_subdomain_is_refused(api: Api, name: str):
    answer = await api.post(api.widgets, a_widget(name))

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.causes[0][0] == "metadata.name"


async def test_labels_are_checked(api: Api):
    answer = await api.post(api.widgets, a_widget("a", labels={"ok": "not ok", "/": "x"}))

    assert answer.code == 422
    assert {field for field, _ in answer.causes} == {"metadata.labels"}


async def test_a_resource_version_may_not_be_set_on_what_is_created(api: Api):
    widget = a_widget("a")
    widget["metadata"]["resourceVersion"] = "5"

    answer = await api.post(api.widgets, widget)

    assert answer.code in {400, 500}
    assert "resourceVersion should not be set on objects to be created" in answer.message


async def test_a_create_brings_no_status(api: Api):
    answer = await api.post(api.widgets, a_widget("a") | {"status": {"phase": "Done"}})

    assert "status" not in answer.body


async def test_an_update_with_the_version_that_was_read_is_stored(api: Api):
    widget = await api.widget("a", size=1)
    widget["spec"]["size"] = 2

    answer = await api.put(f"{api.widgets}/a", widget)

    assert (answer.code, answer.body["spec"]) == (200, {"size": 2})
    assert int(answer.body["metadata"]["resourceVersion"]) > int(widget["metadata"]["resourceVersion"])


async def test_an_update_with_an_older_version_is_a_conflict(api: Api):
    widget = await api.widget("a", size=1)
    await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}})

    answer = await api.put(f"{api.widgets}/a", widget)

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on widgets.tests.example "a": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )


async def test_an_update_without_a_version_is_refused_for_custom_resources(api: Api):
    widget = await api.widget("a", size=1)
    del widget["metadata"]["resourceVersion"]

    answer = await api.put(f"{api.widgets}/a", widget)

    assert answer.code == 422
    assert answer.causes[0][0] == "metadata.resourceVersion"


async def test_an_update_without_a_version_overwrites_a_built_in_kind(api: Api):
    await api.post(api.configmaps, {"metadata": {"name": "a"}, "data": {"x": "1"}})

    answer = await api.put(f"{api.configmaps}/a", {"metadata": {"name": "a"}, "data": {"x": "2"}})

    assert (answer.code, answer.body["data"]) == (200, {"x": "2"})


async def test_an_update_for_another_uid_is_a_conflict(api: Api):
    widget = await api.widget("a")
    widget["metadata"]["uid"] = "another"

    answer = await api.put(f"{api.widgets}/a", widget)

    assert answer.code == 409
    assert "Precondition failed: UID in precondition: another, UID in object meta: " in answer.message


async def test_an_update_of_what_is_not_there_is_not_found(api: Api):
    widget = await api.widget("a")
    await api.delete(f"{api.widgets}/a")

    answer = await api.put(f"{api.widgets}/a", widget)

    assert answer.code == 404


async def test_an_update_that_changes_nothing_writes_nothing(api: Api):
    widget = await api.widget("a", size=1)

    answer = await api.put(f"{api.widgets}/a", widget)

    assert answer.body["metadata"]["resourceVersion"] == widget["metadata"]["resourceVersion"]


async def test_the_generation_counts_changes_of_the_spec_alone(api: Api):
    await api.widget("a", size=1)

    after_label = await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"x": "y"}}})
    after_status = await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})
    after_spec = await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}})

    generations = [answer.body["metadata"]["generation"] for answer in (after_label, after_status, after_spec)]
    assert generations == [1, 1, 2]


async def test_what_the_server_owns_cannot_be_changed(api: Api):
    widget = await api.widget("a")
    owned = {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 77, "selfLink": "/x"}

    answer = await api.patch(f"{api.widgets}/a", {"metadata": owned})

    assert answer.code == 200
    assert {key: answer.body["metadata"].get(key) for key in owned} == {
        "creationTimestamp": widget["metadata"]["creationTimestamp"],
        "generation": 1,
        "selfLink": None,
    }


async def test_nobody_marks_an_object_as_deleted_but_by_a_delete(api: Api):
    await api.widget("a")

    answer = await api.patch(f"{api.widgets}/a", {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}})

    assert answer.code == 422
    assert answer.causes[0][0] == "metadata.deletionTimestamp"


async def test_the_status_is_written_through_its_subresource_alone(api: Api):
    await api.widget("a", size=1)

    await api.patch(f"{api.widgets}/a", {"status": {"phase": "Done"}})
    untouched = await api.get(f"{api.widgets}/a")
    await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}, "spec": {"size": 5}})
    written = await api.get(f"{api.widgets}/a")

    assert "status" not in untouched.body
    assert (written.body["status"], written.body["spec"]) == ({"phase": "Done"}, {"size": 1})


async def test_a_status_update_leaves_metadata_alone(api: Api):
    widget = await api.widget("a")
    widget["metadata"]["labels"] = {"x": "y"}
    widget["status"] = {"phase": "Done"}

    answer = await api.put(f"{api.widgets}/a/status", widget)

    assert "labels" not in answer.body["metadata"]
    assert answer.body["status"] == {"phase": "Done"}


async def test_a_status_update_with_an_older_version_is_a_conflict(api: Api):
    widget = await api.widget("a")
    await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Begun"}})

    answer = await api.put(f"{api.widgets}/a/status", widget | {"status": {"phase": "Done"}})

    assert answer.code == 409


async def test_a_subresource_that_is_not_there_is_not_found(api: Api):
    await api.widget("a")

    assert (await api.get(f"{api.widgets}/a/scale")).code == 404


async def test_a_merge_patch_removes_what_is_null(api: Api):
    await api.widget("a", size=1, color="red", labels={"x": "1", "y": "2"})

    answer = await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"x": None}}, "spec": {"color": None}}, MERGE)

    assert (answer.body["metadata"]["labels"], answer.body["spec"]) == ({"y": "2"}, {"size": 1})


async def test_a_json_patch_is_a_list_of_operations(api: Api):
    await api.widget("a", size=1)

    answer = await api.patch(
        f"{api.widgets}/a",
        [{"op": "test", "path": "/spec/size", "value": 1}, {"op": "replace", "path": "/spec/size", "value": 2}],
        JSON_PATCH,
    )

    assert (answer.code, answer.body["spec"]["size"]) == (200, 2)


async def test_a_json_patch_whose_test_fails_changes_nothing(api: Api):
    await api.widget("a", size=1)

    answer = await api.patch(
        f"{api.widgets}/a",
        [{"op": "replace", "path": "/spec/size", "value": 2}, {"op": "test", "path": "/spec/size", "value": 1}],
        JSON_PATCH,
    )

    assert answer.code == 422
    assert (await api.get(f"{api.widgets}/a")).body["spec"]["size"] == 1


async def test_a_patch_with_an_older_version_is_a_conflict(api: Api):
    widget = await api.widget("a")
    await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}})
    version = widget["metadata"]["resourceVersion"]

    answer = await api.patch(f"{api.widgets}/a", {"metadata": {"resourceVersion": version}, "spec": {"size": 4}})

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")


async def test_a_patch_of_a_format_that_custom_resources_do_not_know_is_refused(api: Api):
    await api.widget("a")

    answer = await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}}, STRATEGIC)

    assert answer.code == 415


async def test_a_strategic_patch_of_a_built_in_kind_merges(api: Api):
    await api.post(api.configmaps, {"metadata": {"name": "a"}, "data": {"x": "1"}})

    answer = await api.patch(f"{api.configmaps}/a", {"data": {"y": "2"}}, STRATEGIC)

    assert answer.body["data"] == {"x": "1", "y": "2"}


async def test_concurrent_patches_all_arrive(api: Api):
    await api.widget("a")

    answers = await asyncio.gather(
        *(api.patch(f"{api.widgets}/a", {"metadata": {"labels": {f"l{i}": "x"}}}) for i in range(5))
    )

    assert {answer.code for answer in answers} == {200}
    assert len((await api.get(f"{api.widgets}/a")).body["metadata"]["labels"]) == 5


async def test_a_dry_run_answers_and_stores_nothing(api: Api):
    created = await api.post(api.widgets, a_widget("a"), dryRun="All")
    await api.widget("b", size=1)
    changed = await api.patch(f"{api.widgets}/b", {"spec": {"size": 2}}, dryRun="All")
    deleted = await api.delete(f"{api.widgets}/b", dryRun="All")

    assert (created.code, created.body["spec"]) == (201, {"size": 3})
    assert (changed.code, changed.body["spec"]) == (200, {"size": 2})
    assert deleted.code == 200
    assert (await api.get(f"{api.widgets}/a")).code == 404
    assert (await api.get(f"{api.widgets}/b")).body["spec"] == {"size": 1}


async def test_a_dry_run_of_a_create_finds_that_the_name_is_taken(api: Api):
    await api.widget("a")

    answer = await api.post(api.widgets, a_widget("a"), dryRun="All")

    assert answer.code == 409


async def test_the_kind_must_be_that_of_the_path(api: Api):
    answer = await api.post(api.widgets, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_the_name_must_be_that_of_the_path(api: Api):
    widget = await api.widget("a")
    widget["metadata"]["name"] = "b"

    answer = await api.put(f"{api.widgets}/a", widget)

    assert (answer.code, answer.message) == (
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    )


async def test_the_namespace_must_be_that_of_the_path(api: Api):
    widget = a_widget("a")
    widget["metadata"]["namespace"] = "default"

    answer = await api.post(api.widgets, widget)

    assert (answer.code, answer.message) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_a_body_that_is_no_json_is_refused(api: Api):
    answer = await api.request("POST", api.widgets, b'{"kind":')

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_a_body_of_an_unknown_type_is_refused(api: Api):
    answer = await api.request("POST", api.widgets, b"<widget/>", media="application/xml")

    assert answer.code == 415


async def test_a_body_may_be_yaml(api: Api):
    text = b"apiVersion: tests.example/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 4}\n"

    answer = await api.request("POST", api.widgets, text, media="application/yaml")

    assert (answer.code, answer.body["spec"]) == (201, {"size": 4})


async def test_metadata_of_a_wrong_type_is_a_bad_request(api: Api):
    answer = await api.post(api.widgets, a_widget("a", labels={"x": 1}))

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_an_object_that_is_too_large_for_etcd_is_refused(api: Api):
    answer = await api.post(api.widgets, a_widget("a", free={"text": "x" * 1_600_000}))

    assert answer.code in {413, 500}
    assert "too large" in answer.message
