"""Judge the metadata of an object: its names, labels, annotations, owners and finalizers.

Rules and words are those of `k8s.io/apimachinery/pkg/api/validation`. Three steps, as the API server has them:
`malformed_metadata` while a request is read, then `validate_metadata` for what is new or `validate_metadata_update`
for what changes.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from devcluster import causes
from devcluster.resources import JSON, Cause

MAX_ANNOTATIONS = 256 * 1024  # bytes, all keys and values together

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_label = re.compile(LABEL, re.ASCII)
_subdomain = re.compile(SUBDOMAIN, re.ASCII)
_qualified = re.compile(QUALIFIED, re.ASCII)

ENDS = "must start and end with an alphanumeric character"
LABEL_WORDS = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
)
SUBDOMAIN_WORDS = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)
QUALIFIED_WORDS = (
    f"must consist of alphanumeric characters, '-', '_' or '.', and {ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
)
VALUE_WORDS = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {ENDS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({QUALIFIED})?')"
)

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_metadata(obj: JSON, *, namespaced: bool) -> list[Cause]:
    """Return the faults of the metadata of an object that is to be created; a generated name is there already."""
    meta = obj.get("metadata") or {}
    faults: list[Cause] = []
    name_faults = NAME_RULES.get(obj.get("kind", ""), subdomain_faults)
    if prefix := meta.get("generateName"):
        masked = f"{prefix[:-1]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        faults += [causes.invalid("metadata.generateName", prefix, words) for words in name_faults(masked)]
    if name := meta.get("name"):
        faults += [causes.invalid("metadata.name", name, words) for words in name_faults(name)]
    else:
        faults.append(causes.required("metadata.name", "name or generateName is required"))
    namespace = meta.get("namespace", "")
    if namespaced and not namespace:
        faults.append(causes.required("metadata.namespace"))
    elif namespaced:
        faults += [causes.invalid("metadata.namespace", namespace, words) for words in label_faults(namespace)]
    elif namespace:
        faults.append(causes.forbidden("metadata.namespace", "not allowed on this type"))
    return faults + _common_faults(meta) + finalizer_faults(meta.get("finalizers") or [])


def validate_metadata_update(new: JSON, old: JSON) -> list[Cause]:
    """Return the faults of changed metadata; names and the like never change."""
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    faults: list[Cause] = []
    if before.get("deletionTimestamp"):
        known = before.get("finalizers") or []
        extra = sorted({one for one in after.get("finalizers") or [] if one not in known})
        if extra:
            found = ", ".join(causes.shown(one) for one in extra)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            faults.append(causes.forbidden("metadata.finalizers", f"{detail} []string{{{found}}}"))
    if not after.get("resourceVersion"):
        detail = "must be specified for an update"
        faults.append(causes.invalid("metadata.resourceVersion", after.get("resourceVersion", ""), detail))
    changed = [name for name in IMMUTABLE if after.get(name) != before.get(name)]
    faults += [causes.invalid(f"metadata.{name}", after.get(name, ""), "field is immutable") for name in changed]
    return faults + _common_faults(after)


def _common_faults(meta: JSON) -> list[Cause]:
    faults: list[Cause] = []
    for key, value in (meta.get("labels") or {}).items():
        faults += [causes.invalid("metadata.labels", key, words) for words in qualified_name_faults(key)]
        faults += [causes.invalid("metadata.labels", value, words) for words in label_value_faults(value or "")]
    annotations = meta.get("annotations") or {}
    for key in annotations:
        faults += [causes.invalid("metadata.annotations", key, words) for words in qualified_name_faults(key.lower())]
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS:
        faults.append(causes.too_long("metadata.annotations", MAX_ANNOTATIONS))
    return faults + owner_faults(meta.get("ownerReferences") or [])


def owner_faults(owners: list[JSON]) -> list[Cause]:
    """Every owner is named completely, and one of them at most is the controller."""
    field = "metadata.ownerReferences"
    faults: list[Cause] = []
    controller = ""
    for owner in filter(None, owners):
        api_version = owner.get("apiVersion", "")
        if not api_version or api_version.endswith("/"):
            faults.append(causes.invalid(f"{field}.apiVersion", api_version, "version must not be empty"))
        missing = [key for key in ("kind", "name", "uid") if not owner.get(key)]
        faults += [causes.invalid(f"{field}.{key}", "", "must not be empty") for key in missing]
        if (api_version, owner.get("kind")) == ("v1", "Event"):
            words = "/v1, Kind=Event is disallowed from being an owner"
            faults.append(Cause("FieldValueInvalid", f"Invalid value: {_owner_json(owner)}: {words}", field))
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                detail = 'Only one reference can have Controller set to true. Found "true" in references for'
                all_owners = f"[{','.join(map(_owner_json, owners))}]"
                words = f"Invalid value: {all_owners}: {detail} {controller} and {this}"
                faults.append(Cause("FieldValueInvalid", words, field))
            controller = controller or this
    return faults


def _owner_json(owner: JSON) -> str:
    """Return an owner as Go's type writes it: the fields that it has, in its order."""
    fields = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    fields |= {name: owner[name] for name in ("controller", "blockOwnerDeletion") if owner.get(name) is not None}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def finalizer_faults(finalizers: list[str]) -> list[Cause]:
    """Finalizers are qualified names, and dependents are either orphaned or deleted first, not both."""
    field = "metadata.finalizers"
    names = [one or "" for one in finalizers]
    faults = [causes.invalid(field, name, words) for name in names for words in qualified_name_faults(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        faults.append(causes.invalid(field, finalizers, detail))
    return faults


def finalizer_warnings(obj: JSON) -> list[str]:
    """Return the warnings with which a custom resource is stored: its finalizers have no domain of their own."""
    words = "to avoid accidental conflicts with other finalizer writers"
    return [
        f'metadata.finalizers: "{one}": prefer a domain-qualified finalizer name '
        f"{'including a path (/) ' if '.' in one else ''}{words}"
        for one in (obj.get("metadata") or {}).get("finalizers") or []
        if one and "/" not in one and one not in {ORPHAN, FOREGROUND, "kubernetes"}
    ]


def label_faults(name: str) -> list[str]:
    """Say what keeps a name from being an RFC 1123 label."""
    faults = ["must be no more than 63 characters"] if len(name.encode()) > 63 else []
    return faults if _label.fullmatch(name) else [*faults, LABEL_WORDS]


def subdomain_faults(name: str) -> list[str]:
    """Say what keeps a name from being an RFC 1123 subdomain, as most names must."""
    faults = ["must be no more than 253 characters"] if len(name.encode()) > 253 else []
    return faults if _subdomain.fullmatch(name) else [*faults, SUBDOMAIN_WORDS]


def path_segment_faults(name: str) -> list[str]:
    """Say what keeps a name from standing in a URL; for kinds of RBAC that is all that is asked."""
    if name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def qualified_name_faults(key: str) -> list[str]:
    """Say what keeps a text from being a label key: a name, or a domain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        words = f"a valid label key {QUALIFIED_WORDS}"
        return [f"{words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        # Kubernetes counts the same bytes here and calls them by their name.
        faults += [f"prefix part {words.replace('253 characters', '253 bytes')}" for words in subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not _qualified.fullmatch(name):
        faults.append(f"name part {QUALIFIED_WORDS}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """Say what keeps a text from being a label's value."""
    faults = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    return faults if not value or _qualified.fullmatch(value) else [*faults, VALUE_WORDS]


NAME_RULES: Mapping[str, Callable[[str], list[str]]] = {
    "Namespace": label_faults,
    "Service": label_faults,
    "Role": path_segment_faults,
    "RoleBinding": path_segment_faults,
    "ClusterRole": path_segment_faults,
    "ClusterRoleBinding": path_segment_faults,
}

# Of every field of ObjectMeta that people write: what its value and the values in it must be.
_SHAPES: Mapping[str, tuple[type, type | None]] = {
    "name": (str, None),
    "generateName": (str, None),
    "namespace": (str, None),
    "uid": (str, None),
    "resourceVersion": (str, None),
    "generation": (int, None),
    "creationTimestamp": (str, None),
    "deletionTimestamp": (str, None),
    "deletionGracePeriodSeconds": (int, None),
    "labels": (dict, str),
    "annotations": (dict, str),
    "finalizers": (list, str),
    "ownerReferences": (list, dict),
    "managedFields": (list, dict),
}
_OWNER_SHAPES = {
    "apiVersion": str,
    "kind": str,
    "name": str,
    "uid": str,
    "controller": bool,
    "blockOwnerDeletion": bool,
}
_GO = {str: "string", int: "int64", bool: "bool", dict: "map[string]string", list: "[]string"}
_GO_FIELDS = {
    "uid": "types.UID",
    "creationTimestamp": "v1.Time",
    "deletionTimestamp": "v1.Time",
    "ownerReferences": "[]v1.OwnerReference",
    "managedFields": "[]v1.ManagedFieldsEntry",
}


def malformed_metadata(obj: JSON) -> str | None:
    """Return the message with which the API server refuses (400) metadata of a wrong type, None if there is none.

    Everything else in this module relies on it: labels are texts, owners are objects.
    """
    fault = _metadata_type_fault(obj.get("metadata"))
    if fault is None:
        return None
    kind, version = obj.get("kind", ""), str(obj.get("apiVersion", "")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: json: cannot unmarshal {fault}'


def _metadata_type_fault(meta: Any) -> str | None:
    if meta is None:
        return None
    if type(meta) is not dict:
        return f"{_json_kind(meta)} into Go value of type v1.ObjectMeta"
    for name in sorted(meta.keys() & _SHAPES.keys()):  # the first fault in this order is the one that is told
        outer, inner = _SHAPES[name]
        value: Any = meta[name]
        if value is None:
            continue
        if type(value) is not outer:
            return (
                f"{_json_kind(value)} into Go struct field ObjectMeta.{name} of type {_GO_FIELDS.get(name, _GO[outer])}"
            )
        parts = value.values() if type(value) is dict else value if type(value) is list else ()
        for part in parts:
            if inner is not None and part is not None and type(part) is not inner:
                wanted = _GO_FIELDS.get(name, _GO[inner]).removeprefix("[]")
                return f"{_json_kind(part)} into Go struct field ObjectMeta.{name} of type {wanted}"
        if type(value) is list and name == "ownerReferences" and (fault := _owner_type_fault(value)):
            return fault
    return None


def _owner_type_fault(owners: list[Any]) -> str | None:
    for owner in owners:
        for name in sorted((owner or {}).keys() & _OWNER_SHAPES.keys()):
            kind = _OWNER_SHAPES[name]
            if owner[name] is not None and type(owner[name]) is not kind:
                wanted = _GO_FIELDS.get(name, _GO[kind])
                found = _json_kind(owner[name])
                return f"{found} into Go struct field OwnerReference.ownerReferences.{name} of type {wanted}"
    return None


def _json_kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")
