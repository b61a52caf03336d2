"""What single built-in kinds do besides being stored: defaults, and rules of their own.

As the strategies of Kubernetes' registries: `prepare` fills in what the server owns, `check` finds faults.
"""

import base64
from collections.abc import Callable, Iterator
from typing import Any

from devcluster import causes, schema
from devcluster.conditions import ConditionError, compiled
from devcluster.resources import JSON, Cause, Resource

NAMESPACE_FINALIZER = "kubernetes"
PERMANENT_NAMESPACES = ("default", "kube-system", "kube-public")


def prepare(resource: Resource, new: JSON, old: JSON | None) -> None:
    """Fill in, in place, what the server decides about objects of this kind; `old` is None for a create."""
    if fill := _PREPARE.get(resource.storage):
        fill(new, old)


def check(resource: Resource, new: JSON, old: JSON | None) -> list[Cause]:
    """Return what is wrong by the rules of this kind."""
    find = _CHECK.get(resource.storage)
    return list(find(new, old)) if find else []


def limits(resource: Resource, new: JSON) -> list[str]:
    """Return warnings about what a real cluster would do with this object, and this server does not."""
    if resource.storage.startswith("mutatingwebhookconfigurations."):
        return ["the embedded API server stores mutating webhooks, but never calls them"]
    if not resource.storage.startswith("customresourcedefinitions."):
        return []
    found = []
    if (new["spec"].get("conversion") or {}).get("strategy") == "Webhook":
        found.append("the embedded API server never calls conversion webhooks: versions differ by their name alone")
    if any(_has_rules(version["schema"]) for version in new["spec"]["versions"]):
        found.append("the embedded API server does not evaluate x-kubernetes-validations")
    return found


def _has_rules(source: Any) -> bool:
    if isinstance(source, dict):
        return "x-kubernetes-validations" in source or any(_has_rules(child) for child in source.values())
    return isinstance(source, list) and any(_has_rules(child) for child in source)


def _namespace(new: JSON, old: JSON | None) -> None:
    labels = new["metadata"].get("labels") or {}
    new["metadata"]["labels"] = labels | {"kubernetes.io/metadata.name": new["metadata"].get("name", "")}
    if old is None:
        new["spec"] = {"finalizers": [NAMESPACE_FINALIZER]}
        new["status"] = {"phase": "Active"}


def _secret(new: JSON, old: JSON | None) -> None:
    new.setdefault("type", "Opaque")
    plain = new.pop("stringData", None)
    if plain:
        data = new.setdefault("data", {}) or {}
        new["data"] = data | {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}


def _service(new: JSON, old: JSON | None) -> None:
    spec = new.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    new.setdefault("status", {"loadBalancer": {}})


def _pod(new: JSON, old: JSON | None) -> None:
    new.setdefault("status", {"phase": "Pending"})


def _deployment(new: JSON, old: JSON | None) -> None:
    new.setdefault("spec", {}).setdefault("replicas", 1)


def _webhooks(new: JSON, old: JSON | None) -> None:
    for webhook in new.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = webhook.get("clientConfig", {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def _binding(new: JSON, old: JSON | None) -> None:
    for subject in new.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"}:
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


def _check_webhooks(new: JSON, old: JSON | None) -> Iterator[Cause]:
    names = set()
    for i, webhook in enumerate(new.get("webhooks") or ()):
        at = f"webhooks[{i}]"
        name = webhook.get("name", "")
        if name.count(".") < 2:
            detail = "should be a domain with at least three segments separated by dots"
            yield causes.invalid(f"{at}.name", name, detail)
        if name in names:
            yield causes.duplicate(f"{at}.name", name)
        names.add(name)
        if webhook.get("sideEffects") not in {"None", "NoneOnDryRun"}:
            yield causes.unsupported(f"{at}.sideEffects", webhook.get("sideEffects"), ("None", "NoneOnDryRun"))
        versions = webhook.get("admissionReviewVersions") or []
        if "v1" not in versions:
            yield causes.invalid(f"{at}.admissionReviewVersions", versions, "must include at least one of v1, v1beta1")
        if not 1 <= webhook["timeoutSeconds"] <= 30:
            detail = "the timeout value must be between 1 and 30 seconds"
            yield causes.invalid(f"{at}.timeoutSeconds", webhook["timeoutSeconds"], detail)
        yield from _check_client(webhook.get("clientConfig") or {}, f"{at}.clientConfig")
        yield from _check_conditions(webhook.get("matchConditions") or [], f"{at}.matchConditions")


def _check_client(client: JSON, at: str) -> Iterator[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield causes.required(at, "exactly one of url or service is required")
    elif url is not None and not str(url).startswith("https://"):
        detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        yield causes.invalid(f"{at}.url", url, detail)


def _check_conditions(conditions: list[JSON], at: str) -> Iterator[Cause]:
    for i, condition in enumerate(conditions):
        expression = condition.get("expression") or ""
        try:
            compiled(expression)
        except ConditionError as error:
            yield causes.invalid(f"{at}[{i}].expression", expression, f"compilation failed: {error}")


def _check_event(new: JSON, old: JSON | None) -> Iterator[Cause]:
    home = (new.get("involvedObject") or {}).get("namespace", "")
    if (home or "default") != new["metadata"].get("namespace"):
        yield causes.invalid("involvedObject.namespace", home, "does not match event.namespace")


def _check_secret(new: JSON, old: JSON | None) -> Iterator[Cause]:
    for key, value in (new.get("data") or {}).items():
        try:
            base64.b64decode(value or "", validate=True)
        except (ValueError, TypeError):
            yield causes.invalid(f"data[{key}]", value, "illegal base64 data")
    if old is not None and old.get("type") != new.get("type"):
        yield causes.invalid("type", new.get("type"), "field is immutable")
    if old is not None and old.get("immutable") and old.get("data") != new.get("data"):
        yield causes.forbidden("data", "field is immutable when `immutable` is set")


def _check_binding(new: JSON, old: JSON | None) -> Iterator[Cause]:
    if old is not None and old.get("roleRef") != new.get("roleRef"):
        yield causes.invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def _check_crd(new: JSON, old: JSON | None) -> Iterator[Cause]:
    spec, name = new.get("spec") or {}, new["metadata"]["name"]
    names = spec.get("names") or {}
    if name != f"{names.get('plural')}.{spec.get('group')}":
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    for field in ("plural", "kind"):
        if not names.get(field):
            yield causes.required(f"spec.names.{field}")
    if spec.get("scope") not in {"Namespaced", "Cluster"}:
        yield causes.unsupported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield causes.invalid("spec.versions", versions, "must have exactly one version marked as storage version")
    for i, version in enumerate(versions):
        at = f"spec.versions[{i}].schema.openAPIV3Schema"
        source = (version.get("schema") or {}).get("openAPIV3Schema")
        if source is None:
            yield causes.required(at, "schemas are required")
            continue
        try:
            schema.compiled(source)
        except schema.SchemaError as error:
            yield causes.invalid(at, "schema", str(error))


_PREPARE: dict[str, Callable[[JSON, JSON | None], None]] = {
    "namespaces": _namespace,
    "secrets": _secret,
    "services": _service,
    "pods": _pod,
    "deployments.apps": _deployment,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
}

_CHECK: dict[str, Callable[[JSON, JSON | None], Iterator[Cause]]] = {
    "events": _check_event,
    "secrets": _check_secret,
    "customresourcedefinitions.apiextensions.k8s.io": _check_crd,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _check_webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _check_webhooks,
    "rolebindings.rbac.authorization.k8s.io": _check_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _check_binding,
}
