"""Paths that are no resource: health, version, discovery, OpenAPI."""

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
        parts = path.strip("/").split("/")
        match parts:
            case [""]:
                return {"paths": ["/api", "/apis", *HEALTH, "/openapi/v2", "/openapi/v3", "/version"]}
            case ["version"]:
                return discovery.VERSION
            case ["api"]:
                return discovery.core_versions()
            case ["apis"]:
                return discovery.group_list(self._registry)
            case ["apis", group] if group in self._registry.groups():
                return discovery.group(group, self._registry.groups()[group])
            case ["api", version]:
                return self._resource_list(version, self._registry.of_version("", version))
            case ["apis", group, version]:
                return self._resource_list(f"{group}/{version}", self._registry.of_version(group, version))
            case ["openapi", "v2"]:
                return openapi.openapi_v2(self._registry.all())
            case ["openapi", "v3"]:
                return openapi.openapi_v3_index(self._versions())
            case ["openapi", "v3", "api" | "apis", *rest] if "/".join(rest) in self._versions():
                return openapi.openapi_v3("/".join(rest), self._versions()["/".join(rest)])
        return None

    def _resource_list(self, group_version: str, resources: list[Resource]) -> JSON | None:
        return discovery.resource_list(group_version, resources) if resources else None

    def _versions(self) -> dict[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for resource in self._registry.all():
            found.setdefault(resource.api_version, []).append(resource)
        return found
