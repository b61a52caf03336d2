"""Validating webhooks: one that gives no verdict refuses or is passed over, as its failure policy says."""

import pytest
import trustme
from aiohttp import web

from tests.devcluster.api.client import Api, a_widget
from tests.devcluster.api.webhook import Webhook, bundle, registered


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
