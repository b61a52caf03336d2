"""Listing objects: selectors, pages of one version, versions of the past, and other forms."""

import pytest

from tests.devcluster.api.client import TABLE, Answer, Api


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.body["items"]]


async def test_a_list_says_its_kind_and_version_and_is_in_order(api: Api):
    for name in ("b", "c", "a"):
        last = await api.widget(name)

    answer = await api.get(api.widgets)

    assert (answer.body["kind"], answer.body["apiVersion"]) == ("WidgetList", "tests.example/v1")
    assert int(answer.body["metadata"]["resourceVersion"]) >= int(last["metadata"]["resourceVersion"])
    assert names(answer) == ["a", "b", "c"]


async def test_a_list_of_a_namespace_that_is_not_there_is_empty(api: Api):
    answer = await api.get("/apis/tests.example/v1/namespaces/nowhere/widgets")

    assert (answer.code, names(answer)) == (200, [])


async def test_a_list_over_all_namespaces_has_them_all(api: Api):
    await api.widget("a")

    answer = await api.get("/apis/tests.example/v1/widgets", fieldSelector=f"metadata.namespace={api.namespace}")

    assert names(answer) == ["a"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=front", ["a", "b"]),
        ("tier==front", ["a", "b"]),
        ("tier!=front", ["c", "d"]),
        ("tier in (front, back)", ["a", "b", "c"]),
        ("tier notin (front)", ["c", "d"]),
        ("tier", ["a", "b", "c"]),
        ("!tier", ["d"]),
        ("tier=front,stage=test", ["b"]),
    ],
)
async def test_labels_select(api: Api, selector: str, expected: list[str]):
    await api.widget("a", labels={"tier": "front", "stage": "live"})
    await api.widget("b", labels={"tier": "front", "stage": "test"})
    await api.widget("c", labels={"tier": "back"})
    await api.widget("d")

    assert names(await api.get(api.widgets, labelSelector=selector)) == expected


async def test_a_label_selector_that_makes_no_sense_is_refused(api: Api):
    assert (await api.get(api.widgets, labelSelector="a in b")).code == 400


@pytest.mark.parametrize(
    ("selector", "expected"),
    [("metadata.name=a", ["a"]), ("metadata.name!=a", ["b"]), ("metadata.name=none", [])],
)
async def test_fields_select(api: Api, selector: str, expected: list[str]):
    await api.widget("a")
    await api.widget("b")

    assert names(await api.get(api.widgets, fieldSelector=selector)) == expected


async def test_a_field_that_cannot_be_selected_is_refused(api: Api):
    answer = await api.get(api.widgets, fieldSelector="spec.size=3")

    assert (answer.code, answer.message) == (400, "field label not supported: spec.size")


async def test_a_list_comes_in_pages_of_one_version(api: Api):
    for name in "abcde":
        await api.widget(name)

    first = await api.get(api.widgets, limit="2")
    await api.widget("aa")
    await api.delete(f"{api.widgets}/d")
    second = await api.get(api.widgets, limit="2", **{"continue": first.body["metadata"]["continue"]})
    third = await api.get(api.widgets, limit="2", **{"continue": second.body["metadata"]["continue"]})

    assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert first.body["metadata"]["remainingItemCount"] == 3
    assert not third.body["metadata"].get("continue")
    versions = {page.body["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(versions) == 1


async def test_a_continue_token_that_is_none_is_refused(api: Api):
    assert (await api.get(api.widgets, limit="2", **{"continue": "none"})).code == 400


async def test_a_page_of_a_forgotten_version_is_gone(embedded: Api):
    for name in "abc":
        await embedded.widget(name)
    first = await embedded.get(embedded.widgets, limit="2")
    await embedded.widget("d")
    embedded.server.store.compact()

    answer = await embedded.get(embedded.widgets, limit="2", **{"continue": first.body["metadata"]["continue"]})

    assert (answer.code, answer.body["reason"]) == (410, "Expired")


async def test_a_list_may_be_that_of_an_exact_version(api: Api):
    await api.widget("a")
    version = (await api.get(api.widgets)).body["metadata"]["resourceVersion"]
    await api.widget("b")
    await api.delete(f"{api.widgets}/a")

    answer = await api.get(api.widgets, resourceVersion=version, resourceVersionMatch="Exact")

    assert names(answer) == ["a"]
    assert answer.body["metadata"]["resourceVersion"] == version


async def test_an_exact_version_that_is_forgotten_is_gone(embedded: Api):
    await embedded.widget("a")
    version = (await embedded.get(embedded.widgets)).body["metadata"]["resourceVersion"]
    await embedded.widget("b")
    embedded.server.store.compact()

    answer = await embedded.get(embedded.widgets, resourceVersion=version, resourceVersionMatch="Exact")

    assert (answer.code, answer.body["reason"]) == (410, "Expired")


async def test_a_list_that_is_not_older_than_a_version_is_a_fresh_one(api: Api):
    widget = await api.widget("a")
    version = widget["metadata"]["resourceVersion"]

    answer = await api.get(api.widgets, resourceVersion=version, resourceVersionMatch="NotOlderThan")

    assert names(answer) == ["a"]


async def test_a_version_match_needs_a_version(api: Api):
    answer = await api.get(api.widgets, resourceVersionMatch="Exact")

    assert answer.code == 422


async def test_a_version_of_the_future_is_not_waited_for_for_ever(api: Api):
    version = str(int((await api.get(api.widgets)).body["metadata"]["resourceVersion"]) + 1_000_000)

    answer = await api.get(api.widgets, resourceVersion=version, resourceVersionMatch="NotOlderThan")

    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.message.startswith(f"Timeout: Too large resource version: {version}, current: ")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_a_list_can_be_shown_as_a_table(api: Api):
    await api.widget("a", size=7)
    await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})

    answer = await api.get(api.widgets, accept=TABLE)

    columns = [(column["name"], column["type"], column["priority"]) for column in answer.body["columnDefinitions"]]
    [row] = answer.body["rows"]
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert columns == [("Name", "string", 0), ("Size", "integer", 0), ("Phase", "string", 1), ("Age", "date", 0)]
    assert row["cells"][:3] == ["a", 7, "Done"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_one_object_can_be_shown_as_a_table(api: Api):
    await api.widget("a", size=7)

    answer = await api.get(f"{api.widgets}/a", accept=TABLE, includeObject="Object")

    [row] = answer.body["rows"]
    assert row["object"]["spec"] == {"size": 7}


async def test_a_list_can_be_of_metadata_alone(api: Api):
    widget = await api.widget("a", labels={"x": "y"})

    answer = await api.get(api.widgets, accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")

    [item] = answer.body["items"]
    assert answer.body["kind"] == "PartialObjectMetadataList"
    assert (item["metadata"], "spec" in item) == (widget["metadata"], False)


async def test_a_form_that_nobody_can_make_is_not_acceptable(api: Api):
    assert (await api.get(api.widgets, accept="text/html")).code == 406
