"""Describe the served kinds as OpenAPI, which kubectl reads to explain fields and to learn what the server can do.

Version 3 has one document for each group and version. Its PATCH operations name the parameter `fieldValidation`: from
that kubectl concludes that the server checks fields itself. They do not offer strategic merge patches, so that kubectl
uses what it knows itself about the built-in kinds.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from devcluster import builtin_schemas
from devcluster.builtin_schemas import COMPONENTS
from devcluster.resources import JSON, Resource

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
INFO = {"title": "Kubernetes", "version": "v1.36.0"}
PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")

API_VERSION = {
    "type": "string",
    "description": "APIVersion defines the versioned schema of this representation of an object, as <group>/<version>.",
}
KIND = {"type": "string", "description": "Kind is a string value representing the REST resource of this object."}


def openapi_v3_index(group_versions: Mapping[str, Sequence[Resource]]) -> JSON:
    """Return where the document of each group and version lies; the address changes with its content.

    The keys are apiVersions: `v1`, `flow.volcano.sh/v1alpha1`.
    """
    paths = {}
    for api_version, resources in group_versions.items():
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_fingerprint(resources)}"}
    return {"paths": paths}


def openapi_v3(group_version: str, resources: Sequence[Resource]) -> JSON:
    """Return the document of one group and version (`flow.volcano.sh/v1alpha1`)."""
    schemas: JSON = {}
    paths: JSON = {}
    for resource in resources:
        name = _add_schemas(schemas, resource)
        paths.update(_paths(resource, name))
    return {"openapi": "3.0.0", "info": INFO, "paths": paths, "components": {"schemas": schemas}}


def openapi_v2(resources: Iterable[Resource]) -> JSON:
    """Return all kinds in one Swagger 2.0 document, for clients that know no version 3."""
    document = openapi_v3("", list(resources))
    text = json.dumps({"paths": document["paths"], "definitions": document["components"]["schemas"]})
    parts: JSON = json.loads(text.replace(COMPONENTS, "#/definitions/"))
    for path in parts["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict) and "requestBody" in operation:
                content = operation.pop("requestBody")["content"]
                operation["consumes"] = list(content)
                body = {
                    "name": "body",
                    "in": "body",
                    "required": True,
                    "schema": next(iter(content.values()))["schema"],
                }
                operation["parameters"] = [*operation.get("parameters", ()), body]
    return {"swagger": "2.0", "info": INFO, **parts}


def _fingerprint(resources: Sequence[Resource]) -> str:
    served = [[one.qualified, one.kind, one.version, sorted(one.subresources), one.schema] for one in resources]
    return hashlib.sha256(json.dumps(served, sort_keys=True).encode()).hexdigest().upper()


def _gvk(resource: Resource) -> JSON:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


def _add_schemas(schemas: JSON, resource: Resource) -> str:
    """Add the kind, its list and what they refer to; return the name of the kind's component."""
    found = builtin_schemas.components(resource.group, resource.version, resource.kind) if not resource.custom else None
    if found is not None:
        name, parts = found
        schemas.update(parts)
        schemas[name] = {**schemas[name], "x-kubernetes-group-version-kind": [_gvk(resource)]}
    else:
        reversed_group = ".".join(reversed(resource.group.split("."))) or "core"
        name = f"{reversed_group}.{resource.version}.{resource.kind}"
        schemas[name] = _custom_schema(resource)
    _add_meta(schemas)
    listing = {
        "description": f"{resource.list_name} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": API_VERSION,
            "items": {"type": "array", "items": {"$ref": COMPONENTS + name}},
            "kind": KIND,
            "metadata": {"$ref": f"{COMPONENTS}{META}ListMeta"},
        },
        "x-kubernetes-group-version-kind": [{**_gvk(resource), "kind": resource.list_name}],
    }
    schemas[f"{name}List"] = listing
    return name


def _custom_schema(resource: Resource) -> JSON:
    source = resource.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {
        **source.get("properties", {}),
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "description": "Standard object's metadata.",
            "allOf": [{"$ref": f"{COMPONENTS}{META}ObjectMeta"}],
        },
    }
    return {
        **source,
        "properties": dict(sorted(properties.items())),
        "x-kubernetes-group-version-kind": [_gvk(resource)],
    }


def _add_meta(schemas: JSON) -> None:
    if f"{META}ObjectMeta" in schemas:
        return
    for kind in ("ObjectMeta", "ListMeta", "Status", "DeleteOptions"):
        found = builtin_schemas.components("", "v1", kind)
        if found is not None:
            name, parts = found
            schemas.update(parts)
            schemas[META + kind] = schemas[name]
    schemas[f"{META}Patch"] = {"type": "object", "description": "The body of a PATCH request."}


def _paths(resource: Resource, name: str) -> JSON:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    collection = {
        "get": ("list", "list", f"{name}List", ()),
        "post": ("create", "create", name, WRITE),
        "delete": ("deletecollection", "deletecollection", f"{META}Status", ()),
    }
    item = {
        "get": ("get", "get", name, ()),
        "put": ("update", "put", name, WRITE),
        "patch": ("patch", "patch", name, (*WRITE, FORCE)),
        "delete": ("delete", "delete", f"{META}Status", WRITE[:1]),
    }
    paths = {
        f"{scope}/{resource.plural}": _operations(resource, collection),
        f"{scope}/{resource.plural}/{{name}}": _operations(resource, item),
    }
    if resource.namespaced and "list" in resource.verbs:
        paths[f"{root}/{resource.plural}"] = _operations(resource, {"get": collection["get"]})
    for subresource in sorted(resource.subresources & {"status", "scale"}):
        part = {method: item[method] for method in ("get", "put", "patch")}
        paths[f"{scope}/{resource.plural}/{{name}}/{subresource}"] = _operations(resource, part)
    return {path: operations for path, operations in paths.items() if operations}


def _query(name: str, description: str, kind: str = "string") -> JSON:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": True}}


WRITE = (
    _query("dryRun", "When present, indicates that modifications should not be persisted. Valid value: All."),
    _query("fieldManager", "The name of the actor that is making these changes."),
    _query("fieldValidation", "What to do about unknown or duplicate fields: Ignore, Warn or Strict."),
)
FORCE = _query("force", "Take fields that others own, in an apply request.", "boolean")


def _operations(resource: Resource, wanted: Mapping[str, tuple[str, str, str, Sequence[JSON]]]) -> JSON:
    operations: JSON = {}
    for method, (verb, action, answer, parameters) in wanted.items():
        if verb not in resource.verbs:
            continue
        operation: JSON = {
            "description": f"{action} {resource.kind}",
            "parameters": list(parameters),
            "responses": {"200": {"description": "OK", "content": _content(("application/json",), answer)}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _gvk(resource),
        }
        if method == "patch":
            operation["requestBody"] = {"content": _content(PATCHES, f"{META}Patch"), "required": True}
        elif method in {"post", "put"}:
            operation["requestBody"] = {"content": _content(("application/json",), answer), "required": True}
        operations[method] = operation
    return operations


def _content(types: Sequence[str], name: str) -> dict[str, Any]:
    return {one: {"schema": {"$ref": COMPONENTS + name}} for one in types}
