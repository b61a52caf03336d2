"""Validating webhooks: when one is asked, what it is asked, and what becomes of its answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme
from aiohttp import web

from tests.devcluster.api.client import JSON, Api, a_widget, owned_by
from tests.devcluster.api.conftest import until
from tests.devcluster.api.webhook import CONFIGURATIONS, Webhook, bundle, registered

NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"
GARBAGE_COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with Webhook().serving() as webhook:
        yield webhook


def operations(webhook: Webhook) -> list[str]:
    return [request["operation"] for request in webhook.requests]


def refuse(**status: Any) -> Any:
    return lambda request: {"allowed": False, "status": status}


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


async def test_the_status_is_no_matter_of_a_webhook_for_the_object(api: Api, webhook: Webhook):
    await api.widget("a")

    async with registered(api, webhook.spec(api.namespace)):
        await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})

    assert webhook.requests == []


async def test_a_webhook_may_be_for_a_subresource(api: Api, webhook: Webhook):
    await api.widget("a")
    rule = {"apiGroups": ["tests.example"], "apiVersions": ["*"], "operations": ["UPDATE"]}
    spec = webhook.spec(api.namespace, rules=[rule | {"resources": ["widgets/status"]}])

    async with registered(api, spec):
        await api.patch(f"{api.widgets}/a", {"spec": {"size": 2}})
        await api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}})

    [request] = webhook.requests
    assert (request["subResource"], request["object"]["status"]) == ("status", {"phase": "Done"})


RULE = {"apiGroups": ["tests.example"], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE"]}


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        pytest.param({"operations": ["*"]}, True, id="all operations"),
        pytest.param({"operations": ["UPDATE"]}, False, id="another operation"),
        pytest.param({"apiGroups": ["*"]}, True, id="all groups"),
        pytest.param({"apiGroups": ["other.example"]}, False, id="another group"),
        pytest.param({"apiVersions": ["*"]}, True, id="all versions"),
        pytest.param({"resources": ["*"]}, True, id="all resources"),
        pytest.param({"resources": ["*/*"]}, True, id="all resources and subresources"),
        pytest.param({"resources": ["widgets/*"]}, True, id="the resource with its subresources"),
        pytest.param({"resources": ["gadgets"]}, False, id="another resource"),
        pytest.param({"scope": "Namespaced"}, True, id="what has a namespace"),
        pytest.param({"scope": "Cluster"}, False, id="what has no namespace"),
    ],
)
async def test_rules_say_what_a_webhook_is_asked_about(embedded: Api, webhook: Webhook, change: JSON, asked: bool):
    async with registered(embedded, webhook.spec(embedded.namespace, rules=[RULE | change])):
        await embedded.widget("a")

    assert bool(webhook.requests) is asked


async def test_the_labels_of_the_namespace_and_of_the_object_select(api: Api, webhook: Webhook):
    objects = {"matchExpressions": [{"key": "asked", "operator": "Exists"}]}

    async with registered(api, webhook.spec(api.namespace, objectSelector=objects)):
        await api.widget("a")
        await api.widget("b", labels={"asked": "yes"})
        await api.patch(f"{api.widgets}/b", {"metadata": {"labels": {"asked": None}}})

    assert [request["name"] for request in webhook.requests] == ["b", "b"]


async def test_a_webhook_for_another_namespace_is_not_asked(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec("elsewhere")):
        await api.widget("a")

    assert webhook.requests == []


async def test_match_conditions_exempt_what_leaves_the_spec_alone(api: Api, webhook: Webhook):
    expression = (
        "request.operation != 'UPDATE' || !has(oldObject.spec) || !has(object.spec) || object.spec != oldObject.spec"
    )
    conditions = [{"name": "spec-changes", "expression": expression}]
    async with registered(api, webhook.spec(api.namespace, matchConditions=conditions)):
        await api.widget("a", parts=[{"name": "x"}])
        await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"x": "y"}}})
        await api.patch(f"{api.widgets}/a", {"spec": {"parts": [{"name": "y"}]}})
        await api.delete(f"{api.widgets}/a")

    assert operations(webhook) == ["CREATE", "UPDATE", "DELETE"]


async def test_match_conditions_exempt_callers_by_name(api: Api, webhook: Webhook):
    expression = "!(request.operation == 'DELETE' && request.userInfo.username in ['admin', 'somebody'])"
    conditions = [{"name": "not-admin", "expression": expression}]
    async with registered(api, webhook.spec(api.namespace, matchConditions=conditions)):
        await api.widget("a")
        await api.delete(f"{api.widgets}/a")

    assert operations(webhook) == ["CREATE"]


async def test_a_match_condition_without_an_answer_refuses_unless_failure_is_ignored(api: Api, webhook: Webhook):
    conditions = [{"name": "broken", "expression": "object.spec.nothing == 'x'"}]

    async with registered(api, webhook.spec(api.namespace, matchConditions=conditions)):
        refused = await api.post(api.widgets, a_widget("a"))
    async with registered(api, webhook.spec(api.namespace, matchConditions=conditions, failurePolicy="Ignore")):
        allowed = await api.post(api.widgets, a_widget("a"))

    assert (refused.code, allowed.code, webhook.requests) == (403, 201, [])


async def test_an_expression_that_cannot_be_read_is_not_registered(api: Api, webhook: Webhook):
    conditions = [{"name": "broken", "expression": "object.spec ||"}]
    configuration = {"metadata": {"name": "broken"}, "webhooks": [webhook.spec("x", matchConditions=conditions)]}

    answer = await api.post(CONFIGURATIONS, configuration)

    assert answer.code == 422
    assert answer.causes[0][0] == "webhooks[0].matchConditions[0].expression"


async def test_a_webhook_that_is_down_refuses_by_its_failure_policy(api: Api, webhook: Webhook):
    config = {"url": "https://127.0.0.1:1/validate", "caBundle": bundle(webhook.authority)}
    spec = webhook.spec(api.namespace, clientConfig=config)

    async with registered(api, spec):
        refused = await api.post(api.widgets, a_widget("a"))
    async with registered(api, spec | {"failurePolicy": "Ignore"}):
        allowed = await api.post(api.widgets, a_widget("a"))

    assert (refused.code, refused.body["reason"], allowed.code) == (500, "InternalError", 201)
    assert refused.message == (
        f'Internal error occurred: failed calling webhook "{spec["name"]}": failed to call webhook: Post '
        '"https://127.0.0.1:1/validate?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused'
    )


async def test_a_webhook_that_is_slow_is_not_waited_for_beyond_its_timeout(api: Api, webhook: Webhook):
    webhook.delay = 3.0
    spec = webhook.spec(api.namespace, timeoutSeconds=1)

    async with registered(api, spec):
        answer = await api.post(api.widgets, a_widget("a"))

    assert answer.code == 500
    assert answer.message.startswith(
        f'Internal error occurred: failed calling webhook "{spec["name"]}": failed to call'
    )
    assert answer.message.endswith("context deadline exceeded")


async def test_a_webhook_whose_certificate_is_not_of_the_bundle_is_not_believed(api: Api, webhook: Webhook):
    config = {"url": webhook.url, "caBundle": bundle(trustme.CA())}

    async with registered(api, webhook.spec(api.namespace, clientConfig=config)):
        answer = await api.post(api.widgets, a_widget("a"))

    assert answer.code == 500
    assert "tls: failed to verify certificate: x509: certificate signed by unknown authority" in answer.message
    assert webhook.requests == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(b"<html>", "", id="no JSON"),
        pytest.param(b"{}", "", id="no review"),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}',
            "expected response.uid=",
            id="the answer to another question",
        ),
    ],
)
async def test_an_answer_that_is_no_verdict_is_a_failure(api: Api, webhook: Webhook, body: bytes, says: str):
    webhook.answer = lambda asked: web.Response(body=body, content_type="application/json")

    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, answer.body["reason"]) == (500, "InternalError")
    assert "failed calling webhook" in answer.message
    assert says in answer.message


async def test_a_webhook_that_answers_with_an_error_is_a_failure(api: Api, webhook: Webhook):
    webhook.answer = lambda asked: web.Response(status=503)

    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a"))

    assert answer.code == 500
    assert "failed calling webhook" in answer.message


async def test_a_webhook_behind_a_service_is_refused_in_clear_words(embedded: Api, webhook: Webhook):
    service = {"name": "jobflow-webhook", "namespace": "jobflow", "path": "/validate"}

    async with registered(embedded, webhook.spec(embedded.namespace, clientConfig={"service": service})):
        answer = await embedded.post(embedded.widgets, a_widget("a"))

    assert answer.code == 500
    assert "has no network of Services; register the webhook with clientConfig.url instead" in answer.message


async def test_of_several_webhooks_all_are_asked_and_one_refusal_is_enough(api: Api, webhook: Webhook):
    async with Webhook().serving() as second:
        second.respond = refuse(code=403, reason="Forbidden", message="not by me")
        other = second.spec(api.namespace) | {"name": f"second.{api.namespace}.tests.example"}

        async with registered(api, webhook.spec(api.namespace), other):
            answer = await api.post(api.widgets, a_widget("a"))

    assert (answer.code, len(webhook.requests), len(second.requests)) == (403, 1, 1)
    assert answer.message == f'admission webhook "{other["name"]}" denied the request: not by me'


async def test_the_schema_is_judged_before_any_webhook_is_asked(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a", size=77))

    assert (answer.code, webhook.requests) == (422, [])


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


async def test_no_webhook_is_asked_about_webhooks(embedded: Api, webhook: Webhook):
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    webhook.respond = refuse(message="nothing may be done")
    spec = webhook.spec(embedded.namespace, rules=[everything], namespaceSelector={})

    async with registered(embedded, spec):
        answer = await embedded.post(embedded.configmaps, {"metadata": {"name": "a"}})

    assert answer.code == 400
    assert (await embedded.get(CONFIGURATIONS)).body["items"] == []


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
