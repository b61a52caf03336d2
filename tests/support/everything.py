"""A pod template that uses all that a template can hold, valid in every part."""

import json
from typing import Any

SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}
TERM = {
    "labelSelector": SELECTOR,
    "topologyKey": "kubernetes.io/hostname",
    "namespaces": ["ml"],
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    "matchLabelKeys": ["hash"],
    "mismatchLabelKeys": ["other"],
}
NODES = {
    "matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a"]}, {"key": "cores", "operator": "Gt", "values": ["4"]},
        {"key": "gpu", "operator": "DoesNotExist"},
    ],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}  # fmt: skip

AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODES]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": NODES}],
    },
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": TERM}],
    },
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": TERM}],
    },
}

ITEMS = [{"key": "k", "path": "a/b", "mode": 0o400}]
SECRET = {"name": "secret"}
FIELD = {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}, "mode": 0o400}
CPU = {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}}
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
    "selector": SELECTOR,
    "storageClassName": "fast",
    "volumeMode": "Filesystem",
    "volumeName": "pv",
    "volumeAttributesClassName": "gold",
    "dataSource": {"kind": "PersistentVolumeClaim", "name": "old"},
    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "old"},
}

SOURCES: dict[str, Any] = {
    "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"},
    "hostPath": {"path": "/var/log", "type": "Directory"},
    "gcePersistentDisk": {"pdName": "disk", "fsType": "ext4", "partition": 1, "readOnly": True},
    "awsElasticBlockStore": {"volumeID": "id", "fsType": "ext4", "partition": 1, "readOnly": True},
    "gitRepo": {"repository": "https://example.com/x.git", "revision": "main", "directory": "x"},
    "secret": {"secretName": "secret", "items": ITEMS, "defaultMode": 0o400, "optional": True},
    "nfs": {"server": "host", "path": "/x", "readOnly": True},
    "iscsi": {
        "targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:x", "lun": 1, "iscsiInterface": "default",
        "fsType": "ext4", "readOnly": True, "portals": ["10.0.0.2:3260"], "secretRef": SECRET,
        "initiatorName": "iqn.2001-04.com.example:y", "chapAuthDiscovery": True, "chapAuthSession": True,
    },
    "glusterfs": {"endpoints": "e", "path": "p", "readOnly": True},
    "persistentVolumeClaim": {"claimName": "claim", "readOnly": True},
    "rbd": {
        "monitors": ["10.0.0.1"], "image": "i", "fsType": "ext4", "pool": "p", "user": "u", "keyring": "/k",
        "secretRef": SECRET, "readOnly": True,
    },
    "quobyte": {"registry": "h:1", "volume": "v", "readOnly": True, "user": "u", "group": "g", "tenant": "t"},
    "flexVolume": {"driver": "d/x", "fsType": "ext4", "secretRef": SECRET, "readOnly": True, "options": {"a": "b"}},
    "cinder": {"volumeID": "id", "fsType": "ext4", "readOnly": True, "secretRef": SECRET},
    "cephfs": {
        "monitors": ["10.0.0.1"], "path": "/", "user": "u", "secretFile": "/s", "secretRef": SECRET, "readOnly": True
    },
    "flocker": {"datasetName": "d"},
    "downwardAPI": {"items": [FIELD, CPU], "defaultMode": 0o400},
    "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0, "fsType": "ext4", "readOnly": True},
    "azureFile": {"secretName": "secret", "shareName": "share", "readOnly": True},
    "configMap": {"name": "map", "items": ITEMS, "defaultMode": 0o400, "optional": True},
    "vsphereVolume": {"volumePath": "/v", "fsType": "ext4", "storagePolicyName": "n", "storagePolicyID": "i"},
    "azureDisk": {
        "diskName": "d", "diskURI": "https://blob/d.vhd", "cachingMode": "None", "fsType": "ext4", "readOnly": True,
        "kind": "Shared",
    },
    "photonPersistentDisk": {"pdID": "id", "fsType": "ext4"},
    "projected": {
        "defaultMode": 0o400,
        "sources": [
            {"secret": {"name": "secret", "items": [{"key": "k", "path": "s"}], "optional": True}},
            {"configMap": {"name": "map", "items": [{"key": "k", "path": "c"}], "optional": True}},
            {"downwardAPI": {"items": [FIELD]}},
            {"serviceAccountToken": {"audience": "a", "expirationSeconds": 3600, "path": "token"}},
            {"clusterTrustBundle": {"name": "bundle", "path": "bundle", "optional": True}},
            {"podCertificate": {"signerName": "example.com/x", "keyType": "ED25519", "maxExpirationSeconds": 3600,
                                "credentialBundlePath": "credentials"}},
        ],
    },
    "portworxVolume": {"volumeID": "id", "fsType": "ext4", "readOnly": True},
    "scaleIO": {
        "gateway": "https://g", "system": "s", "secretRef": SECRET, "sslEnabled": True, "protectionDomain": "d",
        "storagePool": "p", "storageMode": "ThinProvisioned", "volumeName": "v", "fsType": "xfs", "readOnly": True,
    },
    "storageos": {"volumeName": "v", "volumeNamespace": "n", "fsType": "ext4", "readOnly": True, "secretRef": SECRET},
    "csi": {
        "driver": "csi.example.com", "readOnly": True, "fsType": "ext4", "volumeAttributes": {"a": "b"},
        "nodePublishSecretRef": SECRET,
    },
    "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM}},
    "image": {"reference": "example.com/data:1", "pullPolicy": "Always"},
}  # fmt: skip

PROFILE = {"type": "Localhost", "localhostProfile": "profiles/x.json"}
CONTAINER_SECURITY = {
    "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
    "privileged": False,
    "seLinuxOptions": {"user": "u", "role": "r", "type": "t", "level": "s0"},
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "procMount": "Default",
    "seccompProfile": PROFILE,
    "appArmorProfile": {"type": "RuntimeDefault"},
}
POD_SECURITY = {
    "seLinuxOptions": {"level": "s0"},
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "supplementalGroups": [1, 2],
    "supplementalGroupsPolicy": "Merge",
    "fsGroup": 1000,
    "fsGroupChangePolicy": "OnRootMismatch",
    "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
    "seccompProfile": {"type": "RuntimeDefault"},
    "appArmorProfile": PROFILE,
}

HTTP = {
    "path": "/ready", "port": 80, "host": "example.com", "scheme": "HTTPS",
    "httpHeaders": [{"name": "Accept", "value": "text/plain"}],
}  # fmt: skip
TIMES = {
    "initialDelaySeconds": 1,
    "timeoutSeconds": 2,
    "periodSeconds": 3,
    "successThreshold": 1,
    "failureThreshold": 4,
}

ENV = [
    {"name": "PLAIN", "value": "1"},
    {"name": "FIELD", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
    {"name": "RESOURCE", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}},
    {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "k", "optional": True}}},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "k", "optional": True}}},
]

MAIN = {
    "name": "main",
    "image": "busybox",
    "command": ["sh"],
    "args": ["-c", "true"],
    "workingDir": "/",
    "ports": [{"name": "http", "hostPort": 8080, "containerPort": 80, "protocol": "TCP", "hostIP": "10.0.0.1"}],
    "envFrom": [
        {"prefix": "A_", "configMapRef": {"name": "map", "optional": True}},
        {"secretRef": {"name": "secret", "optional": True}},
    ],
    "env": ENV,
    "resources": {
        "limits": {"cpu": "2", "memory": "2Gi"},
        "requests": {"cpu": "1", "memory": "1Gi"},
        "claims": [{"name": "gpu", "request": "one"}],
    },
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "volumeMounts": [
        {
            "name": "v-emptydir", "mountPath": "/data", "readOnly": True, "recursiveReadOnly": "Disabled",
            "subPath": "a", "mountPropagation": "None",
        },
        {"name": "v-secret", "mountPath": "/secret", "subPathExpr": "$(PLAIN)"},
    ],
    "volumeDevices": [{"name": "v-persistentvolumeclaim", "devicePath": "/dev/x"}],
    "livenessProbe": {"httpGet": HTTP, **TIMES, "terminationGracePeriodSeconds": 5},
    "readinessProbe": {"tcpSocket": {"port": "http", "host": "10.0.0.1"}, **TIMES},
    "startupProbe": {"grpc": {"port": 9090, "service": "s"}, **TIMES},
    "lifecycle": {"postStart": {"exec": {"command": ["true"]}}, "preStop": {"httpGet": HTTP}},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "imagePullPolicy": "IfNotPresent",
    "securityContext": CONTAINER_SECURITY,
    "stdin": True,
    "stdinOnce": True,
    "tty": True,
}  # fmt: skip

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "x", "example.com/a": ""}, "annotations": {"example.com/note": "x y"}},
    "spec": {
        "volumes": [{"name": f"v-{name.lower()}", name: source} for name, source in SOURCES.items()],
        "initContainers": [
            {"name": "init", "image": "busybox", "env": ENV, "securityContext": CONTAINER_SECURITY},
            {"name": "beside", "image": "busybox", "restartPolicy": "Always",
             "startupProbe": {"exec": {"command": ["true"]}, **TIMES},
             "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
        ],
        "containers": [
            MAIN, {"name": "second", "image": "busybox", "lifecycle": {"preStop": {"tcpSocket": {"port": 1}}}},
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "activeDeadlineSeconds": 600,
        "dnsPolicy": "None",
        "nodeSelector": {"zone": "a"},
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "automountServiceAccountToken": False,
        "shareProcessNamespace": True,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "securityContext": POD_SECURITY,
        "imagePullSecrets": [{"name": "pull"}, {"name": "other"}],
        "hostname": "host",
        "subdomain": "sub",
        "affinity": AFFINITY,
        "schedulerName": "volcano",
        "tolerations": [
            {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 60},
            {"operator": "Exists"},
        ],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}],
        "dnsConfig": {
            "nameservers": ["10.0.0.1"], "searches": ["example.com"], "options": [{"name": "ndots", "value": "2"}],
        },
        "readinessGates": [{"conditionType": "example.com/ready"}],
        "runtimeClassName": "kata",
        "enableServiceLinks": False,
        "preemptionPolicy": "Never",
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR,
             "minDomains": 2, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore", "matchLabelKeys": ["hash"]},
        ],
        "setHostnameAsFQDN": False,
        "os": {"name": "linux"},
        "hostUsers": True,
        "schedulingGates": [{"name": "example.com/wait"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "template"}],
    },
}  # fmt: skip


def a_full_template() -> dict[str, Any]:
    """A copy of all of it, to be changed."""
    return json.loads(json.dumps(TEMPLATE))  # no part of it is shared with another
