"""Deleting objects: at once or after their finalizers, under preconditions, and what becomes of their dependents."""

from typing import Any

import pytest

from tests.devcluster.api.client import Api, owned_by
from tests.devcluster.api.conftest import until


async def is_gone(api: Api, path: str) -> bool:
    return (await api.get(path)).code == 404


async def test_a_delete_answers_with_what_is_gone(api: Api):
    widget = await api.widget("a")

    answer = await api.delete(f"{api.widgets}/a")

    assert (answer.code, answer.body["kind"], answer.body["status"]) == (200, "Status", "Success")
    uid = widget["metadata"]["uid"]
    assert answer.body["details"] == {"name": "a", "group": "tests.example", "kind": "widgets", "uid": uid}
    assert await is_gone(api, f"{api.widgets}/a")


async def test_a_delete_of_what_is_not_there_is_not_found(api: Api):
    assert (await api.delete(f"{api.widgets}/a")).code == 404


async def test_an_object_with_finalizers_is_marked_and_stays(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])

    answer = await api.delete(f"{api.widgets}/a")

    meta = answer.body["metadata"]
    assert (answer.code, answer.body["kind"]) == (200, "Widget")
    assert meta["deletionTimestamp"]
    assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (0, 2)
    assert (await api.get(f"{api.widgets}/a")).body == answer.body


async def test_a_marked_object_goes_with_its_last_finalizer(api: Api):
    await api.widget("a", finalizers=["tests.example/hold", "tests.example/hold2"])
    await api.delete(f"{api.widgets}/a")

    await api.patch(f"{api.widgets}/a", {"metadata": {"finalizers": ["tests.example/hold"]}})
    still = await api.get(f"{api.widgets}/a")
    last = await api.patch(f"{api.widgets}/a", {"metadata": {"finalizers": None}})

    assert (still.code, last.code) == (200, 200)
    assert await is_gone(api, f"{api.widgets}/a")


async def test_no_finalizer_can_be_added_to_what_is_being_deleted(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])
    await api.delete(f"{api.widgets}/a")

    answer = await api.patch(
        f"{api.widgets}/a", {"metadata": {"finalizers": ["tests.example/hold", "tests.example/more"]}}
    )

    assert answer.code == 422
    [(field, message)] = set(answer.causes)  # a real server says it twice
    assert field == "metadata.finalizers"
    assert message == (
        "Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"tests.example/more"}'
    )


async def test_what_is_being_deleted_can_still_be_changed(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])
    await api.delete(f"{api.widgets}/a")

    label = await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"x": "y"}}})
    status = await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})

    assert (label.code, status.code) == (200, 200)


async def test_a_second_delete_changes_nothing(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])
    first = await api.delete(f"{api.widgets}/a")

    second = await api.delete(f"{api.widgets}/a")

    assert (second.code, second.body) == (200, first.body)


@pytest.mark.parametrize(
    ("precondition", "says"),
    [
        ({"uid": "another"}, "the UID in the precondition (another) does not match the UID in record ("),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match the ResourceVersion in"),
    ],
)
async def test_a_delete_can_demand_the_object_that_was_seen(api: Api, precondition: dict[str, str], says: str):
    await api.widget("a")

    answer = await api.delete(f"{api.widgets}/a", {"preconditions": precondition})

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message.startswith(f'Operation cannot be fulfilled on Widget.tests.example "a": {says}')
    assert not await is_gone(api, f"{api.widgets}/a")


async def test_a_delete_that_demands_what_is_there_is_done(api: Api):
    meta = (await api.widget("a"))["metadata"]
    wanted = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}

    answer = await api.delete(f"{api.widgets}/a", {"preconditions": wanted})

    assert answer.code == 200
    assert await is_gone(api, f"{api.widgets}/a")


async def test_dependents_go_after_their_owner_by_default(api: Api):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner))

    await api.delete(f"{api.widgets}/owner")

    await until(lambda: is_gone(api, f"{api.widgets}/child"))


async def test_grandchildren_go_too(api: Api):
    owner = await api.widget("owner")
    child = await api.widget("child", ownerReferences=owned_by(owner))
    await api.widget("grandchild", ownerReferences=owned_by(child))

    await api.delete(f"{api.widgets}/owner", propagationPolicy="Background")

    await until(lambda: is_gone(api, f"{api.widgets}/grandchild"))


async def test_an_owner_that_is_deleted_in_the_foreground_waits_for_what_blocks_it(api: Api):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner), finalizers=["tests.example/hold"])

    answer = await api.delete(f"{api.widgets}/owner", propagationPolicy="Foreground")
    await until(lambda: is_marked(api, "child"))

    assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert not await is_gone(api, f"{api.widgets}/owner")
    await api.patch(f"{api.widgets}/child", {"metadata": {"finalizers": None}})
    await until(lambda: is_gone(api, f"{api.widgets}/owner"))


async def test_an_owner_that_is_deleted_in_the_foreground_waits_for_nobody_else(api: Api):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner, block=False), finalizers=["tests.example/hold"])

    await api.delete(f"{api.widgets}/owner", propagationPolicy="Foreground")

    await until(lambda: is_gone(api, f"{api.widgets}/owner"))
    await api.patch(f"{api.widgets}/child", {"metadata": {"finalizers": None}})


async def test_dependents_may_be_left_as_orphans(api: Api):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner))

    answer = await api.delete(f"{api.widgets}/owner", propagationPolicy="Orphan")
    await until(lambda: is_gone(api, f"{api.widgets}/owner"))

    assert answer.body["metadata"]["finalizers"] == ["orphan"]
    child = await api.get(f"{api.widgets}/child")
    assert child.code == 200
    assert "ownerReferences" not in child.body["metadata"]


async def test_what_has_another_owner_stays_and_forgets_the_one_that_went(api: Api):
    first, second = await api.widget("first"), await api.widget("second")
    references = [reference | {"controller": False} for owner in (first, second) for reference in owned_by(owner)]
    await api.widget("child", ownerReferences=references)

    await api.delete(f"{api.widgets}/first")

    async def forgotten() -> Any:
        child = await api.get(f"{api.widgets}/child")
        return [reference["name"] for reference in child.body["metadata"]["ownerReferences"]] == ["second"]

    await until(forgotten)


async def test_owners_are_known_by_uid_so_a_new_one_of_the_same_name_is_another(api: Api):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner), finalizers=["tests.example/hold"])

    await api.delete(f"{api.widgets}/owner")
    await api.widget("owner")

    await until(lambda: is_marked(api, "child"))
    await api.patch(f"{api.widgets}/child", {"metadata": {"finalizers": None}})


async def test_what_is_born_with_an_owner_that_is_gone_goes(api: Api):
    owner = await api.widget("owner")
    await api.delete(f"{api.widgets}/owner")

    await api.widget("child", ownerReferences=owned_by(owner))

    await until(lambda: is_gone(api, f"{api.widgets}/child"))


async def is_marked(api: Api, name: str) -> bool:
    answer = await api.get(f"{api.widgets}/{name}")
    return "deletionTimestamp" in answer.body["metadata"]


async def test_a_collection_is_deleted_by_its_selector(api: Api):
    await api.widget("a", labels={"go": "yes"})
    await api.widget("b", labels={"go": "yes"})
    await api.widget("c", labels={"go": "no"})

    answer = await api.delete(api.widgets, labelSelector="go=yes")

    assert (answer.code, answer.body["kind"]) == (200, "WidgetList")
    left = await api.get(api.widgets)
    assert [item["metadata"]["name"] for item in left.body["items"]] == ["c"]


async def test_the_default_namespace_cannot_be_deleted(api: Api):
    answer = await api.delete("/api/v1/namespaces/default")

    assert answer.code == 403
    assert answer.message == 'namespaces "default" is forbidden: this namespace may not be deleted'


async def test_a_namespace_goes_with_all_that_is_in_it(api: Api):
    await api.widget("a")
    await api.post(api.configmaps, {"metadata": {"name": "a"}})

    answer = await api.delete(f"/api/v1/namespaces/{api.namespace}")

    assert (answer.code, answer.body["status"]["phase"]) == (200, "Terminating")
    await until(lambda: is_gone(api, f"/api/v1/namespaces/{api.namespace}"))
    assert await is_gone(api, f"{api.widgets}/a")


async def test_nothing_new_is_created_in_a_namespace_that_terminates(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])
    await api.delete(f"/api/v1/namespaces/{api.namespace}")

    answer = await api.post(api.configmaps, {"metadata": {"name": "late"}})

    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {api.namespace} '
        "because it is being terminated"
    )
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await api.patch(f"{api.widgets}/a", {"metadata": {"finalizers": None}})


async def test_a_namespace_waits_for_finalizers_and_says_so(api: Api):
    await api.widget("a", finalizers=["tests.example/hold"])
    await api.delete(f"/api/v1/namespaces/{api.namespace}")

    async def told() -> Any:
        conditions = (await api.get(f"/api/v1/namespaces/{api.namespace}")).body["status"].get("conditions", [])
        return [
            c["message"] for c in conditions if c["type"] == "NamespaceFinalizersRemaining" and c["status"] == "True"
        ]

    [message] = await until(told)
    assert message == (
        "Some content in the namespace has finalizers remaining: tests.example/hold in 1 resource instances"
    )
    await api.patch(f"{api.widgets}/a", {"metadata": {"finalizers": None}})
    await until(lambda: is_gone(api, f"/api/v1/namespaces/{api.namespace}"))
