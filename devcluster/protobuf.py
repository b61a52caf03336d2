"""Bodies in Protobuf: kubectl sends them for the built-in kinds that it makes itself, and asks nobody beforehand.

`kubectl create namespace`, `create secret`, `create token`, `create rolebinding`, `auth can-i` and the like do so;
manifests always come as JSON. Only the messages of such kinds are known here, by the field numbers of Kubernetes'
`generated.proto` files. Answers are in JSON, which every client takes.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from devcluster.resources import JSON

MEDIA = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class ProtobufError(ValueError):
    """A body that is no message of a kind that is known here."""


# Message -> field number -> name and type; '[]' before a type: repeated, '{}': a map from text to it.
MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "raw")},
    "TypeMeta": {1: ("apiVersion", "string"), 2: ("kind", "string")},
    "ObjectMeta": {
        1: ("name", "string"),
        2: ("generateName", "string"),
        3: ("namespace", "string"),
        5: ("uid", "string"),
        6: ("resourceVersion", "string"),
        8: ("creationTimestamp", "Time"),
        11: ("labels", "{}string"),
        12: ("annotations", "{}string"),
        13: ("ownerReferences", "[]OwnerReference"),
        14: ("finalizers", "[]string"),
    },
    "OwnerReference": {
        1: ("kind", "string"),
        3: ("name", "string"),
        4: ("uid", "string"),
        5: ("apiVersion", "string"),
        6: ("controller", "bool"),
        7: ("blockOwnerDeletion", "bool"),
    },
    "Time": {1: ("seconds", "int")},
    "DeleteOptions": {
        1: ("gracePeriodSeconds", "int"),
        2: ("preconditions", "Preconditions"),
        3: ("orphanDependents", "bool"),
        4: ("propagationPolicy", "string"),
        5: ("dryRun", "[]string"),
    },
    "Preconditions": {1: ("uid", "string"), 2: ("resourceVersion", "string")},
    "Namespace": {1: ("metadata", "ObjectMeta"), 2: ("spec", "NamespaceSpec")},
    "NamespaceSpec": {1: ("finalizers", "[]string")},
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{}string"),
        3: ("binaryData", "{}bytes"),
        4: ("immutable", "bool"),
    },
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{}bytes"),
        3: ("type", "string"),
        4: ("stringData", "{}string"),
        5: ("immutable", "bool"),
    },
    "ServiceAccount": {
        1: ("metadata", "ObjectMeta"),
        3: ("imagePullSecrets", "[]LocalObjectReference"),
        4: ("automountServiceAccountToken", "bool"),
    },
    "LocalObjectReference": {1: ("name", "string")},
    "TokenRequest": {1: ("metadata", "ObjectMeta"), 2: ("spec", "TokenRequestSpec")},
    "TokenRequestSpec": {1: ("audiences", "[]string"), 4: ("expirationSeconds", "int")},
    "Role": {1: ("metadata", "ObjectMeta"), 2: ("rules", "[]PolicyRule")},
    "ClusterRole": {1: ("metadata", "ObjectMeta"), 2: ("rules", "[]PolicyRule")},
    "PolicyRule": {
        1: ("verbs", "[]string"),
        2: ("apiGroups", "[]string"),
        3: ("resources", "[]string"),
        4: ("resourceNames", "[]string"),
        5: ("nonResourceURLs", "[]string"),
    },
    "RoleBinding": {1: ("metadata", "ObjectMeta"), 2: ("subjects", "[]Subject"), 3: ("roleRef", "RoleRef")},
    "ClusterRoleBinding": {1: ("metadata", "ObjectMeta"), 2: ("subjects", "[]Subject"), 3: ("roleRef", "RoleRef")},
    "Subject": {1: ("kind", "string"), 2: ("apiGroup", "string"), 3: ("name", "string"), 4: ("namespace", "string")},
    "RoleRef": {1: ("apiGroup", "string"), 2: ("kind", "string"), 3: ("name", "string")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta")},
    "SelfSubjectRulesReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "SelfSubjectRulesReviewSpec")},
    "SelfSubjectRulesReviewSpec": {1: ("namespace", "string")},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta"), 2: ("spec", "SelfSubjectAccessReviewSpec")},
    "SelfSubjectAccessReviewSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: ("namespace", "string"),
        2: ("verb", "string"),
        3: ("group", "string"),
        4: ("version", "string"),
        5: ("resource", "string"),
        6: ("subresource", "string"),
        7: ("name", "string"),
    },
    "NonResourceAttributes": {1: ("path", "string"), 2: ("verb", "string")},
}


def decode(body: bytes) -> JSON:
    """Return the object that a body has. Raises ProtobufError."""
    if not body.startswith(MAGIC):
        raise ProtobufError("the body does not begin as Kubernetes' Protobuf does")
    try:
        envelope = _message("Unknown", body[len(MAGIC) :])
        types: JSON = envelope.get("typeMeta", {})
        kind = types.get("kind", "")
        if kind not in MESSAGES:
            raise ProtobufError(f"{kind} is not read as Protobuf here; send it as JSON, with kubectl create -f")
        return types | _message(kind, envelope.get("raw", b""))
    except (TypeError, AttributeError, OverflowError, OSError, UnicodeDecodeError) as error:
        raise ProtobufError(f"a field is of another type: {error}") from None


def _message(name: str, data: bytes) -> JSON:
    known = MESSAGES[name]
    read: JSON = {}
    for number, value in _fields(data):
        if number not in known:
            continue
        field, kind = known[number]
        if kind.startswith("[]"):
            read.setdefault(field, []).append(_value(kind[2:], value))
        elif kind.startswith("{}"):
            entry = dict(_fields(value))
            read.setdefault(field, {})[entry.get(1, b"").decode()] = _value(kind[2:], entry.get(2, b""))
        else:
            one = _value(kind, value)
            if one or kind == "bool":  # Go writes what is empty, too
                read[field] = one
    return read


def _value(kind: str, value: Any) -> Any:
    match kind:
        case "string":
            return value.decode()
        case "bytes":
            return base64.b64encode(value).decode()
        case "bool":
            return bool(value)
        case "int" | "raw":
            return value
        case "Time":
            seconds = _message("Time", value).get("seconds")
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else None
    return _message(kind, value)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the raw value of each field on the wire."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == BYTES:
            size, at = _varint(data, at)
        elif wire in {FIXED64, FIXED32}:
            size = 8 if wire == FIXED64 else 4
        else:
            raise ProtobufError(f"wire type {wire} is unknown")
        if at + size > len(data):
            raise ProtobufError("the body ends in the middle of a field")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ProtobufError("the body ends in the middle of a number")
