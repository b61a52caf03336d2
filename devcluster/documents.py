"""Paths that are no resource: health, version, discovery, OpenAPI."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec
from aiohttp import web

from devcluster import discovery, openapi
from devcluster.bodies import answer
from devcluster.errors import method_not_allowed, no_such_path, not_acceptable
from devcluster.registry import Registry
from devcluster.resources import JSON, Resource
from devcluster.routes import Route

HEALTH = ("/healthz", "/livez", "/readyz")
PROTOBUF_OPENAPI = "application/com.github.proto-openapi"


class Documents:
    """Makes documents from the registry, and keeps them until it changes.

    Those of OpenAPI are made in a thread: the schemas of the built-in kinds take seconds the first time, and watches
    are not to stand still meanwhile.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: dict[str, asyncio.Future[bytes]] = {}
        self._kept_at = -1

    async def answer(self, route: Route, accept: str) -> web.Response:
        """Return the document of a path. Raises StatusError."""
        path = route.path.rstrip("/") or "/"
        if route.verb != "get":
            raise method_not_allowed()
        if path.startswith(HEALTH):
            return answer(b"ok", media="text/plain; charset=utf-8")
        if path in {"/api", "/apis"} and discovery.wants_aggregated(accept):
            return answer(self._aggregated(path), media=discovery.AGGREGATED)
        if path == "/openapi/v2" and accept.startswith(PROTOBUF_OPENAPI) and "json" not in accept:
            raise not_acceptable("only the following media types are accepted: application/json")
        make = self._maker(path)
        if make is None:
            raise no_such_path()
        if not path.startswith("/openapi/"):
            return answer(msgspec.json.encode(make()))
        if self._kept_at != self._registry.changes:
            self._kept, self._kept_at = {}, self._registry.changes
        if path not in self._kept:
            self._kept[path] = asyncio.ensure_future(asyncio.to_thread(lambda: msgspec.json.encode(make())))
        return answer(await asyncio.shield(self._kept[path]))

    def _aggregated(self, path: str) -> bytes:
        groups = {"": ["v1"]} if path == "/api" else self._registry.groups()
        return msgspec.json.encode(discovery.aggregated(groups, self._registry))

    def _maker(self, path: str) -> Callable[[], JSON] | None:
        """Return what makes the document of a path, from how things are now."""
        groups, versions = self._registry.groups(), self._versions()
        fixed: dict[str, Callable[[], JSON]] = {
            "/": lambda: {"paths": sorted([*fixed, *HEALTH])},
            "/version": lambda: discovery.VERSION,
            "/api": discovery.core_versions,
            "/apis": partial(discovery.group_list, self._registry),
            "/openapi/v2": partial(openapi.openapi_v2, self._registry.all()),
            "/openapi/v3": partial(openapi.openapi_v3_index, versions),
        }
        if path in fixed:
            return fixed[path]
        name = path.removeprefix("/openapi/v3").removeprefix("/apis/").removeprefix("/api/")
        if name in versions:
            make = openapi.openapi_v3 if path.startswith("/openapi/v3/") else discovery.resource_list
            return partial(make, name, versions[name])
        return partial(discovery.group, name, groups[name]) if name in groups else None

    def _versions(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self._registry.all():
            found.setdefault(resource.api_version, []).append(resource)
        return found
