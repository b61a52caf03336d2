"""A Job spec that uses much of what can be judged, and changes of one place in it."""

from typing import Any

GONE = object()
"""In place of a value: the field is not there."""

TASK = "tasks.0"
POD = "tasks.0.template.spec"
CONTAINER = "tasks.0.template.spec.containers.0"
INIT = "tasks.0.template.spec.initContainers.0"


def a_rich_job_spec() -> dict[str, Any]:
    """A valid spec of two tasks, the second after the first."""
    container = {
        "name": "main",
        "image": "busybox",
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80, "name": "http"}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "livenessProbe": {"httpGet": {"port": 80, "path": "/"}},
    }
    pod = {
        "restartPolicy": "Never",
        "volumes": [{"name": "data", "emptyDir": {}}],
        "initContainers": [{"name": "init", "image": "busybox"}],
        "containers": [container],
    }
    return {
        "minAvailable": 2,
        "queue": "default",
        "maxRetry": 3,
        "plugins": {"svc": []},
        "policies": [{"event": "PodFailed", "action": "RestartJob"}],
        "volumes": [{"mountPath": "/v", "volumeClaimName": "claim"}],
        "tasks": [
            {
                "name": "first",
                "replicas": 2,
                "minAvailable": 2,
                "maxRetry": 3,
                "policies": [{"exitCode": 3, "action": "AbortJob"}],
                "template": {"metadata": {"labels": {"x": "y"}}, "spec": pod},
            },
            {
                "name": "second",
                "replicas": 1,
                "minAvailable": 1,
                "maxRetry": 3,
                "dependsOn": {"name": ["first"]},
                "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
            },
        ],
    }


def changed(place: str, value: Any) -> dict[str, Any]:
    """The rich spec with one value changed; `place` is keys and indexes, a dot inside of a key written as `\\`."""
    spec: Any = a_rich_job_spec()
    *path, last = (int(key) if key.isdigit() else key.replace("\\", ".") for key in place.split("."))
    here = spec
    for key in path:
        here = here.setdefault(key, {}) if isinstance(here, dict) else here[key]
    if value is GONE:
        here.pop(last)
    else:
        here[last] = value
    return spec
