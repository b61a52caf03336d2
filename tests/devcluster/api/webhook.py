"""Offers a validating webhook of the test's own, over TLS, and its registration."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trustme
from aiohttp import web

from tests.devcluster.api.client import GROUP, JSON, Api

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PROBE = "webhook-probe"

Respond = Callable[[JSON], JSON]


def allow(request: JSON) -> JSON:
    """Allow everything."""
    return {"allowed": True}


def refuse(**status: Any) -> Respond:
    """Refuse everything, with a Status that says this of it."""
    return lambda request: {"allowed": False, "status": status}


class Webhook:
    """One webhook. `requests` has what it was asked, `respond` says what it answers.

    A real server decides on what its cache has, and where that was not the latest decides once more, and asks once
    more. `requests` has what was asked last then, and nothing twice.
    """

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self.requests: list[JSON] = []
        self.respond: Respond = allow
        self.answer: Callable[[JSON], web.Response] = self._answer
        self.delay = 0.0
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Webhook"]:
        """Serve until the block is left."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}/validate"
            yield self
        finally:
            await runner.cleanup()

    def spec(self, namespace: str, **changes: Any) -> JSON:
        """Return the webhook as a configuration has it: asked about all widgets of one namespace."""
        rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["*"]}
        return {
            "name": f"widgets.{namespace}.{GROUP}",
            "clientConfig": {"url": self.url, "caBundle": bundle(self.authority)},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        } | changes

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        asked = review["request"]
        if self.requests and _is_the_same(self.requests[-1], asked):
            self.requests.pop()
        self.requests.append(asked)
        await asyncio.sleep(self.delay)
        return self.answer(asked)

    def _answer(self, asked: JSON) -> web.Response:
        response = {"uid": asked["uid"]} | self.respond(asked)
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


def _is_the_same(before: JSON, now: JSON) -> bool:
    return _subject(before) == _subject(now)


def _subject(asked: JSON) -> JSON:
    new, old = asked.get("object") or {}, asked.get("oldObject") or {}
    about = {key: asked.get(key) for key in ("operation", "name", "subResource")}
    return about | {"uid": (old or new).get("metadata", {}).get("uid"), "wanted": new.get("spec")}


def operations(webhook: Webhook) -> list[str]:
    """Return what was done each time that it was asked."""
    return [request["operation"] for request in webhook.requests]


def bundle(authority: trustme.CA) -> str:
    """Return a caBundle."""
    return base64.b64encode(authority.cert_pem.bytes()).decode()


@asynccontextmanager
async def registered(api: Api, *webhooks: JSON) -> AsyncIterator[None]:
    """Register webhooks until the block is left.

    A real server notices after a while. So a webhook more is registered with them, and asked for until it is asked.
    """
    name = f"webhooks-{api.namespace}"
    async with Webhook().serving() as probe:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
        noticed = probe.spec(api.namespace, name=f"probe.{api.namespace}.{GROUP}", rules=[rule])
        noticed["matchConditions"] = [{"name": "probe", "expression": f"object.metadata.name == '{PROBE}'"}]
        configuration = {"metadata": {"name": name}, "webhooks": [*webhooks, noticed]}
        created = await api.post(CONFIGURATIONS, configuration)
        assert created.code == 201, created.body
        async with asyncio.timeout(30):
            while not probe.requests:
                await api.post(api.configmaps, {"metadata": {"name": PROBE}}, dryRun="All")
                await asyncio.sleep(0.02)
        try:
            yield
        finally:
            await api.delete(f"{CONFIGURATIONS}/{name}")
