"""Keeps `shared/rules/job/shapes.txt` as Kubernetes' API server publishes its types.

    python -m tests.support.published_shapes --write

It holds what the models of `shared.api.job_spec` are marked with, and everything below that.
"""

import argparse
import json
import re
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect

from shared.api.job_spec import JobTemplateInFull
from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver

FILE = Path(__file__).parents[2] / "shared/rules/job/shapes.txt"

EMBEDDED = ("annotations", "finalizers", "labels", "name", "namespace")
"""What Volcano's CRDs have of the metadata of an object inside of another; they drop the rest."""

UNKNOWN_TO_VOLCANO = {("PodCertificateProjection", "userAnnotations")}
"""Fields that are newer than Volcano's CRDs, which drop them."""

HEAD = """\
# Made from what Kubernetes {version} publishes: python -m tests.support.published_shapes --write
"""


def marked(model: Any = None) -> Iterator[str]:
    """The shapes that models are marked with."""
    wanted = model or inspect.type_info(JobTemplateInFull)
    if isinstance(wanted, inspect.Metadata):
        yield from re.findall(r"\b[A-Z]\w+", (wanted.extra or {})["shape"])
    for below in getattr(wanted, "types", ()):
        yield from marked(below)
    if hasattr(wanted, "item_type"):
        yield from marked(wanted.item_type)
    for each in getattr(wanted, "fields", ()):
        yield from marked(each.type)


def made_from(openapi: dict[str, Any]) -> str:
    """The file's text."""
    schemas = {name.rpartition(".")[2]: schema for name, schema in openapi["components"]["schemas"].items()}
    made: dict[str, str] = {}
    missing = sorted(set(marked()))
    while missing:
        name = missing.pop()
        made[name], below = definition(name, schemas[name])
        missing += below - made.keys() - set(missing)
    return HEAD.format(version=openapi["info"]["version"]) + "".join(f"\n{made[name]}" for name in sorted(made))


def definition(name: str, schema: dict[str, Any]) -> tuple[str, set[str]]:
    """A definition, and the names of those below it."""
    lines, below = [name], set()
    for key, field in schema.get("properties", {}).items():
        if (name, key) in UNKNOWN_TO_VOLCANO or (name == "ObjectMeta" and key not in EMBEDDED):
            continue
        written = typed(field)
        below |= set(re.findall(r"\b[A-Z]\w+", written))
        mark = "!" if key in schema.get("required", ()) else ""
        words = sorted(word for word in (field.get("enum") or field.get("items", {}).get("enum") or ()) if word)
        if words:
            written += f" in {' '.join(words)}"
        elif keys := field.get("x-kubernetes-list-map-keys"):
            written += f" by {' '.join(map(key_with_default, keys))}"
        lines.append(f"  {key}{mark} {written}")
    return "\n".join(lines) + "\n", below


def key_with_default(key: str) -> str:
    """Of the keys of lists, only the protocol of a port has a default that means something."""
    return "protocol=TCP" if key == "protocol" else key


def typed(schema: dict[str, Any]) -> str:
    """A type as it is written in the file."""
    while "allOf" in schema:
        (schema,) = schema["allOf"]
    if "$ref" in schema:
        name = schema["$ref"].rpartition(".")[2]
        return {"Quantity": "quantity", "IntOrString": "intOrString", "Time": "string"}.get(name, name)
    match schema["type"]:
        case "array":
            return f"[{typed(schema['items'])}]"
        case "object":
            return f"{{{typed(schema['additionalProperties'])}}}"
        case "integer":
            return str(schema["format"])
        case other:
            return str(other)


def published_by(server: KubeApiserver) -> dict[str, Any]:
    """What a real API server publishes of its core types."""
    request = urllib.request.Request(
        f"{server.url}/openapi/v3/api/v1", headers={"Authorization": f"Bearer {server.token}"}
    )
    context = ssl.create_default_context(cafile=str(server.ca_file))
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.support.published_shapes")
    parser.add_argument("--write", action="store_true", required=True, help="make the file anew")
    parser.parse_args()
    with KubeApiserver(require_binaries(), controller_manager=False) as started:
        FILE.write_text(made_from(published_by(started)))
