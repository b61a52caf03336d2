"""Calling one validating webhook: AdmissionReview v1 over TLS, and what its answer means."""

import asyncio
import base64
import ssl
import uuid
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from devcluster.calls import Call, Review
from devcluster.errors import StatusError
from devcluster.resources import JSON

LARGEST_ANSWER = 8 << 20


class CallFailed(Exception):
    """A webhook gave no verdict; its failurePolicy decides."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook has answered."""

    allowed: bool
    status: JSON
    warnings: tuple[str, ...]


class Caller:
    """Calls webhooks, over connections that it keeps."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def ask(self, webhook: JSON, request: JSON) -> Verdict:
        """Return the verdict of a webhook. Raises CallFailed."""
        url = _url(webhook)
        review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
        seconds = webhook.get("timeoutSeconds", 10)
        try:
            async with asyncio.timeout(seconds):
                status, answer = await self._post(
                    url % {"timeout": f"{seconds}s"}, webhook, msgspec.json.encode(review)
                )
        except TimeoutError:
            raise CallFailed(
                f'failed to call webhook: Post "{url}?timeout={seconds}s": context deadline exceeded'
            ) from None
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            why = _in_words(error, url)
            raise CallFailed(f'failed to call webhook: Post "{url}?timeout={seconds}s": {why}') from None
        if status != 200:
            text = answer.decode(errors="replace")[:200] or "an error on the server"
            raise CallFailed(f"failed to call webhook: the server responded with {status}: {text}")
        return _read(answer, request["uid"])

    async def _post(self, url: URL, webhook: JSON, body: bytes) -> tuple[int, bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False, auto_decompress=False)
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        context = self._context(webhook["clientConfig"].get("caBundle"))
        async with self._session.post(url, data=body, headers=headers, ssl=context, allow_redirects=False) as response:
            answer = await response.content.read(LARGEST_ANSWER)
            while not response.content.at_eof() and len(answer) < LARGEST_ANSWER:
                answer += await response.content.read(LARGEST_ANSWER)
            return response.status, answer

    def _context(self, bundle: str | None) -> ssl.SSLContext:
        key = msgspec.json.encode(bundle)
        if key not in self._contexts:
            try:
                self._contexts[key] = _tls_context(bundle)
            except (ValueError, ssl.SSLError):
                raise CallFailed(
                    "failed to call webhook: unable to load root certificates: unable to parse bytes as PEM block"
                ) from None
        return self._contexts[key]


def request_of(call: Call, review: Review) -> JSON:
    """Return the `request` of an AdmissionReview."""
    resource = review.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    where = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request: JSON = {"uid": str(uuid.uuid4()), "kind": kind, "resource": where}
    if review.subresource:
        request |= {"subResource": review.subresource}
    request |= {"requestKind": kind, "requestResource": where}
    if review.subresource:
        request |= {"requestSubResource": review.subresource}
    if review.name:
        request["name"] = review.name
    if review.namespace or resource.storage == "namespaces":
        request["namespace"] = review.namespace or review.name
    request |= {"operation": review.operation, "userInfo": call.user.info()}
    request |= {"object": review.new, "oldObject": review.old, "dryRun": call.dry_run}
    return request | {"options": call.options or None}


def refusal(name: str, status: JSON) -> StatusError:
    """Return what the caller gets when the webhook `name` refuses: its Status, said to be the webhook's.

    As `k8s.io/apiserver/pkg/admission/plugin/webhook/errors.ToStatusErr` makes it, which passes on code, reason and
    details.
    """
    denied_by = f'admission webhook "{name}" denied the request'
    code = status.get("code") or 0
    if status.get("message"):
        message = f"{denied_by}: {status['message']}"
    elif status.get("reason"):
        message = f"{denied_by}: {status['reason']}"
    else:
        message = f"{denied_by} without explanation"
    return StatusError(code if code >= 400 else 400, status.get("reason") or "", message, status.get("details"))


def _url(webhook: JSON) -> URL:
    client = webhook["clientConfig"]
    if client.get("url"):
        return URL(client["url"])
    service = client["service"]
    name, namespace = service.get("name"), service.get("namespace")
    raise CallFailed(
        f'failed to call webhook: service "{name}" in namespace "{namespace}" cannot be reached: this embedded API '
        "server has no network of Services; register the webhook with clientConfig.url instead"
    )


def _tls_context(bundle: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if bundle:
        pem = base64.b64decode(bundle, validate=True).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=pem)
    # Go, which calls webhooks in a real cluster, asks less of a certificate's extensions than Python 3.13 does.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _in_words(error: Exception, url: URL) -> str:
    """Say why a call failed as Go's HTTP client says it, for people search the web for these words."""
    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(cause, ConnectionRefusedError):
        return f"dial tcp {url.host}:{url.port}: connect: connection refused"
    if isinstance(cause, ssl.SSLCertVerificationError):
        unknown = "unable to get local issuer certificate" in str(cause) or "self-signed" in str(cause)
        told = "certificate signed by unknown authority" if unknown else cause.verify_message
        return f"tls: failed to verify certificate: x509: {told}"
    if isinstance(cause, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(cause)


def _read(answer: bytes, uid: str) -> Verdict:
    try:
        review: Any = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallFailed(f"failed to call webhook: the answer is no JSON: {error}") from None
    if not isinstance(review, dict) or not isinstance(review.get("response"), dict):
        raise CallFailed("invalid admission response: webhook response was absent")
    told = (review.get("apiVersion"), review.get("kind"))
    if told != ("admission.k8s.io/v1", "AdmissionReview"):
        raise CallFailed(
            "invalid admission response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got "
            f"{told[0]}, Kind={told[1]}"
        )
    response = review["response"]
    if response.get("uid") != uid:
        raise CallFailed(f'invalid admission response: expected response.uid="{uid}", got "{response.get("uid")}"')
    return Verdict(bool(response.get("allowed")), response.get("status") or {}, tuple(response.get("warnings") or ()))
