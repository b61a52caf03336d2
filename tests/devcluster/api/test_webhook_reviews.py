"""Validating webhooks: what one is asked about whose writes, and how its answer is passed on."""

import asyncio

import pytest

from tests.devcluster.api.client import JSON, Api, a_widget, owned_by
from tests.devcluster.api.conftest import until
from tests.devcluster.api.webhook import Webhook, operations, refuse, registered

NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"
GARBAGE_COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"


async def test_a_webhook_is_asked_about_create_update_and_delete(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        await api.widget("a", size=1)
        await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}})
        await api.delete(f"{api.widgets}/a")

    assert operations(webhook) == ["CREATE", "UPDATE", "DELETE"]
    created, updated, deleted = webhook.requests
    assert (created["object"]["spec"], created["oldObject"]) == ({"size": 1}, None)
    assert (updated["object"]["spec"], updated["oldObject"]["spec"]) == ({"size": 2}, {"size": 1})
    assert (deleted["object"], deleted["oldObject"]["spec"]) == (None, {"size": 2})


async def test_a_review_says_what_is_done_to_what_by_whom(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        await api.post(api.widgets, a_widget("a"), fieldManager="me")

    [request] = webhook.requests
    kind = {"group": "tests.example", "version": "v1", "kind": "Widget"}
    resource = {"group": "tests.example", "version": "v1", "resource": "widgets"}
    assert request["uid"]
    assert (request["kind"], request["requestKind"]) == (kind, kind)
    assert (request["resource"], request["requestResource"]) == (resource, resource)
    assert (request["name"], request["namespace"], request["dryRun"]) == ("a", api.namespace, False)
    assert request["userInfo"]["username"] == "admin"
    assert set(request["userInfo"]["groups"]) == {"system:masters", "system:authenticated"}
    expected = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}
    assert request["options"] == expected


async def test_the_object_is_complete_when_the_webhook_sees_it(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        await api.post(api.widgets, a_widget("", generateName="a-"))

    [request] = webhook.requests
    meta = request["object"]["metadata"]
    assert meta["name"].startswith("a-")
    assert (meta["uid"] != "", meta["generation"]) == (True, 1)
    assert request["object"]["spec"] == {"size": 3}


async def test_a_refusal_is_passed_on_with_its_code_reason_and_causes(api: Api, webhook: Webhook):
    causes = [
        {"reason": "FieldValueDuplicate", "message": 'Duplicate value: "x"', "field": "spec.parts[1].name"},
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.parts[2].name"},
    ]
    details = {"name": "a", "group": "tests.example", "kind": "Widget", "causes": causes}
    webhook.respond = refuse(code=422, reason="Invalid", message="it is bad", details=details)
    spec = webhook.spec(api.namespace)

    async with registered(api, spec):
        answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, answer.body["status"], answer.body["reason"]) == (422, "Failure", "Invalid")
    assert answer.message == f'admission webhook "{spec["name"]}" denied the request: it is bad'
    assert answer.body["details"] == details
    assert (await api.get(f"{api.widgets}/a")).code == 404


@pytest.mark.parametrize(
    ("status", "code", "ending"),
    [
        ({}, 400, " denied the request without explanation"),
        ({"reason": "Forbidden"}, 400, " denied the request: Forbidden"),
        ({"message": "no", "code": 403}, 403, " denied the request: no"),
        ({"message": "no", "code": 200, "status": "Success"}, 400, " denied the request: no"),
    ],
)
async def test_a_refusal_that_says_little_is_one_all_the_same(
    api: Api, webhook: Webhook, status: JSON, code: int, ending: str
):
    webhook.respond = refuse(**status)

    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, answer.body["status"]) == (code, "Failure")
    assert answer.message.endswith(ending)


async def test_warnings_go_to_the_caller_of_what_is_allowed_and_of_what_is_refused(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        webhook.respond = lambda request: {"allowed": True, "warnings": ["mind the gap"]}
        allowed = await api.post(api.widgets, a_widget("a"))
        webhook.respond = lambda request: {"allowed": False, "warnings": ["mind the gap"]}
        refused = await api.post(api.widgets, a_widget("b"))

    assert (allowed.code, allowed.warnings) == (201, ("mind the gap",))
    assert (refused.code, refused.warnings) == (400, ("mind the gap",))


async def test_a_dry_run_asks_too_and_says_that_it_is_one(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        await api.post(api.widgets, a_widget("a"), dryRun="All")

    [request] = webhook.requests
    assert request["dryRun"] is True


async def test_of_several_webhooks_all_are_asked_and_one_refusal_is_enough(api: Api, webhook: Webhook):
    async with Webhook().serving() as second:
        second.respond = refuse(code=403, reason="Forbidden", message="not by me")
        other = second.spec(api.namespace) | {"name": f"second.{api.namespace}.tests.example"}

        async with registered(api, webhook.spec(api.namespace), other):
            answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, len(webhook.requests), len(second.requests)) == (403, 1, 1)
    assert answer.message == f'admission webhook "{other["name"]}" denied the request: not by me'


async def test_a_create_of_what_exists_is_asked_about_first(api: Api, webhook: Webhook):
    await api.widget("a")

    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, operations(webhook)) == (409, ["CREATE"])


async def test_each_object_of_a_collection_is_asked_about_without_a_name(api: Api, webhook: Webhook):
    await api.widget("a")
    await api.widget("b")

    async with registered(api, webhook.spec(api.namespace)):
        await api.delete(api.widgets)

    assert sorted(request["oldObject"]["metadata"]["name"] for request in webhook.requests) == ["a", "b"]
    assert [request.get("name", "") for request in webhook.requests] == ["", ""]


async def test_a_finalizer_that_goes_is_an_update_and_no_second_delete(api: Api, webhook: Webhook):
    await api.widget("a", finalizers=["tests.example/hold"])

    async with registered(api, webhook.spec(api.namespace)):
        await api.delete(f"{api.widgets}/a")
        await api.patch(f"{api.widgets}/a", {"metadata": {"finalizers": None}})

    assert operations(webhook) == ["DELETE", "UPDATE"]
    assert webhook.requests[0]["options"]["kind"] == "DeleteOptions"


async def test_a_write_that_comes_between_is_seen_by_the_webhook_as_well(api: Api, webhook: Webhook):
    await api.widget("a", size=1)
    webhook.delay = 0.2

    async with registered(api, webhook.spec(api.namespace)):
        slow = asyncio.create_task(api.patch(f"{api.widgets}/a", {"spec": {"size": 2}}))
        await until(lambda: asked(webhook))
        await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})
        answer = await slow

    assert (answer.body["spec"], answer.body["status"]) == ({"size": 2}, {"phase": "Done"})
    assert webhook.requests[-1]["object"]["status"] == {"phase": "Done"}


async def asked(webhook: Webhook) -> bool:
    return bool(webhook.requests)


async def test_the_namespace_controller_is_asked_about_by_its_name(api: Api, webhook: Webhook):
    await api.widget("a")

    async with registered(api, webhook.spec(api.namespace)):
        await api.delete(f"/api/v1/namespaces/{api.namespace}")
        await until(lambda: gone(api, f"/api/v1/namespaces/{api.namespace}"))

    assert operations(webhook) == ["DELETE"]
    assert webhook.requests[0]["userInfo"]["username"] == NAMESPACE_CONTROLLER


async def test_the_garbage_collector_is_asked_about_by_its_name(api: Api, webhook: Webhook):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner))

    async with registered(api, webhook.spec(api.namespace)):
        await api.delete(f"{api.widgets}/owner")
        await until(lambda: gone(api, f"{api.widgets}/child"))

    deletes = [request for request in webhook.requests if request["oldObject"]["metadata"]["name"] == "child"]
    assert {request["userInfo"]["username"] for request in deletes} == {GARBAGE_COLLECTOR}


async def test_the_garbage_collector_tries_again_when_it_was_refused(api: Api, webhook: Webhook):
    owner = await api.widget("owner")
    await api.widget("child", ownerReferences=owned_by(owner))
    refused = asyncio.Event()

    def refuse_once(request: JSON) -> JSON:
        if request["oldObject"]["metadata"]["name"] != "child" or refused.is_set():
            return {"allowed": True}
        refused.set()
        return {"allowed": False}

    webhook.respond = refuse_once
    async with registered(api, webhook.spec(api.namespace)):
        await api.delete(f"{api.widgets}/owner")
        await until(lambda: gone(api, f"{api.widgets}/child"))

    assert refused.is_set()


async def gone(api: Api, path: str) -> bool:
    return (await api.get(path)).code == 404
