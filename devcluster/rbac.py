"""Who may do what: RBAC over the stored Roles and bindings, as rbac.authorization.k8s.io/v1 defines it.

`system:masters` and the cluster's own cleaners may do everything. Escalation is not guarded: who may write Roles may
write any Role.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devcluster.identity import GARBAGE_COLLECTOR, NAMESPACE_CONTROLLER, User
from devcluster.resources import JSON
from devcluster.store import Change, Store

GROUP = "rbac.authorization.k8s.io"
KINDS = {name: f"{name}.{GROUP}" for name in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")}
ABOVE = {GARBAGE_COLLECTOR.name, NAMESPACE_CONTROLLER.name}


@dataclass(frozen=True, slots=True)
class Attributes:
    """What somebody wants to do: to a resource, or to a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        """Say it as Kubernetes does, for the end of a refusal."""
        if self.path:
            return f'cannot {self.verb} path "{self.path}"'
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'cannot {self.verb} resource "{resource}" in API group "{self.group}" {where}'


def bootstrap() -> Iterator[tuple[str, JSON]]:
    """Yield the storage and the object of what every cluster begins with."""
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    reviews = [
        {"apiGroups": ["authorization.k8s.io"], "verbs": ["create"],
         "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
        {"apiGroups": ["authentication.k8s.io"], "verbs": ["create"], "resources": ["selfsubjectreviews"]},
    ]  # fmt: skip
    public = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    paths = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *public]
    authenticated, unauthenticated = "system:authenticated", "system:unauthenticated"
    for name, rules, groups in (
        ("cluster-admin", everything, ["system:masters"]),
        ("system:basic-user", reviews, [authenticated]),
        ("system:discovery", [{"nonResourceURLs": paths, "verbs": ["get"]}], [authenticated]),
        (
            "system:public-info-viewer",
            [{"nonResourceURLs": public, "verbs": ["get"]}],
            [authenticated, unauthenticated],
        ),
    ):
        labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
        yield (
            KINDS["clusterroles"],
            {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": rules},
        )
        subjects = [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups]
        yield (
            KINDS["clusterrolebindings"],
            {
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name, "labels": labels},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
                "subjects": subjects,
            },
        )


class Authorizer:
    """Answers from the Roles and bindings that are stored now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._objects: dict[str, list[JSON]] = {}
        store.observers.append(self._forget)

    def allows(self, user: User, wanted: Attributes) -> bool:
        """Say whether `user` may do it."""
        if user.is_master or user.name in ABOVE:
            return True
        return any(_covers(rule, wanted) for rule in self.rules(user, wanted.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[JSON]:
        """Yield the rules that apply to `user` in `namespace`, those of the whole cluster among them."""
        for binding in self._all("clusterrolebindings"):
            if _binds(binding, user, ""):
                yield from self._rules_of(binding["roleRef"], "")
        if not namespace:
            return
        for binding in self._all("rolebindings"):
            if binding["metadata"]["namespace"] == namespace and _binds(binding, user, namespace):
                yield from self._rules_of(binding["roleRef"], namespace)

    def _rules_of(self, ref: JSON, namespace: str) -> Iterable[JSON]:
        where, scope = ("clusterroles", "") if ref.get("kind") == "ClusterRole" else ("roles", namespace)
        for role in self._all(where):
            if role["metadata"]["name"] == ref.get("name") and role["metadata"].get("namespace", "") == scope:
                return role.get("rules") or ()
        return ()

    def _all(self, plural: str) -> list[JSON]:
        storage = KINDS[plural]
        if storage not in self._objects:
            self._objects[storage] = [stored.decode() for stored in self._store.bucket(storage).objects.values()]
        return self._objects[storage]

    def _forget(self, storage: str, _: Change) -> None:
        self._objects.pop(storage, None)


def _binds(binding: JSON, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        account = f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
        if kind == "ServiceAccount" and account == user.name:
            return True
    return False


def _covers(rule: JSON, wanted: Attributes) -> bool:
    if not {wanted.verb, "*"} & set(rule.get("verbs") or ()):
        return False
    if wanted.path:
        return any(_path_fits(pattern, wanted.path) for pattern in rule.get("nonResourceURLs") or ())
    if not {wanted.group, "*"} & set(rule.get("apiGroups") or ()):
        return False
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    either = {resource, "*"} | ({f"*/{wanted.subresource}"} if wanted.subresource else set())
    if not either & set(rule.get("resources") or ()):
        return False
    names = rule.get("resourceNames") or ()
    return not names or wanted.name in names


def _path_fits(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern
