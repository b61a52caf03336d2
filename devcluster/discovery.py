"""What is served, told to clients: groups, versions and resources, one by one or all in one document.

kubectl asks for the aggregated document (`apidiscovery.k8s.io/v2`) and falls back to the single ones.
"""

from collections.abc import Iterable, Sequence

from devcluster.registry import Registry
from devcluster.resources import JSON, Resource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SUBRESOURCE_KINDS = {"token": ("authentication.k8s.io", "v1", "TokenRequest")}
SUBRESOURCE_VERBS = {"token": ("create",), "finalize": ("update",)}
VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+devcluster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "python",
    "platform": "embedded",
}


def wants_aggregated(accept: str) -> bool:
    """Say whether the caller understands the aggregated document best."""
    best = accept.replace(" ", "").partition(",")[0]
    return "g=apidiscovery.k8s.io" in best and "v=v2;" in best + ";"


def core_versions() -> JSON:
    """Return `/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(registry: Registry) -> JSON:
    """Return `/apis`."""
    groups = [group(name, versions) for name, versions in registry.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(name: str, versions: Sequence[str]) -> JSON:
    """Return `/apis/GROUP`."""
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(group_version: str, resources: Iterable[Resource]) -> JSON:
    """Return `/apis/GROUP/VERSION` or `/api/v1`."""
    listed = [entry for resource in resources for entry in _entries(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _entries(resource: Resource) -> Iterable[JSON]:
    entry: JSON = {"name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced}
    entry |= {"kind": resource.kind, "verbs": list(resource.verbs)}
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    yield entry
    for name in sorted(resource.subresources):
        _, _, kind = SUBRESOURCE_KINDS.get(name, ("", "", resource.kind))
        below = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        yield below | {"kind": kind, "verbs": list(SUBRESOURCE_VERBS.get(name, ("get", "patch", "update")))}


def aggregated(groups: dict[str, list[str]], registry: Registry) -> JSON:
    """Return the aggregated document of some groups, '' being the core one."""
    items = []
    for name, versions in groups.items():
        shown = [
            {
                "version": version,
                "resources": [_aggregated_resource(resource) for resource in registry.of_version(name, version)],
                "freshness": "Current",
            }
            for version in versions
        ]
        items.append({"metadata": {"name": name, "creationTimestamp": None}, "versions": shown})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(resource: Resource) -> JSON:
    def kind(group: str, version: str, name: str) -> JSON:
        return {"group": group, "version": version, "kind": name}

    own = (resource.group, resource.version, resource.kind)
    entry: JSON = {
        "resource": resource.plural,
        "responseKind": kind(*own),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": kind(*SUBRESOURCE_KINDS.get(name, own)),
                "verbs": list(SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))),
            }
            for name in sorted(resource.subresources)
        ]
    return entry
