"""Validating webhooks: which are asked about what, by rules, selectors and match conditions."""

import pytest

from tests.devcluster.api.client import JSON, Api, a_widget
from tests.devcluster.api.webhook import CONFIGURATIONS, Webhook, operations, refuse, registered

RULE = {"apiGroups": ["tests.example"], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE"]}


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


async def test_the_schema_is_judged_before_any_webhook_is_asked(api: Api, webhook: Webhook):
    async with registered(api, webhook.spec(api.namespace)):
        answer = await api.post(api.widgets, a_widget("a", size=77))

    assert (answer.code, webhook.requests) == (422, [])


async def test_no_webhook_is_asked_about_webhooks(embedded: Api, webhook: Webhook):
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    webhook.respond = refuse(message="nothing may be done")
    spec = webhook.spec(embedded.namespace, rules=[everything], namespaceSelector={})

    async with registered(embedded, spec):
        answer = await embedded.post(embedded.configmaps, {"metadata": {"name": "a"}})

    assert answer.code == 400
    assert (await embedded.get(CONFIGURATIONS)).body["items"] == []


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
