"""Paths that are no resource: health, version, discovery, OpenAPI."""

from collections.abc import Callable

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
    """Makes documents from the registry, and keeps those that are dear until it changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: dict[str, bytes] = {}
        self._kept_at = -1

    def answer(self, route: Route, accept: str) -> web.Response:
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
        if self._kept_at != self._registry.changes:
            self._kept, self._kept_at = {}, self._registry.changes
        if path not in self._kept:
            document = self._document(path)
            if document is None:
                raise no_such_path()
            self._kept[path] = msgspec.json.encode(document)
        return answer(self._kept[path])

    def _aggregated(self, path: str) -> bytes:
        groups = {"": ["v1"]} if path == "/api" else self._registry.groups()
        return msgspec.json.encode(discovery.aggregated(groups, self._registry))

    def _document(self, path: str) -> JSON | None:
        registry = self._registry
        fixed: dict[str, Callable[[], JSON]] = {
            "/": lambda: {"paths": sorted([*fixed, *HEALTH])},
            "/version": lambda: discovery.VERSION,
            "/api": discovery.core_versions,
            "/apis": lambda: discovery.group_list(registry),
            "/openapi/v2": lambda: openapi.openapi_v2(registry.all()),
            "/openapi/v3": lambda: openapi.openapi_v3_index(self._versions()),
        }
        if path in fixed:
            return fixed[path]()
        name = path.removeprefix("/openapi/v3").removeprefix("/apis/").removeprefix("/api/")
        if path.startswith("/openapi/v3/"):
            resources = self._versions().get(name)
            return openapi.openapi_v3(name, resources) if resources else None
        if name in registry.groups():
            return discovery.group(name, registry.groups()[name])
        resources = self._versions().get(name)
        return discovery.resource_list(name, resources) if resources else None

    def _versions(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self._registry.all():
            found.setdefault(resource.api_version, []).append(resource)
        return found
