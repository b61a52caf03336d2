"""The spec of a Volcano Job, as it stands in a JobTemplate, in full: what the rules for JobTemplates judge.

Fields stand in the order in which faults are told. What rules look into has models here; of everything else in a pod
template there is the JSON, marked with the `Shape` that it must have. Fields that Volcano does not know are passed
over, for its CRD drops them. The programs make Jobs from the JSON itself, not from these models.
A null in a map is nothing, for the API server drops it.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from shared.api.meta import Key, ObjectMeta

Quantity = int | float | str
"""Kubernetes' resource.Quantity: `2`, `0.5`, `"500m"`, `"1Gi"`."""

IntOrString = int | str
"""Kubernetes' IntOrString: a port's number or its name."""

Int32 = Annotated[int, Meta(extra={"shape": "int32"})]

Json = dict[str, Any]

Affinity = Annotated[Json, Meta(extra={"shape": "Affinity"})]
ConfigMapEnvSource = Annotated[Json, Meta(extra={"shape": "ConfigMapEnvSource"})]
ContainerResizePolicies = Annotated[list[Any], Meta(extra={"shape": "[ContainerResizePolicy] by resourceName"})]
ContainerRestartRule = Annotated[Json, Meta(extra={"shape": "ContainerRestartRule"})]
EnvVarSource = Annotated[Json, Meta(extra={"shape": "EnvVarSource"})]
EphemeralContainer = Annotated[Json, Meta(extra={"shape": "EphemeralContainer"})]
HTTPHeader = Annotated[Json, Meta(extra={"shape": "HTTPHeader"})]
LabelSelector = Annotated[Json, Meta(extra={"shape": "LabelSelector"})]
Lifecycle = Annotated[Json, Meta(extra={"shape": "Lifecycle"})]
Overhead = Annotated[Json, Meta(extra={"shape": "{quantity}"})]
PersistentVolumeClaimSpec = Annotated[Json, Meta(extra={"shape": "types PersistentVolumeClaimSpec"})]
PodDNSConfig = Annotated[Json, Meta(extra={"shape": "PodDNSConfig"})]
PodOS = Annotated[Json, Meta(extra={"shape": "PodOS"})]
PodReadinessGate = Annotated[Json, Meta(extra={"shape": "PodReadinessGate"})]
PodResourceClaims = Annotated[list[Any], Meta(extra={"shape": "[PodResourceClaim] by name"})]
PodSchedulingGates = Annotated[list[Any], Meta(extra={"shape": "[PodSchedulingGate] by name"})]
PodSecurityContext = Annotated[Json, Meta(extra={"shape": "PodSecurityContext"})]
ResourceClaims = Annotated[list[Any], Meta(extra={"shape": "[ResourceClaim] by name"})]
ResourceRequirements = Annotated[Json, Meta(extra={"shape": "ResourceRequirements"})]
SecretEnvSource = Annotated[Json, Meta(extra={"shape": "SecretEnvSource"})]
SecurityContext = Annotated[Json, Meta(extra={"shape": "SecurityContext"})]
Toleration = Annotated[Json, Meta(extra={"shape": "Toleration"})]
Volume = Annotated[Json, Meta(extra={"shape": "Volume"})]


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `ports` of a container."""

    name: str | None = None
    host_port: int | None = None
    container_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = field(default=None, name="hostIP")


class EnvVar(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `env` of a container."""

    name: str | None = None
    value: str | None = None
    value_from: EnvVarSource | None = None


class EnvFrom(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `envFrom` of a container."""

    prefix: str | None = None
    config_map_ref: ConfigMapEnvSource | None = None
    secret_ref: SecretEnvSource | None = None


class Resources(Struct, frozen=True, gc=False, rename="camel"):
    """`resources` of a container."""

    limits: dict[str, Quantity | None] | None = None
    requests: dict[str, Quantity | None] | None = None
    claims: ResourceClaims | None = None


class VolumeMount(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `volumeMounts` of a container."""

    name: str | None = None
    read_only: bool | None = None
    mount_path: str | None = None
    sub_path: str | None = None
    mount_propagation: str | None = None
    recursive_read_only: str | None = None
    sub_path_expr: str | None = None


class VolumeDevice(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `volumeDevices` of a container."""

    name: str | None = None
    device_path: str | None = None


class HTTPGetAction(Struct, frozen=True, gc=False, rename="camel"):
    """`httpGet` of a probe or a lifecycle handler."""

    path: str | None = None
    port: IntOrString | None = None
    host: str | None = None
    scheme: str | None = None
    http_headers: tuple[HTTPHeader, ...] | None = None


class TCPSocketAction(Struct, frozen=True, gc=False, rename="camel"):
    """`tcpSocket` of a probe or a lifecycle handler."""

    port: IntOrString | None = None
    host: str | None = None


class GRPCAction(Struct, frozen=True, gc=False, rename="camel"):
    """`grpc` of a probe."""

    port: int | None = None
    service: str | None = None


class ExecAction(Struct, frozen=True, gc=False, rename="camel"):
    """`exec` of a probe or a lifecycle handler."""

    command: tuple[str, ...] | None = None


class ContainerProbe(Struct, frozen=True, gc=False, rename="camel"):
    """`livenessProbe`, `readinessProbe` or `startupProbe` of a container."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: int | None = None
    timeout_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    failure_threshold: int | None = None
    termination_grace_period_seconds: int | None = None


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `containers` or `initContainers`."""

    name: str | None = None
    image: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    working_dir: str | None = None
    ports: tuple[ContainerPort, ...] | None = None
    env_from: tuple[EnvFrom, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    resources: Resources | None = None
    resize_policy: ContainerResizePolicies | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None
    volume_devices: tuple[VolumeDevice, ...] | None = None
    liveness_probe: ContainerProbe | None = None
    readiness_probe: ContainerProbe | None = None
    startup_probe: ContainerProbe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    image_pull_policy: str | None = None
    security_context: SecurityContext | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    tty: bool | None = None


class HostAlias(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `hostAliases` of a pod."""

    ip: str | None = None
    hostnames: tuple[str, ...] | None = None


class ImagePullSecret(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `imagePullSecrets` of a pod."""

    name: str | None = None


class TopologySpreadConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `topologySpreadConstraints` of a pod."""

    max_skew: int | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """`spec` of a pod template."""

    volumes: tuple[Volume, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    containers: tuple[Container, ...] | None = None
    ephemeral_containers: tuple[EphemeralContainer, ...] | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str | None = None
    node_selector: dict[str, str | None] | None = None
    service_account_name: str | None = None
    service_account: str | None = None
    automount_service_account_token: bool | None = None
    node_name: str | None = None
    host_network: bool | None = None
    host_pid: bool | None = field(default=None, name="hostPID")
    host_ipc: bool | None = field(default=None, name="hostIPC")
    share_process_namespace: bool | None = None
    security_context: PodSecurityContext | None = None
    image_pull_secrets: tuple[ImagePullSecret, ...] | None = None
    hostname: str | None = None
    subdomain: str | None = None
    affinity: Affinity | None = None
    scheduler_name: str | None = None
    tolerations: tuple[Toleration, ...] | None = None
    host_aliases: tuple[HostAlias, ...] | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    dns_config: PodDNSConfig | None = None
    readiness_gates: tuple[PodReadinessGate, ...] | None = None
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: Overhead | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    os: PodOS | None = None
    host_users: bool | None = None
    scheduling_gates: PodSchedulingGates | None = None
    resource_claims: PodResourceClaims | None = None
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None


class PodMetadata(Struct, frozen=True, gc=False, rename="camel"):
    """`metadata` of a pod template, as much of it as Volcano's CRD has."""

    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    finalizers: tuple[str, ...] | None = None


class PodTemplate(Struct, frozen=True, gc=False, rename="camel"):
    """`template` of a task."""

    metadata: PodMetadata | None = None
    spec: PodSpec | None = None


class LifecyclePolicy(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `policies` of a Job or a task: what happens upon an event or an exit code."""

    action: str | None = None
    event: str | None = None
    events: tuple[str, ...] | None = None
    exit_code: int | None = None
    timeout: str | None = None


class NetworkTopology(Struct, frozen=True, gc=False, rename="camel"):
    """`networkTopology` of a Job or of a task's partitions."""

    mode: str | None = None
    highest_tier_allowed: int | None = None
    highest_tier_name: str | None = None


class PartitionPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """`partitionPolicy` of a task."""

    total_partitions: int | None = None
    partition_size: int | None = None
    min_partitions: int | None = None
    network_topology: NetworkTopology | None = None


class TaskDependsOn(Struct, frozen=True, gc=False, rename="camel"):
    """`dependsOn` of a task; `name` is a list."""

    name: tuple[str, ...] | None = None
    iteration: str | None = None


class Task(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `tasks`."""

    name: str | None = None
    replicas: int | None = None
    min_available: int | None = None
    template: PodTemplate | None = None
    policies: tuple[LifecyclePolicy, ...] | None = None
    topology_policy: str | None = None
    max_retry: int | None = None
    depends_on: TaskDependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class JobVolume(Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `volumes` of a Job."""

    mount_path: str | None = None
    volume_claim_name: str | None = None
    volume_claim: PersistentVolumeClaimSpec | None = None


class JobSpec(Struct, frozen=True, gc=False, rename="camel"):
    """`spec` of a Volcano Job, and so of a JobTemplate."""

    scheduler_name: str | None = None
    min_available: int | None = None
    volumes: tuple[JobVolume, ...] | None = None
    tasks: tuple[Task, ...] | None = None
    policies: tuple[LifecyclePolicy, ...] | None = None
    plugins: dict[str, tuple[str, ...] | None] | None = None
    running_estimate: str | None = None
    queue: str | None = None
    max_retry: int | None = None
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str | None = None
    min_success: int | None = None
    network_topology: NetworkTopology | None = None


class JobTemplateInFull(Struct, frozen=True, gc=False):
    """A JobTemplate whose spec is read, for those who judge it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec | None = None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.key

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The entries of `spec.tasks`, in their order."""
        return (self.spec.tasks or ()) if self.spec else ()
