"""What a request wants: its path and method read as Kubernetes reads them."""

from collections.abc import Mapping
from dataclasses import dataclass

from devcluster.rbac import Attributes

VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Route:
    """A request for a resource (`plural` is set), or for a path that is none."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def attributes(self) -> Attributes:
        """Return what the caller must be allowed to do."""
        if not self.plural:
            return Attributes(self.verb, path=self.path)
        return Attributes(self.verb, self.group, self.plural, self.subresource, self.namespace, self.name)


def read_route(method: str, path: str, query: Mapping[str, str]) -> Route:
    """Read method, path and query; a path that names no resource keeps nothing but itself."""
    verb = VERBS.get(method, method.lower())
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Route(verb, path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in {"status", "finalize"}):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]  # the namespace itself, as RBAC sees it
    plural, name, subresource = (*rest, "", "")[:3]
    if len(rest) > 3:
        return Route(verb, path)
    if not name:
        verb = {"get": "watch" if query.get("watch") in {"1", "true", "True"} else "list"}.get(verb, verb)
        verb = "deletecollection" if verb == "delete" else verb
    return Route(verb, path, group, version, plural, namespace, name, subresource)
