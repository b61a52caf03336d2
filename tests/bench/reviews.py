"""Offers AdmissionReviews as an API server sends them, of JobFlows large and small and of a JobTemplate."""

import json
from collections.abc import Iterable
from typing import Any

UID = "9e6b4f4a-2c57-4b65-9d2a-0c6f1f1f7f11"


def layers(count: int, width: int) -> list[dict[str, Any]]:
    """`count` layers of `width` entries, each of which depends on all of the layer before."""
    return [
        {"name": f"l{i}-{j}", "dependsOn": {"targets": [f"l{i - 1}-{k}" for k in range(width)]}}
        if i
        else {"name": f"l{i}-{j}"}
        for i in range(count)
        for j in range(width)
    ]


def scattered(count: int, edges: int) -> list[dict[str, Any]]:
    """`count` entries, each of which depends on up to `edges` of those before it, here and there."""
    return [
        {"name": f"e{i}", "dependsOn": {"targets": [f"e{j}" for j in range(i)[:: max(1, i // edges)][:edges]]}}
        if i
        else {"name": "e0"}
        for i in range(count)
    ]


def creation(flows: Iterable[dict[str, Any]]) -> bytes:
    """The review of the creation of a JobFlow with these entries, as `kubectl create` leads to it."""
    return review("JobFlow", "jobflows", {"flows": list(flows), "jobRetainPolicy": "retain"})


def a_template_of_four_tasks() -> bytes:
    """The review of the creation of a JobTemplate of a realistic size."""
    tasks = [
        {
            "name": name,
            "replicas": replicas,
            "policies": [{"event": "PodFailed", "action": "RestartTask"}, {"exitCode": 3, "action": "AbortJob"}],
            "template": {
                "metadata": {"labels": {"app": "train", "task": name}, "annotations": {"note": "of the benchmark"}},
                "spec": {
                    "restartPolicy": "OnFailure",
                    "serviceAccountName": "train",
                    "initContainers": [{"name": "fetch", "image": "registry.example/fetch:1.4", "args": ["--all"]}],
                    "containers": [
                        {
                            "name": "main",
                            "image": "registry.example/train:2.11",
                            "command": ["python", "-m", "train"],
                            "args": ["--epochs=20", "--batch=256", "--data=/data", f"--role={name}"],
                            "env": [{"name": f"SETTING_{i}", "value": str(i)} for i in range(8)],
                            "ports": [{"name": "grpc", "containerPort": 2222}, {"name": "web", "containerPort": 80}],
                            "resources": {
                                "requests": {"cpu": "2", "memory": "8Gi"},
                                "limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1},
                            },
                            "volumeMounts": [
                                {"name": "data", "mountPath": "/data"},
                                {"name": "scratch", "mountPath": "/scratch"},
                            ],
                            "readinessProbe": {"tcpSocket": {"port": 2222}, "periodSeconds": 5},
                        }
                    ],
                    "volumes": [
                        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                        {"name": "scratch", "emptyDir": {}},
                    ],
                    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                },
            },
        }
        for name, replicas in (("chief", 1), ("server", 2), ("worker", 16), ("evaluator", 1))
    ]
    spec = {"minAvailable": 20, "queue": "default", "maxRetry": 3, "plugins": {"svc": [], "env": []}, "tasks": tasks}
    return review("JobTemplate", "jobtemplates", spec)


def review(kind: str, resource: str, spec: dict[str, Any]) -> bytes:
    """The review of the creation of an object with that spec."""
    of_kind = {"group": "flow.volcano.sh", "version": "v1alpha1", "kind": kind}
    of_resource = {"group": "flow.volcano.sh", "version": "v1alpha1", "resource": resource}
    metadata = {
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
    }
    request = {
        "uid": UID,
        "kind": of_kind,
        "resource": of_resource,
        "requestKind": of_kind,
        "requestResource": of_resource,
        "name": "bench",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
    }
    asked = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(asked, separators=(",", ":")).encode()
