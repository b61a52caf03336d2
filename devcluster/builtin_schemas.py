"""Schemas of the built-in kinds, read out of the models of the official Kubernetes client.

That package is installed anyway, and its models carry every field with its type and description. They are read when
they are first asked for, because importing them takes a second.
"""

import importlib
import re
from functools import cache
from typing import Any

from devcluster.resources import JSON
from devcluster.strategic import IN_SERVICES, MERGE_KEYS

COMPONENTS = "#/components/schemas/"


@cache
def components(group: str, version: str, kind: str) -> tuple[str, JSON] | None:
    """Return the schema of a kind as OpenAPI has it: the name of its component, and all components that it needs.

    None if the client has no such kind.
    """
    model = _model(group, version, kind)
    if model is None:
        return None
    source = model.model_json_schema(by_alias=True)
    parts = source.pop("$defs", {})
    if "$ref" not in source:  # else the kind contains itself, and is among the parts
        parts[model.__name__] = source
    merge_keys = IN_SERVICES if kind == "Service" else MERGE_KEYS
    return _component(model.__name__), {_component(part): _tidied(one, merge_keys) for part, one in parts.items()}


@cache
def structural(group: str, version: str, kind: str) -> JSON | None:
    """Return the schema of a kind in one piece, as `prune` and server-side apply take it; None for an unknown kind.

    Where a type contains itself (a schema within a CustomResourceDefinition), everything is taken as it is. It is not
    meant for `validate`: the models know no bounds, and take a quantity for a text.
    """
    found = components(group, version, kind)
    if found is None:
        return None
    name, parts = found
    inlined: JSON = _inlined(parts[name], parts, (name,))
    for field in ("apiVersion", "kind", "metadata"):
        inlined.get("properties", {}).pop(field, None)
    inlined.pop("required", None)  # defaults of the built-in kinds are not known here
    return inlined


def _model(group: str, version: str, kind: str) -> Any:
    models = importlib.import_module("kubernetes.aio.client.models")
    prefix = version.capitalize()
    first = (group or "core").split(".", 1)[0].capitalize()
    for name in (f"{prefix}{kind}", f"{first}{prefix}{kind}"):
        model = getattr(models, name, None)
        if model is not None:
            return model
    return None


def _component(model: str) -> str:
    """Return the name of a model's component. kubectl shows what stands behind its last dot as the type of a field."""
    found = _MODEL.fullmatch(model)
    group, version, kind = found.groups() if found else ("", "", model)
    return ".".join(part.lower() for part in ("io.k8s", group, version) if part) + f".{kind}"


_MODEL = re.compile(r"([A-Z][a-z]+)?(V\d+(?:(?:alpha|beta)\d+)?)([A-Z].*)")


def _tidied(source: JSON, merge_keys: dict[str, str]) -> JSON:
    """Return a model's schema as Kubernetes writes it: no null beside each type, no titles, no notes on Python."""
    node = dict(source)
    variants = [one for one in node.pop("anyOf", ()) if one.get("type") != "null"]
    if len(variants) == 1:
        node = {**variants[0], **node}
    elif [one.get("type") for one in variants] == ["integer", "string"]:
        node["x-kubernetes-int-or-string"] = True
    node.pop("title", None)
    if node.get("default", ...) is None:
        del node["default"]
    if node.get("additionalProperties") is False:
        del node["additionalProperties"]
    if "description" in node:
        node["description"] = node["description"].split("\n\nAttributes:", 1)[0]
    if node.get("type") == "object" and node.get("additionalProperties") is True:
        del node["additionalProperties"]
        node["x-kubernetes-preserve-unknown-fields"] = True
    if "$ref" in node:
        node["$ref"] = COMPONENTS + _component(node["$ref"].removeprefix("#/$defs/"))
    if "$ref" in node and len(node) > 1:
        node["allOf"] = [{"$ref": node.pop("$ref")}]
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _tidied(node[key], merge_keys)
    if "properties" in node:
        node["properties"] = {
            name: _with_list_type(name, _tidied(child, merge_keys), merge_keys)
            for name, child in node["properties"].items()
        }
    return node


def _with_list_type(name: str, node: JSON, merge_keys: dict[str, str]) -> JSON:
    if node.get("type") != "array" or name not in merge_keys:
        return node
    key = merge_keys[name]
    if not key:
        return {**node, "x-kubernetes-list-type": "set"}
    keys = [key, "protocol"] if name == "ports" else [key]
    return {**node, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}


def _inlined(node: JSON, parts: JSON, within: tuple[str, ...]) -> JSON:
    reference = node.get("$ref") or next((one["$ref"] for one in node.get("allOf", ()) if "$ref" in one), None)
    if reference is not None:
        name = reference.removeprefix(COMPONENTS)
        if name in within:
            return {"x-kubernetes-preserve-unknown-fields": True}
        return _inlined(parts[name], parts, (*within, name))
    if not node.keys() & {"type", "properties", "x-kubernetes-int-or-string"}:
        return {**node, "x-kubernetes-preserve-unknown-fields": True}
    result = dict(node)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            result[key] = _inlined(node[key], parts, within)
    if "properties" in node:
        result["properties"] = {name: _inlined(child, parts, within) for name, child in node["properties"].items()}
    return result
