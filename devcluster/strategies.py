"""What single built-in kinds do besides being stored: defaults, and rules of their own.

As the strategies of Kubernetes' registries: `prepare` fills in what the server owns, `check` finds faults.
"""

import base64
from collections.abc import Callable, Iterator

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


def _namespace(new: JSON, old: JSON | None) -> None:
    new["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = new["metadata"]["name"]
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
            message = f'Invalid value: "{name}": should be a domain with at least three segments separated by dots'
            yield Cause("FieldValueInvalid", message, f"{at}.name")
        if name in names:
            yield Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{at}.name")
        names.add(name)
        if webhook.get("sideEffects") not in {"None", "NoneOnDryRun"}:
            told = f'"{webhook["sideEffects"]}"' if webhook.get("sideEffects") else "null"
            message = f'Unsupported value: {told}: supported values: "None", "NoneOnDryRun"'
            yield Cause("FieldValueNotSupported", message, f"{at}.sideEffects")
        if "v1" not in (webhook.get("admissionReviewVersions") or ()):
            message = "Invalid value: must include at least one of v1, v1beta1"
            yield Cause("FieldValueInvalid", message, f"{at}.admissionReviewVersions")
        if not 1 <= webhook.get("timeoutSeconds", 10) <= 30:
            message = f"Invalid value: {webhook['timeoutSeconds']}: the timeout value must be between 1 and 30 seconds"
            yield Cause("FieldValueInvalid", message, f"{at}.timeoutSeconds")
        yield from _check_client(webhook.get("clientConfig") or {}, f"{at}.clientConfig")


def _check_client(client: JSON, at: str) -> Iterator[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield Cause("FieldValueRequired", "Required value: exactly one of url or service is required", at)
    elif url is not None and not str(url).startswith("https://"):
        message = f'Invalid value: "{url}": "https" is the only allowed URL scheme; desired format: https://host[/path]'
        yield Cause("FieldValueInvalid", message, f"{at}.url")


def _check_event(new: JSON, old: JSON | None) -> Iterator[Cause]:
    about = new.get("involvedObject") or {}
    if (about.get("namespace") or "default") != new["metadata"].get("namespace"):
        message = f'Invalid value: "{about.get("namespace", "")}": does not match event.namespace'
        yield Cause("FieldValueInvalid", message, "involvedObject.namespace")


def _check_secret(new: JSON, old: JSON | None) -> Iterator[Cause]:
    for key, value in (new.get("data") or {}).items():
        try:
            base64.b64decode(value or "", validate=True)
        except (ValueError, TypeError):
            yield Cause("FieldValueInvalid", f'Invalid value: "{value}": illegal base64 data', f"data[{key}]")
    if old is not None and old.get("type") != new.get("type"):
        message = f'Invalid value: "{new.get("type")}": field is immutable'
        yield Cause("FieldValueInvalid", message, "type")
    if old is not None and old.get("immutable") and old.get("data") != new.get("data"):
        yield Cause("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set", "data")


def _check_binding(new: JSON, old: JSON | None) -> Iterator[Cause]:
    if old is not None and old.get("roleRef") != new.get("roleRef"):
        yield Cause("FieldValueInvalid", "Invalid value: cannot change roleRef", "roleRef")


def _check_crd(new: JSON, old: JSON | None) -> Iterator[Cause]:
    spec, name = new.get("spec") or {}, new["metadata"]["name"]
    names = spec.get("names") or {}
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    if name != wanted:
        message = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        yield Cause("FieldValueInvalid", message, "metadata.name")
    for field in ("plural", "kind"):
        if not names.get(field):
            yield Cause("FieldValueRequired", "Required value", f"spec.names.{field}")
    if spec.get("scope") not in {"Namespaced", "Cluster"}:
        message = f'Unsupported value: "{spec.get("scope", "")}": supported values: "Cluster", "Namespaced"'
        yield Cause("FieldValueNotSupported", message, "spec.scope")
    versions = spec.get("versions") or ()
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield Cause(
            "FieldValueInvalid",
            "Invalid value: must have exactly one version marked as storage version",
            "spec.versions",
        )
    for i, version in enumerate(versions):
        if "openAPIV3Schema" not in (version.get("schema") or {}):
            yield Cause(
                "FieldValueRequired",
                "Required value: schemas are required",
                f"spec.versions[{i}].schema.openAPIV3Schema",
            )


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
