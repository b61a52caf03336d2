"""YAML files of Kubernetes objects, in the order in which kubectl applies them, and where each object lies."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import yaml

from devcluster.resources import JSON

NAMESPACE = "default"
CLUSTER_WIDE = {"CustomResourceDefinition", "ValidatingWebhookConfiguration", "Namespace"}
PLURALS = {
    "CustomResourceDefinition": "customresourcedefinitions",
    "Job": "jobs",
    "JobFlow": "jobflows",
    "JobTemplate": "jobtemplates",
    "Namespace": "namespaces",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
"""The kinds that are known here; a real kubectl asks the server."""


def read(paths: Sequence[Path]) -> Iterator[JSON]:
    """Yield the objects of files, and of the files of folders by name."""
    for path in paths:
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        for file in files:
            yield from (document for document in yaml.safe_load_all(file.read_text()) if document)


def collection_path(api_version: str, kind: str, namespace: str = NAMESPACE) -> str:
    """Return the path below which all objects of a kind lie."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    within = "" if kind in CLUSTER_WIDE else f"/namespaces/{quote(namespace, safe='')}"
    return f"{root}{within}/{PLURALS[kind]}"


def object_path(manifest: JSON) -> str:
    """Return the path of one object."""
    metadata = manifest["metadata"]
    collection = collection_path(manifest["apiVersion"], manifest["kind"], metadata.get("namespace", NAMESPACE))
    return f"{collection}/{quote(metadata['name'], safe='')}"


def spoken_name(manifest: JSON) -> str:
    """Return what kubectl calls an object: `jobflow.flow.volcano.sh/diamond`."""
    group = manifest["apiVersion"].rpartition("/")[0]
    kind = manifest["kind"].lower()
    return f"{kind}.{group}/{manifest['metadata']['name']}" if group else f"{kind}/{manifest['metadata']['name']}"
