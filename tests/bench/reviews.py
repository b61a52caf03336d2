"""Offers AdmissionReviews of JobFlows as an API server sends them, large and small."""

import json
from collections.abc import Iterable
from typing import Any

KIND = {"group": "flow.volcano.sh", "version": "v1alpha1", "kind": "JobFlow"}
RESOURCE = {"group": "flow.volcano.sh", "version": "v1alpha1", "resource": "jobflows"}


def layers(count: int, width: int) -> list[dict[str, Any]]:
    """`count` layers of `width` entries, each of which depends on all of the layer before."""
    return [
        {"name": f"l{i}-{j}", "dependsOn": {"targets": [f"l{i - 1}-{k}" for k in range(width)]}}
        if i
        else {"name": f"l{i}-{j}"}
        for i in range(count)
        for j in range(width)
    ]


def creation(flows: Iterable[dict[str, Any]], uid: str = "9e6b4f4a-2c57-4b65-9d2a-0c6f1f1f7f11") -> bytes:
    """The review of the creation of a JobFlow with these entries, as `kubectl create` leads to it."""
    jobflow = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {
            "name": "bench",
            "namespace": "default",
            "uid": "0c3aa1cb-3e2e-4f5e-8c65-3a1f0ad4a9d5",
            "creationTimestamp": "2026-11-21T12:00:00Z",
            "generation": 1,
            "managedFields": [
                {
                    "manager": "kubectl-create",
                    "operation": "Update",
                    "apiVersion": "flow.volcano.sh/v1alpha1",
                    "time": "2026-11-21T12:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {".": {}, "f:flows": {}, "f:jobRetainPolicy": {}}},
                }
            ],
        },
        "spec": {"flows": list(flows), "jobRetainPolicy": "retain"},
    }
    request = {
        "uid": uid,
        "kind": KIND,
        "resource": RESOURCE,
        "requestKind": KIND,
        "requestResource": RESOURCE,
        "name": "bench",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": jobflow,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(review, separators=(",", ":")).encode()
