"""Offers the API as a test speaks it: raw requests, and the answers as they come."""

import io
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import aiohttp

JSON = dict[str, Any]

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

GROUP = "tests.example"
VERSION = f"{GROUP}/v1"
WIDGETS: JSON = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "description": "What the widget is like.",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                                    "color": {"type": "string", "enum": ["red", "green"]},
                                    "parts": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
                                        },
                                    },
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {"phase": {"type": "string"}, "count": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}
"""A kind of the tests' own."""


@dataclass(frozen=True)
class Answer:
    """What the server has answered."""

    code: int
    body: Any
    headers: Mapping[str, str]
    warnings: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return the message of a Status."""
        return str(self.body["message"])

    @property
    def causes(self) -> list[tuple[str, str]]:
        """Return the field and message of each cause."""
        return [(cause.get("field", ""), cause["message"]) for cause in self.body["details"]["causes"]]


@dataclass(frozen=True)
class Api:
    """A server, and a namespace of the test's own on it."""

    session: aiohttp.ClientSession
    url: str
    token: str
    context: ssl.SSLContext
    namespace: str
    server: Any = field(default=None, repr=False)  # the embedded one, where it is

    @property
    def widgets(self) -> str:
        """Return the path of the test's widgets."""
        return f"/apis/{VERSION}/namespaces/{self.namespace}/widgets"

    @property
    def configmaps(self) -> str:
        """Return the path of the test's ConfigMaps."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def with_token(self, token: str) -> Self:
        """Return the same for another caller."""
        return replace(self, token=token)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> Answer:
        """Return what the server answers, whatever it is."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": media, **(headers or {})}
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        data = io.BytesIO(raw) if raw else None
        async with self.session.request(
            method, self.url + path, data=data, headers=sent, params=query, ssl=self.context
        ) as response:
            text = await response.text()
            # Not by the Content-Type: a real server's index of OpenAPI documents comes as plain text.
            told = json.loads(text) if text.startswith("{") else text
            quoted = [header.partition('"')[2][:-1] for header in response.headers.getall("Warning", [])]
            warnings = tuple(text.replace('\\"', '"') for text in quoted)
            return Answer(response.status, told, response.headers, warnings)

    async def get(self, path: str, *, accept: str = "application/json", **query: str) -> Answer:
        """GET."""
        return await self.request("GET", path, headers={"Accept": accept}, **query)

    async def post(self, path: str, body: Any, **query: str) -> Answer:
        """POST."""
        return await self.request("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: str) -> Answer:
        """PUT."""
        return await self.request("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, media: str = MERGE, **query: str) -> Answer:
        """PATCH, a merge patch unless another kind is said."""
        return await self.request("PATCH", path, body, media=media, **query)

    async def delete(self, path: str, body: Any = None, **query: str) -> Answer:
        """DELETE."""
        return await self.request("DELETE", path, body, **query)

    async def widget(self, name: str, /, **fields: Any) -> JSON:
        """Create a widget, which must work, and return it."""
        answer = await self.post(self.widgets, a_widget(name, **fields))
        assert answer.code == 201, answer.body
        created: JSON = answer.body
        return created

    @asynccontextmanager
    async def watch(self, path: str, *, accept: str = "application/json", **query: str) -> AsyncIterator["Events"]:
        """Watch; the stream ends with the block."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept}
        async with self.session.get(
            self.url + path, params={"watch": "true", **query}, headers=headers, ssl=self.context
        ) as response:
            yield Events(response)


class Events:
    """The events of one watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.code = response.status
        self._content = response.content
        self._rest = b""

    async def line(self) -> bytes:
        """Return the next line; empty at the end of the stream."""
        while b"\n" not in self._rest:
            more = await self._content.readany()
            if not more:
                line, self._rest = self._rest, b""
                return line
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    async def next(self) -> tuple[str, JSON]:
        """Return the type and the object of the next event."""
        event = json.loads(await self.line())
        return event["type"], event["object"]

    async def names(self, number: int) -> list[str]:
        """Return the next so many events as `TYPE name`."""
        told = [await self.next() for _ in range(number)]
        return [f"{kind} {obj['metadata'].get('name', '')}".strip() for kind, obj in told]


def a_widget(name: str, /, **fields: Any) -> JSON:
    """Return a widget; `labels` and the like go to its metadata, the rest is its spec."""
    meta: JSON = {"name": name}
    for key in ("labels", "annotations", "finalizers", "ownerReferences", "generateName"):
        if key in fields:
            meta[key] = fields.pop(key)
    return {"apiVersion": VERSION, "kind": "Widget", "metadata": meta, "spec": fields}


def owned_by(owner: JSON, *, block: bool = True) -> list[JSON]:
    """Return ownerReferences that name one owner."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block}
    return [reference | named]
