"""The three objects that certificates live in, at the API server: two Secrets, and the webhook configuration.

They are read and written as plain JSON, so that whatever else is in them stays. Every write is one object in the
version that was seen, shortly before: where somebody else was faster, it is refused, and nothing has happened.
"""

import asyncio
import base64
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from cryptography import x509

from certs.issue import Pair
from certs.pem import certificate_pem, key_pem, read_certificate, read_pair
from certs.rotation import Seen
from shared.api.meta import Named
from shared.kube.client import KubeClient
from shared.kube.errors import NotFound, Unreadable
from shared.kube.resources import Resource
from shared.kube.transport import Request

log = logging.getLogger(__name__)

JSON = dict[str, Any]

SECRETS: Final = Resource("", "v1", "secrets", Named)
CONFIGURATIONS: Final = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", Named
)  # of the whole cluster: its path has no namespace

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
SERVER_CERTIFICATE, SERVER_KEY = "tls.crt", "tls.key"
"""The keys of a Secret of type `kubernetes.io/tls`; the CA's certificate lies beside them, and never its key."""

LABELS: Final = {"app.kubernetes.io/name": "jobflow", "app.kubernetes.io/managed-by": "jobflow-certs"}

LOOK_LASTS: Final = 10.0
"""Seconds for which what was seen may be acted on. A program may be stopped between any two lines."""


class Outdated(Exception):
    """What was seen is too old to act on; nothing was written."""


@dataclass(frozen=True)
class Place:
    """What the objects are called."""

    namespace: str
    secret: str
    """What the webhook mounts."""
    ca_secret: str
    """The CA with its key, which no pod mounts."""
    configuration: str
    """The ValidatingWebhookConfiguration."""


@dataclass(frozen=True)
class Look:
    """All three, as they were at one time or another since `at` by the loop's clock."""

    seen: Seen
    version: tuple[str, ...]
    """Another one where anything has been written since, by whomever."""
    at: float
    ca: JSON | None
    server: JSON | None
    configuration: JSON


class Cluster:
    """The objects of one place."""

    def __init__(self, client: KubeClient, place: Place) -> None:
        self.place = place
        self._client = client

    async def look(self) -> Look:
        """Read all three. Raises NotFound where there is no webhook configuration.

        That one is read last: `remove` deletes it first, so nobody who sees it takes removed Secrets for missing ones.
        """
        at = asyncio.get_running_loop().time()
        ca = await self._secret(self.place.ca_secret)
        server = await self._secret(self.place.secret)
        configuration = await self._read(CONFIGURATIONS, CONFIGURATIONS.path(None, self.place.configuration))
        seen = Seen(
            _pair(ca, CA_CERTIFICATE, CA_KEY),
            _pair(server, SERVER_CERTIFICATE, SERVER_KEY),
            _issuer(server),
            tuple(_bundle(webhook) for webhook in _webhooks(configuration)),
        )
        version = tuple(_version(each) for each in (ca, server, configuration))
        return Look(seen, version, at, ca, server, configuration)

    async def store_authority(self, looked: Look, ca: Pair) -> None:
        """Store a CA with its key in the Secret of its own."""
        data = {CA_CERTIFICATE: certificate_pem(ca.certificate), CA_KEY: key_pem(ca.key)}
        await self._store_secret(looked, looked.ca, self.place.ca_secret, "Opaque", data)

    async def store_server(self, looked: Look, server: Pair, ca: x509.Certificate) -> None:
        """Store what the webhook serves with."""
        data = {
            SERVER_CERTIFICATE: certificate_pem(server.certificate),
            SERVER_KEY: key_pem(server.key),
            CA_CERTIFICATE: certificate_pem(ca),
        }
        await self._store_secret(looked, looked.server, self.place.secret, "kubernetes.io/tls", data)

    async def publish(self, looked: Look, bundles: Sequence[bytes]) -> None:
        """Write the CA bundles of all webhooks of the configuration."""
        webhooks = [
            {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": _base64(bundle)}}
            for webhook, bundle in zip(_webhooks(looked.configuration), bundles, strict=True)
        ]
        changed = {**looked.configuration, "webhooks": webhooks}
        path = CONFIGURATIONS.path(None, self.place.configuration)
        await self._write("update", CONFIGURATIONS, Request("PUT", path, (), _json(changed)), looked)

    async def remove(self) -> list[str]:
        """Delete all three, the webhook configuration first; returns what there was, none of which is left.

        As long as it is registered the API server refuses whatever it cannot ask the webhook about, so it goes before
        anything that the webhook needs, and before the webhook itself.
        """
        secrets = [SECRETS.path(self.place.namespace, name) for name in (self.place.secret, self.place.ca_secret)]
        return [
            *await self._delete(CONFIGURATIONS, CONFIGURATIONS.path(None, self.place.configuration)),
            *[path for secret in secrets for path in await self._delete(SECRETS, secret)],
        ]

    async def _store_secret(
        self, looked: Look, stored: JSON | None, name: str, kind: str, data: Mapping[str, bytes]
    ) -> None:
        encoded = {key: _base64(value) for key, value in data.items()}
        if stored is not None:
            path = SECRETS.path(self.place.namespace, name)
            body = _json({**stored, "data": encoded})
            await self._write("update", SECRETS, Request("PUT", path, (), body), looked)
            return
        metadata = {"name": name, "namespace": self.place.namespace, "labels": LABELS}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}
        path = SECRETS.path(self.place.namespace)
        await self._write("create", SECRETS, Request("POST", path, (), _json(made)), looked)

    async def _write(self, verb: str, resource: Resource[Named], request: Request, looked: Look) -> None:
        def recent() -> None:
            if asyncio.get_running_loop().time() - looked.at > LOOK_LASTS:
                raise Outdated("it is too long ago that anybody looked")

        await self._client.write(verb, resource, request, recent)

    async def _delete(self, resource: Resource[Named], path: str) -> list[str]:
        with suppress(NotFound):
            await self._client.write("delete", resource, Request("DELETE", path))
            return [path]
        return []

    async def _secret(self, name: str) -> JSON | None:
        try:
            return await self._read(SECRETS, SECRETS.path(self.place.namespace, name))
        except NotFound:
            return None

    async def _read(self, resource: Resource[Named], path: str) -> JSON:
        body = await self._client.read("get", resource, Request("GET", path))
        try:
            return msgspec.json.decode(body, type=JSON)
        except (msgspec.MsgspecError, UnicodeDecodeError) as wrong:
            raise Unreadable(f"{resource.plural}: {wrong}", reason="Unreadable") from wrong


def _pair(secret: JSON | None, certificate: str, key: str) -> Pair | None:
    """What cannot be used is as good as missing; it is told why, for it may be worth a look."""
    if secret is None:
        return None
    try:
        return read_pair(_held(secret, certificate), _held(secret, key))
    except ValueError as wrong:
        log.warning("secret cannot be used", extra={"secret": secret["metadata"]["name"], "reason": str(wrong)})
        return None


def _issuer(server: JSON | None) -> x509.Certificate | None:
    try:
        return read_certificate(_held(server, CA_CERTIFICATE)) if server else None
    except ValueError:
        return None


def _held(secret: JSON, key: str) -> bytes:
    return base64.b64decode((secret.get("data") or {}).get(key) or "")


def _webhooks(configuration: JSON) -> list[JSON]:
    return configuration.get("webhooks") or []


def _bundle(webhook: JSON) -> bytes:
    return base64.b64decode(webhook["clientConfig"].get("caBundle") or "")


def _version(stored: JSON | None) -> str:
    """`metadata.uid` and `resourceVersion`: neither is ever used twice."""
    return f"{stored['metadata']['uid']}/{stored['metadata']['resourceVersion']}" if stored else ""


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _json(body: JSON) -> bytes:
    return msgspec.json.encode(body)
