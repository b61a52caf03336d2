"""What valid containers of a Job's Pods are: names, images, ports, variables, and what they mount.

As Kubernetes judges a pod template, which Volcano's webhook has it do. What a container may use is in `resources.py`,
how it is looked after in `probes.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.api.job_spec import Container, ContainerPort, JobTemplateInFull, PodSpec, Task, VolumeMount
from shared.flow import names
from shared.rules.fault import (
    SPEC,
    Fault,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from shared.rules.formats import is_env_name, is_port, is_port_name
from shared.rules.room import A_LABEL
from shared.rules.rule import Rule

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
PROPAGATIONS: Final = ("None", "HostToContainer", "Bidirectional")
RECURSIVE: Final = ("Disabled", "IfPossible", "Enabled")
BLANKS: Final = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
"""What Go's `unicode.IsSpace` knows."""

A_VARIABLE: Final = 'must be letters, digits, "-", "_" and ".", must not begin with a digit or ".." nor be "."'
A_PORT: Final = "must be between 1 and 65535, inclusive"


@Rule
def has_containers(template: JobTemplateInFull) -> Iterator[Fault]:
    """The pod template of a task has at least one container."""
    for i, task in enumerate(template.tasks):
        pod = pod_of(task)
        if not pod or not pod.containers:
            yield required(pod_place(i) / "containers", "must have at least one container")


@Rule
def container_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container has a name, a DNS-1123 label of at most 63 characters, which no other of its Pod has."""
    for i, task in enumerate(template.tasks):
        seen = set[str]()
        # Kubernetes looks at the containers first; the fault is that of the init container.
        for at, container in sorted(containers_of(task, pod_place(i)), key=lambda place: "init" in str(place[0])):
            name, where = container.name, at / "name"
            if not name:
                yield required(where)
            elif name in seen:
                yield duplicate(where, name)
            elif len(name) > names.LONGEST_LABEL:
                yield too_long(where, names.LONGEST_LABEL)
            elif not names.is_label(name):
                yield invalid(where, name, f"must be {A_LABEL}")
            seen.add(name or "")


@Rule
def images_are_given(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container has an image, without blanks around it."""
    for at, container in all_containers(template):
        image = container.image or ""
        if not image:
            yield required(at / "image")
        elif image != image.strip(BLANKS):
            yield invalid(at / "image", image, "must not have blanks around it")


@Rule
def container_words_are_known(template: JobTemplateInFull) -> Iterator[Fault]:
    """The policies of a container, of restarting it, its image and its last message, are known words."""
    for at, container in all_containers(template):
        if container.restart_policy is not None and container.restart_policy not in RESTART_POLICIES:
            yield not_supported(at / "restartPolicy", container.restart_policy, RESTART_POLICIES)
        elif container.restart_policy is None and container.restart_policy_rules:
            yield required(at / "restartPolicy", "must be given beside restartPolicyRules")
        if container.termination_message_policy and container.termination_message_policy not in MESSAGE_POLICIES:
            yield not_supported(at / "terminationMessagePolicy", container.termination_message_policy, MESSAGE_POLICIES)
        if container.image_pull_policy and container.image_pull_policy not in PULL_POLICIES:
            yield not_supported(at / "imagePullPolicy", container.image_pull_policy, PULL_POLICIES)


@Rule
def ports_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A port of a container is from 1 to 65535 and of a known protocol; its name is one of a service."""
    for at, container in all_containers(template):
        for k, port in enumerate(container.ports or ()):
            yield from _faults_of_port(at / "ports" / k, port)


@Rule
def ports_are_unique(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container has each port once for a protocol, and each name of a port once."""
    for at, container in all_containers(template):
        numbers, port_names = set[tuple[int, str]](), {""}
        for k, port in enumerate(container.ports or ()):
            name = port.name or ""
            if name and name in port_names:
                yield duplicate(at / "ports" / k / "name", name)
            port_names.add(name)
            number = (port.container_port or 0, port.protocol or "TCP")
            if number in numbers and is_port(port.container_port):
                yield duplicate(at / "ports" / k / "containerPort", port.container_port)
            numbers.add(number)


@Rule
def host_ports_are_unique(template: JobTemplateInFull) -> Iterator[Fault]:
    """The containers of a Pod take each port of their node once."""
    for i, task in enumerate(template.tasks):
        taken = set[tuple[str, str, int]]()
        for at, container in containers_of(task, pod_place(i)):
            for k, port in enumerate((container.ports or ()) if "containers" in at.parts else ()):
                key = (port.protocol or "TCP", port.host_ip or "", port.host_port or 0)
                if is_port(port.host_port) and key in taken:
                    yield duplicate(at / "ports" / k / "hostPort", port.host_port)
                taken.add(key)


@Rule
def variables_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A variable has a name of letters, digits, `-`, `_` and `.` that begins with no digit, and a value or a source."""
    for at, container in all_containers(template):
        seen = set[str]()
        for k, variable in enumerate(container.env or ()):
            name, where = variable.name or "", at / "env" / k
            if not name:
                yield required(where / "name")
            elif name in seen:
                yield duplicate(where / "name", name)
            elif not is_env_name(name):
                yield invalid(where / "name", name, A_VARIABLE)
            seen.add(name)
            if variable.value and variable.value_from:
                yield forbidden(where / "valueFrom", "may not be given beside a value")
            elif variable.value_from is not None:
                yield from _one_of(where / "valueFrom", variable.value_from, SOURCES)
        for k, source in enumerate(container.env_from or ()):
            given = {"configMapRef": source.config_map_ref, "secretRef": source.secret_ref}
            yield from _one_of(at / "envFrom" / k, given, ("configMapRef", "secretRef"))
            if source.prefix and not is_env_name(source.prefix):
                yield invalid(at / "envFrom" / k / "prefix", source.prefix, A_VARIABLE)


@Rule
def mounts_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container mounts volumes of its Pod, each at a path of its own."""
    for i, task in enumerate(template.tasks):
        pod = pod_of(task)
        volumes = dict.fromkeys(name for volume in (pod.volumes or ()) if (name := name_of(volume))) if pod else {}
        for at, container in containers_of(task, pod_place(i)):
            yield from _faults_of_mounts(at, container, volumes)


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    has_containers,
    container_names_are_valid,
    images_are_given,
    container_words_are_known,
    ports_are_valid,
    ports_are_unique,
    host_ports_are_unique,
    variables_are_valid,
    mounts_are_valid,
)


def pod_place(task: int) -> FieldPath:
    """Where the spec of a task's Pods is."""
    return SPEC / "tasks" / task / "template" / "spec"


def pod_of(task: Task) -> PodSpec | None:
    """The spec of a task's Pods."""
    return task.template.spec if task.template else None


def name_of(item: object) -> str | None:
    """The name of what is kept as JSON, None where it has none that is a text, which is a fault of its shape."""
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def containers_of(task: Task, at: FieldPath) -> Iterator[tuple[FieldPath, Container]]:
    """The containers of a task's Pods, those for the beginning first, each with its place; `at` is the pod spec's."""
    pod = pod_of(task)
    if pod:
        for k, container in enumerate(pod.init_containers or ()):
            yield at / "initContainers" / k, container
        for k, container in enumerate(pod.containers or ()):
            yield at / "containers" / k, container


def all_containers(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, Container]]:
    """The containers of all tasks, each with its place."""
    for i, task in enumerate(template.tasks):
        yield from containers_of(task, pod_place(i))


def _faults_of_port(at: FieldPath, port: ContainerPort) -> Iterator[Fault]:
    if port.name and not is_port_name(port.name):
        why = 'must be at most 15 lower case letters, digits and single "-" inside, with at least one letter'
        yield invalid(at / "name", port.name, why)
    if port.host_port and not is_port(port.host_port):
        yield invalid(at / "hostPort", port.host_port, A_PORT)
    if port.container_port is None:
        yield required(at / "containerPort")
    elif not is_port(port.container_port):
        yield invalid(at / "containerPort", port.container_port, A_PORT)
    if port.protocol and port.protocol not in PROTOCOLS:
        yield not_supported(at / "protocol", port.protocol, PROTOCOLS)


def _one_of(at: FieldPath, given: Mapping[str, object], keys: Sequence[str]) -> Iterator[Fault]:
    present = [key for key in keys if given.get(key) is not None]
    if not present:
        yield required(at, f"must have one of {', '.join(keys)}")
    for key in present[1:]:
        yield forbidden(at / key, f"may not be given beside {present[0]}")


def _faults_of_mounts(at: FieldPath, container: Container, volumes: dict[str, None]) -> Iterator[Fault]:
    mounts = [
        *(
            (at / "volumeMounts" / k, m.name, "mountPath", m.mount_path)
            for k, m in enumerate(container.volume_mounts or ())
        ),
        *(
            (at / "volumeDevices" / k, d.name, "devicePath", d.device_path)
            for k, d in enumerate(container.volume_devices or ())
        ),
    ]
    seen = set[str]()
    for where, name, key, path in mounts:
        if not name:
            yield required(where / "name")
        elif name not in volumes:
            yield not_found(where / "name", name, "names no entry of the Pod's volumes", among=volumes)
        if not path:
            yield required(where / key)
        elif path in seen:
            yield duplicate(where / key, path)
        seen.add(path or "")
    for k, mount in enumerate(container.volume_mounts or ()):
        yield from _faults_of_mount(at / "volumeMounts" / k, mount)
    for k, device in enumerate(container.volume_devices or ()):
        if ".." in (device.device_path or "").split("/"):
            yield invalid(at / "volumeDevices" / k / "devicePath", device.device_path, 'must be a path without ".."')


def _faults_of_mount(at: FieldPath, mount: VolumeMount) -> Iterator[Fault]:
    for key, path in (("subPath", mount.sub_path or ""), ("subPathExpr", mount.sub_path_expr or "")):
        if path.startswith("/") or ".." in path.split("/"):
            yield invalid(at / key, path, 'must be a relative path without ".."')
    if mount.sub_path and mount.sub_path_expr:
        yield forbidden(at / "subPathExpr", "may not be given beside subPath")
    if mount.mount_propagation is not None and mount.mount_propagation not in PROPAGATIONS:
        yield not_supported(at / "mountPropagation", mount.mount_propagation, PROPAGATIONS)
    recursive = mount.recursive_read_only
    if recursive is not None and recursive not in RECURSIVE:
        yield not_supported(at / "recursiveReadOnly", recursive, RECURSIVE)
    elif recursive in RECURSIVE[1:]:
        if not mount.read_only:
            yield forbidden(at / "recursiveReadOnly", "may only be given where readOnly is true")
        elif mount.mount_propagation not in (None, "None"):
            yield forbidden(at / "recursiveReadOnly", "may only be given where mountPropagation is None")
