"""Job specs, right ones and wrong ones, one change of `a_rich_job_spec` each: its place, its value, and the fault.

Those that are right, a real API server takes too (`test_jobtemplate_real.py`).
"""

from tests.support.specs import CONTAINER, GONE, INIT, POD, TASK

ONE_ACTION = {"action": "AbortJob"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
COMMAND = {"exec": {"command": ["true"]}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PARTITIONS = {"totalPartitions": 2, "partitionSize": 1}

RIGHT = [
    ("minAvailable", GONE), ("minAvailable", 0), ("minAvailable", 3), ("maxRetry", 0), ("minSuccess", 1),
    ("ttlSecondsAfterFinished", 0), ("queue", ""), ("queue", "team.a"), ("priorityClassName", "high"),
    ("runningEstimate", "1h30m"), ("plugins", {}), ("plugins", {"ray": ["--port=1"], "mpi": ["--master", "first"]}),
    ("plugins", {"mpi": ["--worker=x", "--master=second"]}), ("plugins", {"nonsense": None}),
    ("policies", []), ("policies", [{"events": ["PodEvicted", "PodEvicted"], "event": "PodEvicted", **ONE_ACTION}]),
    ("policies", [{"event": "*", **ONE_ACTION}, {"exitCode": 1, **ONE_ACTION}]),
    ("policies", [{"event": "PodPending", "timeout": "10m", **ONE_ACTION}]), ("policies.0.exitCode", None),
    ("volumes", [{"mountPath": "/a", "volumeClaim": CLAIM}]), ("volumes.0.volumeClaimName", "a.b"),
    ("networkTopology", {"mode": "soft", "highestTierAllowed": 1}), ("networkTopology", {"highestTierName": "rack"}),
    (f"{TASK}.minAvailable", GONE), (f"{TASK}.topologyPolicy", "none"), ("tasks.1.name", GONE),
    ("tasks.1.name", ""), ("tasks.1.dependsOn", {}), ("tasks.1.dependsOn", {"name": ["first"], "iteration": "any"}),
    (f"{TASK}.partitionPolicy", PARTITIONS), (f"{TASK}.partitionPolicy", {**PARTITIONS, "minPartitions": 2}),
    (f"{POD}.restartPolicy", ""), (f"{POD}.hostAliases", [{"ip": "::1", "hostnames": ["a.b"]}, {"ip": "10.0.0.1"}]),
    (f"{POD}.topologySpreadConstraints", [SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]),
    (f"{POD}.nodeSelector", {"a.b/c": "d", "e": ""}), (f"{POD}.activeDeadlineSeconds", 1),
    (f"{CONTAINER}.ports", [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]),
    (f"{CONTAINER}.env.0.name", "my.var-X"), (f"{CONTAINER}.env.0.valueFrom", None),
    (f"{CONTAINER}.resources.requests.cpu", 2), (f"{CONTAINER}.resources.requests.cpu", "2000m"),
    (f"{CONTAINER}.resources.limits.cpu", None), (f"{CONTAINER}.resources.limits.nvidia\\com/gpu", "1"),
    (f"{CONTAINER}.resources.limits.hugepages-2Mi", "2Mi"), (f"{CONTAINER}.livenessProbe", COMMAND),
    (f"{CONTAINER}.readinessProbe", {"tcpSocket": {"port": "http"}, "successThreshold": 3}),
    (f"{CONTAINER}.volumeMounts.0.subPath", "a/b"), (f"{INIT}.restartPolicy", "Always"),
]  # fmt: skip


REQUIRED, INVALID, UNSUPPORTED, DUPLICATE = "Required value", "Invalid value", "Unsupported value", "Duplicate value"
NOT_FOUND, FORBIDDEN, TOO_LONG = "Not found", "Forbidden", "Too long"
TASKS_POD = "spec.tasks[0].template.spec"
MAIN = f"{TASKS_POD}.containers[0]"

WRONG = {
    "has-tasks": [("tasks", [], "spec.tasks", REQUIRED), ("tasks", None, "spec.tasks", REQUIRED)],
    "task-names-are-valid": [
        *(("tasks.1.name", name, "spec.tasks[1].name", INVALID) for name in ("A", "a.b", "a\n", "-a")),
        ("tasks.1.name", "x" * 64, "spec.tasks[1].name", TOO_LONG),
    ],
    "task-names-are-unique": [("tasks.1.name", "first", "spec.tasks[1].name", DUPLICATE)],
    "task-names-fit": [("tasks.1.name", "x" * 56, "spec.tasks[1].name", INVALID)],
    "numbers-are-in-range": [
        ("minAvailable", -1, "spec.minAvailable", INVALID), ("maxRetry", -1, "spec.maxRetry", INVALID),
        ("ttlSecondsAfterFinished", -1, "spec.ttlSecondsAfterFinished", INVALID),
        ("minSuccess", 0, "spec.minSuccess", INVALID), ("minSuccess", 2**31, "spec.minSuccess", INVALID),
        (f"{TASK}.replicas", -1, "spec.tasks[0].replicas", INVALID),
        (f"{TASK}.replicas", 2**31, "spec.tasks[0].replicas", INVALID),
        (f"{TASK}.minAvailable", -1, "spec.tasks[0].minAvailable", INVALID),
        (f"{TASK}.maxRetry", -1, "spec.tasks[0].maxRetry", INVALID),
        (f"{TASK}.partitionPolicy", {**PARTITIONS, "totalPartitions": 0},
         "spec.tasks[0].partitionPolicy.totalPartitions", INVALID),
        (f"{TASK}.partitionPolicy", {**PARTITIONS, "minPartitions": -1},
         "spec.tasks[0].partitionPolicy.minPartitions", INVALID),
    ],
    "task-min-available-fits": [
        (f"{TASK}.minAvailable", 3, "spec.tasks[0].minAvailable", INVALID),
        (f"{TASK}.replicas", GONE, "spec.tasks[0].minAvailable", INVALID),
    ],
    "min-available-fits": [
        ("minAvailable", 4, "spec.minAvailable", INVALID), (f"{TASK}.replicas", 2**31 - 1, "spec.tasks", INVALID),
    ],
    "partitions-add-up": [
        (f"{TASK}.partitionPolicy", {"totalPartitions": 2}, "spec.tasks[0].partitionPolicy.partitionSize", REQUIRED),
        (f"{TASK}.partitionPolicy", {"partitionSize": 2}, "spec.tasks[0].partitionPolicy.totalPartitions", REQUIRED),
        (f"{TASK}.partitionPolicy", {"totalPartitions": 2, "partitionSize": 2}, "spec.tasks[0].replicas", INVALID),
        (f"{TASK}.partitionPolicy", {**PARTITIONS, "minPartitions": 1}, "spec.tasks[0].minAvailable", INVALID),
        (f"{TASK}.partitionPolicy", {"totalPartitions": 2**16, "partitionSize": 2**16},
         "spec.tasks[0].partitionPolicy", INVALID),
    ],
    "network-topologies-are-valid": [
        ("networkTopology", {"mode": ""}, "spec.networkTopology.mode", UNSUPPORTED),
        ("networkTopology", {"highestTierAllowed": -1}, "spec.networkTopology.highestTierAllowed", INVALID),
        ("networkTopology", {"highestTierAllowed": 1, "highestTierName": "a"},
         "spec.networkTopology.highestTierName", FORBIDDEN),
        ("networkTopology", {"highestTierName": "A"}, "spec.networkTopology.highestTierName", INVALID),
        (f"{TASK}.partitionPolicy", {**PARTITIONS, "networkTopology": {"mode": "x"}},
         "spec.tasks[0].partitionPolicy.networkTopology.mode", UNSUPPORTED),
    ],
    "topology-policies-are-valid": [
        (f"{TASK}.topologyPolicy", "strict", "spec.tasks[0].topologyPolicy", UNSUPPORTED),
        ("tasks.1.topologyPolicy", "restricted",
         "spec.tasks[1].template.spec.containers[0].resources.requests[cpu]", REQUIRED),
    ],
    "task-targets-exist": [("tasks.1.dependsOn.name", ["firs"], "spec.tasks[1].dependsOn.name[0]", NOT_FOUND)],
    "task-targets-are-unique": [
        ("tasks.1.dependsOn.name", ["first", "first"], "spec.tasks[1].dependsOn.name[1]", DUPLICATE)
    ],
    "no-task-after-itself": [("tasks.1.dependsOn.name", ["second"], "spec.tasks[1].dependsOn.name[0]", INVALID)],
    "no-task-cycle": [(f"{TASK}.dependsOn", {"name": ["second"]}, "spec.tasks[0].dependsOn.name[0]", INVALID)],
    "policies-are-for-events-or-an-exit-code": [
        ("policies.0.exitCode", 1, "spec.policies[0].exitCode", FORBIDDEN),
        ("policies", [ONE_ACTION], "spec.policies[0].event", REQUIRED),
        (f"{TASK}.policies.0.event", "PodFailed", "spec.tasks[0].policies[0].exitCode", FORBIDDEN),
    ],
    "policy-events-are-known": [
        ("policies.0.event", "PodRunning", "spec.policies[0].event", UNSUPPORTED),
        ("policies.0.event", "", "spec.policies[0].event", UNSUPPORTED),
        ("policies.0.events", ["PodEvicted", "Podfailed"], "spec.policies[0].events[1]", UNSUPPORTED),
    ],
    "policy-events-are-unique": [
        ("policies", [{"event": "Unknown", **ONE_ACTION}] * 2, "spec.policies[1].event", DUPLICATE),
        ("policies.0.events", ["*"], "spec.policies[0].events[0]", INVALID),
    ],
    "policy-actions-are-known": [
        ("policies.0.action", GONE, "spec.policies[0].action", REQUIRED),
        ("policies.0.action", "SyncJob", "spec.policies[0].action", UNSUPPORTED),
        (f"{TASK}.policies.0.action", "x", "spec.tasks[0].policies[0].action", UNSUPPORTED),
    ],
    "policy-exit-codes-are-valid": [
        (f"{TASK}.policies.0.exitCode", 0, "spec.tasks[0].policies[0].exitCode", INVALID),
        (f"{TASK}.policies.0.exitCode", 2**31, "spec.tasks[0].policies[0].exitCode", INVALID),
        ("policies", [{"exitCode": 1, **ONE_ACTION}] * 2, "spec.policies[1].exitCode", DUPLICATE),
    ],
    "policy-timeouts-are-valid": [
        ("policies.0.timeout", "10", "spec.policies[0].timeout", INVALID),
        ("policies.0.event", "PodPending", "spec.policies[0].timeout", REQUIRED),
        ("policies.0.events", ["PodPending"], "spec.policies[0].timeout", REQUIRED),
    ],
    "plugins-are-known": [("plugins", {"sshd": []}, "spec.plugins[sshd]", UNSUPPORTED)],
    "mpi-has-its-master": [
        ("plugins", {"mpi": []}, "spec.plugins[mpi]", NOT_FOUND),
        ("plugins", {"mpi": ["--master=frist"]}, "spec.plugins[mpi]", NOT_FOUND),
    ],
    "queue-is-valid": [
        ("queue", "root", "spec.queue", INVALID), ("queue", "A", "spec.queue", INVALID),
        ("queue", "x" * 254, "spec.queue", TOO_LONG),
    ],
    "job-names-are-valid": [
        ("priorityClassName", "A", "spec.priorityClassName", INVALID),
        ("priorityClassName", "", "spec.priorityClassName", INVALID),
        ("priorityClassName", "x" * 254, "spec.priorityClassName", TOO_LONG),
        ("schedulerName", "x" * 64, "spec.schedulerName", TOO_LONG),
    ],
    "running-estimate-is-valid": [("runningEstimate", "soon", "spec.runningEstimate", INVALID)],
    "volumes-are-valid": [
        ("volumes.0.mountPath", "", "spec.volumes[0].mountPath", REQUIRED),
        ("volumes.0.mountPath", "a:b", "spec.volumes[0].mountPath", INVALID),
        ("volumes", [{"mountPath": "/a", "volumeClaimName": "a"}] * 2, "spec.volumes[1].mountPath", DUPLICATE),
        ("volumes.0.volumeClaimName", GONE, "spec.volumes[0].volumeClaim", REQUIRED),
        ("volumes", [{"mountPath": "/a", "volumeClaim": {"accessModes": []}}], "spec.volumes[0].volumeClaim", REQUIRED),
        ("volumes.0.volumeClaim", CLAIM, "spec.volumes[0].volumeClaim", FORBIDDEN),
        ("volumes.0.volumeClaimName", "A", "spec.volumes[0].volumeClaimName", INVALID),
    ],
    "pod-volumes-are-valid": [
        (f"{POD}.volumes", [{"name": "data"}, {"name": "data"}], f"{TASKS_POD}.volumes[1].name", DUPLICATE),
        (f"{POD}.volumes", [{"name": "data"}, {"name": "A"}], f"{TASKS_POD}.volumes[1].name", INVALID),
        (f"{POD}.volumes", [{"name": "data"}, {"name": ""}], f"{TASKS_POD}.volumes[1].name", REQUIRED),
    ],
    "pod-words-are-known": [
        (f"{POD}.restartPolicy", "never", f"{TASKS_POD}.restartPolicy", UNSUPPORTED),
        (f"{POD}.dnsPolicy", "x", f"{TASKS_POD}.dnsPolicy", UNSUPPORTED),
    ],
    "pod-names-are-valid": [
        (f"{POD}.{key}", "A_b", f"{TASKS_POD}.{key}", INVALID)
        for key in ("serviceAccountName", "nodeName", "hostname", "subdomain", "priorityClassName")
    ],
    "pod-lists-have-unique-keys": [
        (f"{POD}.imagePullSecrets", [{"name": "a"}] * 2, f"{TASKS_POD}.imagePullSecrets[1].name", DUPLICATE),
        (f"{POD}.hostAliases", [{"ip": "::1"}] * 2, f"{TASKS_POD}.hostAliases[1].ip", DUPLICATE),
        (f"{POD}.topologySpreadConstraints", [SPREAD] * 2,
         f"{TASKS_POD}.topologySpreadConstraints[1].topologyKey", DUPLICATE),
    ],
    "spread-constraints-are-valid": [
        (f"{POD}.topologySpreadConstraints", [{**SPREAD, key: value}],
         f"{TASKS_POD}.topologySpreadConstraints[0].{key}", kind)
        for key, value, kind in (
            ("maxSkew", 0, INVALID), ("maxSkew", None, REQUIRED), ("topologyKey", "", REQUIRED),
            ("whenUnsatisfiable", "x", UNSUPPORTED), ("whenUnsatisfiable", None, REQUIRED),
        )
    ],
    "host-aliases-are-valid": [
        (f"{POD}.hostAliases", [{"ip": "x"}], f"{TASKS_POD}.hostAliases[0].ip", INVALID),
        (f"{POD}.hostAliases", [{"ip": "10.0.0.01"}], f"{TASKS_POD}.hostAliases[0].ip", INVALID),
        (f"{POD}.hostAliases", [{}], f"{TASKS_POD}.hostAliases[0].ip", REQUIRED),
        (f"{POD}.hostAliases", [{"ip": "::1", "hostnames": ["A"]}],
         f"{TASKS_POD}.hostAliases[0].hostnames[0]", INVALID),
    ],
    "pod-times-are-valid": [
        (f"{POD}.activeDeadlineSeconds", 0, f"{TASKS_POD}.activeDeadlineSeconds", INVALID),
        (f"{POD}.terminationGracePeriodSeconds", 2**63, f"{TASKS_POD}.terminationGracePeriodSeconds", INVALID),
    ],
    "labels-are-valid": [
        ("tasks.0.template.metadata.labels", {"a b": "c"}, "spec.tasks[0].template.metadata.labels", INVALID),
        ("tasks.0.template.metadata.labels", {"a": "b c"}, "spec.tasks[0].template.metadata.labels[a]", INVALID),
        (f"{POD}.nodeSelector", {"a": "b c"}, f"{TASKS_POD}.nodeSelector[a]", INVALID),
    ],
    "has-containers": [
        (f"{POD}.containers", [], f"{TASKS_POD}.containers", REQUIRED),
        ("tasks.1.template", GONE, "spec.tasks[1].template.spec.containers", REQUIRED),
    ],
    "container-names-are-valid": [
        (f"{CONTAINER}.name", "", f"{MAIN}.name", REQUIRED), (f"{CONTAINER}.name", "A", f"{MAIN}.name", INVALID),
        (f"{CONTAINER}.name", "x" * 64, f"{MAIN}.name", TOO_LONG),
        (f"{INIT}.name", "main", f"{TASKS_POD}.initContainers[0].name", DUPLICATE),
    ],
    "images-are-given": [
        (f"{CONTAINER}.image", GONE, f"{MAIN}.image", REQUIRED), (f"{CONTAINER}.image", "a ", f"{MAIN}.image", INVALID),
        (f"{INIT}.image", "\u00a0a", f"{TASKS_POD}.initContainers[0].image", INVALID),
    ],
    "container-words-are-known": [
        (f"{CONTAINER}.imagePullPolicy", "always", f"{MAIN}.imagePullPolicy", UNSUPPORTED),
        (f"{CONTAINER}.terminationMessagePolicy", "x", f"{MAIN}.terminationMessagePolicy", UNSUPPORTED),
        (f"{CONTAINER}.restartPolicy", "", f"{MAIN}.restartPolicy", UNSUPPORTED),
    ],
    "ports-are-valid": [
        (f"{CONTAINER}.ports.0.containerPort", 0, f"{MAIN}.ports[0].containerPort", INVALID),
        (f"{CONTAINER}.ports.0.containerPort", None, f"{MAIN}.ports[0].containerPort", REQUIRED),
        (f"{CONTAINER}.ports.0.hostPort", 65536, f"{MAIN}.ports[0].hostPort", INVALID),
        (f"{CONTAINER}.ports.0.name", "80", f"{MAIN}.ports[0].name", INVALID),
        (f"{CONTAINER}.ports.0.protocol", "tcp", f"{MAIN}.ports[0].protocol", UNSUPPORTED),
    ],
    "ports-are-unique": [
        (f"{CONTAINER}.ports", [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}],
         f"{MAIN}.ports[1].containerPort", DUPLICATE),
        (f"{CONTAINER}.ports", [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
         f"{MAIN}.ports[1].name", DUPLICATE),
    ],
    "host-ports-are-unique": [
        (f"{CONTAINER}.ports", [{"containerPort": 80, "hostPort": 8}, {"containerPort": 81, "hostPort": 8}],
         f"{MAIN}.ports[1].hostPort", DUPLICATE),
    ],
    "variables-are-valid": [
        (f"{CONTAINER}.env.0.name", "1A", f"{MAIN}.env[0].name", INVALID),
        (f"{CONTAINER}.env.0.name", "", f"{MAIN}.env[0].name", REQUIRED),
        (f"{CONTAINER}.env", [{"name": "A"}, {"name": "A"}], f"{MAIN}.env[1].name", DUPLICATE),
        (f"{CONTAINER}.env.0.valueFrom", {"fieldRef": {"fieldPath": "metadata.name"}},
         f"{MAIN}.env[0].valueFrom", FORBIDDEN),
        (f"{CONTAINER}.env", [{"name": "A", "valueFrom": {}}], f"{MAIN}.env[0].valueFrom", REQUIRED),
        (f"{CONTAINER}.envFrom", [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}],
         f"{MAIN}.envFrom[0].secretRef", FORBIDDEN),
    ],
    "mounts-are-valid": [
        (f"{CONTAINER}.volumeMounts.0.name", "dat", f"{MAIN}.volumeMounts[0].name", NOT_FOUND),
        (f"{CONTAINER}.volumeMounts.0.mountPath", "", f"{MAIN}.volumeMounts[0].mountPath", REQUIRED),
        (f"{CONTAINER}.volumeMounts.0.subPath", "../a", f"{MAIN}.volumeMounts[0].subPath", INVALID),
        (f"{CONTAINER}.volumeMounts", [{"name": "data", "mountPath": "/a"}] * 2,
         f"{MAIN}.volumeMounts[1].mountPath", DUPLICATE),
    ],
    "quantities-are-valid": [
        (f"{CONTAINER}.resources.requests.cpu", "x", f"{MAIN}.resources.requests[cpu]", INVALID),
        (f"{CONTAINER}.resources.requests.cpu", "-1", f"{MAIN}.resources.requests[cpu]", INVALID),
        (f"{CONTAINER}.resources.requests.cpu", 0.5, f"{MAIN}.resources.requests[cpu]", INVALID),
        (f"{CONTAINER}.resources.limits.a\\b/c", "1500m", f"{MAIN}.resources.limits[a.b/c]", INVALID),
    ],
    "resource-names-are-valid": [
        (f"{CONTAINER}.resources.limits.gpu", "1", f"{MAIN}.resources.limits[gpu]", INVALID),
        (f"{CONTAINER}.resources.limits.a\\b/c/d", "1", f"{MAIN}.resources.limits[a.b/c/d]", INVALID),
    ],
    "requests-fit-limits": [
        (f"{CONTAINER}.resources.requests.cpu", "2001m", f"{MAIN}.resources.requests[cpu]", INVALID),
        (f"{CONTAINER}.resources.requests.a\\b/c", "1", f"{MAIN}.resources.limits[a.b/c]", REQUIRED),
    ],
    "probes-have-one-handler": [
        (f"{CONTAINER}.readinessProbe", {}, f"{MAIN}.readinessProbe", REQUIRED),
        (f"{CONTAINER}.readinessProbe", {**COMMAND, "grpc": {"port": 1}}, f"{MAIN}.readinessProbe.grpc", FORBIDDEN),
        (f"{CONTAINER}.readinessProbe", {"exec": {}}, f"{MAIN}.readinessProbe.exec.command", REQUIRED),
        (f"{CONTAINER}.readinessProbe", {"tcpSocket": {}}, f"{MAIN}.readinessProbe.tcpSocket.port", REQUIRED),
        (f"{CONTAINER}.readinessProbe", {"grpc": {"port": 0}}, f"{MAIN}.readinessProbe.grpc.port", INVALID),
        (f"{CONTAINER}.livenessProbe.httpGet.port", "HTTP", f"{MAIN}.livenessProbe.httpGet.port", INVALID),
        (f"{CONTAINER}.livenessProbe.httpGet.scheme", "http", f"{MAIN}.livenessProbe.httpGet.scheme", UNSUPPORTED),
    ],
    "probes-are-for-what-stays": [
        (f"{INIT}.livenessProbe", COMMAND, f"{TASKS_POD}.initContainers[0].livenessProbe", FORBIDDEN)
    ],
    "probe-numbers-are-valid": [
        (f"{CONTAINER}.livenessProbe.periodSeconds", -1, f"{MAIN}.livenessProbe.periodSeconds", INVALID),
        (f"{CONTAINER}.livenessProbe.successThreshold", 2, f"{MAIN}.livenessProbe.successThreshold", INVALID),
        (f"{CONTAINER}.livenessProbe.terminationGracePeriodSeconds", 0,
         f"{MAIN}.livenessProbe.terminationGracePeriodSeconds", INVALID),
        (f"{CONTAINER}.readinessProbe", {**COMMAND, "terminationGracePeriodSeconds": 1},
         f"{MAIN}.readinessProbe.terminationGracePeriodSeconds", FORBIDDEN),
    ],
    "fields-have-their-shape": [
        (f"{POD}.volumes", [{"name": "data"}, {}], f"{TASKS_POD}.volumes[1].name", REQUIRED),
        (f"{POD}.volumes.0", {"name": "data", "hostPath": {"path": 5}},
         f"{TASKS_POD}.volumes[0].hostPath.path", INVALID),
    ],
    "annotations-are-valid": [
        ("tasks.0.template.metadata.annotations", {"a b": "c"}, "spec.tasks[0].template.metadata.annotations", INVALID),
        ("tasks.0.template.metadata.annotations", {"a": "x" * 2**18},
         "spec.tasks[0].template.metadata.annotations", TOO_LONG),
    ],
    "no-ephemeral-containers": [
        (f"{POD}.ephemeralContainers", [{"name": "debug", "image": "busybox"}],
         f"{TASKS_POD}.ephemeralContainers", FORBIDDEN)
    ],
    "dns-is-configured": [
        (f"{POD}.dnsPolicy", "None", f"{TASKS_POD}.dnsConfig.nameservers", REQUIRED)
    ],
    "host-is-shared-consistently": [
        ("tasks.1.template.spec", {"containers": [{"name": "main", "image": "busybox"}], "hostPID": True,
                                   "shareProcessNamespace": True},
         "spec.tasks[1].template.spec.shareProcessNamespace", INVALID),
        ("tasks.1.template.spec", {"containers": [{"name": "main", "image": "busybox", "ports": [
            {"containerPort": 80, "hostPort": 81}]}], "hostNetwork": True},
         "spec.tasks[1].template.spec.containers[0].ports[0].hostPort", INVALID),
    ],
    "claims-exist": [
        (f"{CONTAINER}.resources.claims", [{"name": "gpu"}], f"{MAIN}.resources.claims[0].name", NOT_FOUND),
        (f"{CONTAINER}.resources.claims", [{"name": ""}], f"{MAIN}.resources.claims[0].name", REQUIRED),
    ],
    "sleeps-are-within-the-grace-period": [
        (f"{CONTAINER}.lifecycle", {"preStop": {"sleep": {"seconds": seconds}}},
         f"{MAIN}.lifecycle.preStop.sleep.seconds", INVALID)
        for seconds in (0, -1, 31)
    ],
}  # fmt: skip
