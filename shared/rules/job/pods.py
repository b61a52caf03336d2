"""What valid Pods of a Job are, apart from their containers: volumes, names, lists by key, labels."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from shared.api.job_spec import JobTemplateInFull, PodSpec, TopologySpreadConstraint
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
from shared.rules.formats import is_ip, is_label_value, is_port, is_qualified_name
from shared.rules.job.containers import containers_of, name_of, pod_of, pod_place
from shared.rules.job.values import A_KEY
from shared.rules.room import A_LABEL, A_SUBDOMAIN
from shared.rules.rule import Rule

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES: Final = ("Honor", "Ignore")
MOST: Final = 2**31 - 1


@Rule
def pod_volumes_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A volume of a Pod has a name, a DNS-1123 label, which no other volume has."""
    for at, pod in _pods(template):
        seen = set[str]()
        for k, volume in enumerate(pod.volumes or ()):
            name, where = name_of(volume), at / "volumes" / k / "name"
            if name is None:
                continue
            if not name:
                yield required(where)
            elif name in seen:
                yield duplicate(where, name)
            elif len(name) > names.LONGEST_LABEL:
                yield too_long(where, names.LONGEST_LABEL)
            elif not names.is_label(name):
                yield invalid(where, name, f"must be {A_LABEL}")
            seen.add(name)


@Rule
def pod_words_are_known(template: JobTemplateInFull) -> Iterator[Fault]:
    """The policies of a Pod, of restarting it, its DNS and who makes way for it, are known words."""
    for at, pod in _pods(template):
        if pod.restart_policy and pod.restart_policy not in RESTART_POLICIES:
            yield not_supported(at / "restartPolicy", pod.restart_policy, RESTART_POLICIES)
        if pod.dns_policy and pod.dns_policy not in DNS_POLICIES:
            yield not_supported(at / "dnsPolicy", pod.dns_policy, DNS_POLICIES)
        if pod.preemption_policy is not None and pod.preemption_policy not in PREEMPTION_POLICIES:
            yield not_supported(at / "preemptionPolicy", pod.preemption_policy, PREEMPTION_POLICIES)


@Rule
def pod_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """What a Pod's spec names, its node, account, priority class and host, it names in DNS-1123's way."""
    for at, pod in _pods(template):
        named: Mapping[str, tuple[str | None, Callable[[str], bool], str]] = {
            "serviceAccountName": (pod.service_account_name, names.is_subdomain, A_SUBDOMAIN),
            "nodeName": (pod.node_name, names.is_subdomain, A_SUBDOMAIN),
            "hostname": (pod.hostname, names.is_label, A_LABEL),
            "subdomain": (pod.subdomain, names.is_label, A_LABEL),
            "priorityClassName": (pod.priority_class_name, names.is_subdomain, A_SUBDOMAIN),
        }
        for key, (name, is_valid, what) in named.items():
            if name and not is_valid(name):
                yield invalid(at / key, name, f"must be {what}")
        runtime = pod.runtime_class_name
        if runtime is not None and not names.is_subdomain(runtime):
            yield invalid(at / "runtimeClassName", runtime, f"must be {A_SUBDOMAIN}")


@Rule
def pod_lists_have_unique_keys(template: JobTemplateInFull) -> Iterator[Fault]:
    """A Pod has one host alias for an address, and one image pull secret and one spread constraint of a kind."""
    for at, pod in _pods(template):
        seen = set[tuple[str, ...]]()
        for place, value, key in _keyed(at, pod):
            if key in seen:
                yield duplicate(place, value)
            seen.add(key)


@Rule
def spread_constraints_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A topology spread constraint has a skew of at least 1, a topology key, and says what if it cannot be met."""
    for at, pod in _pods(template):
        for k, constraint in enumerate(pod.topology_spread_constraints or ()):
            yield from _faults_of_constraint(at / "topologySpreadConstraints" / k, constraint)


@Rule
def host_aliases_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A host alias has an address and, as names for it, DNS-1123 subdomains."""
    for at, pod in _pods(template):
        for k, alias in enumerate(pod.host_aliases or ()):
            where = at / "hostAliases" / k
            if alias.ip is None:
                yield required(where / "ip")
            elif not is_ip(alias.ip):
                yield invalid(where / "ip", alias.ip, "must be an IP address such as 10.9.8.7 or 2001:db8::ffff")
            for m, hostname in enumerate(alias.hostnames or ()):
                if not names.is_subdomain(hostname):
                    yield invalid(where / "hostnames" / m, hostname, f"must be {A_SUBDOMAIN}")


@Rule
def pod_times_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """`activeDeadlineSeconds` of a Pod is at least 1 and within 32 bits, `terminationGracePeriodSeconds` within 64."""
    for at, pod in _pods(template):
        grace, deadline = pod.termination_grace_period_seconds, pod.active_deadline_seconds
        if grace is not None and not -(2**63) <= grace < 2**63:
            yield invalid(at / "terminationGracePeriodSeconds", grace, "must be within 64 bits")
        if deadline is not None and not 1 <= deadline <= MOST:
            yield invalid(at / "activeDeadlineSeconds", deadline, f"must be between 1 and {MOST}, inclusive")


@Rule
def labels_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """Labels of Pods, and those that they look for in a node, have keys and values that Kubernetes takes."""
    for at, labels in _labels(template):
        for key, value in labels.items():
            if not is_qualified_name(key):
                yield invalid(at, key, f"must be {A_KEY}")
            if not is_label_value(value or ""):
                why = 'must be at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends'
                yield invalid(at.key(key), value, why)


@Rule
def annotations_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """Annotations of Pods have keys that Kubernetes takes, and are not larger than 256 KiB in all."""
    for i, task in enumerate(template.tasks):
        annotations = (task.template.metadata.annotations if task.template and task.template.metadata else None) or {}
        at = SPEC / "tasks" / i / "template" / "metadata" / "annotations"
        for key in annotations:
            if not is_qualified_name(key.lower()):
                yield invalid(at, key, f"must be {A_KEY}")
        if sum(len(key.encode()) + len((text or "").encode()) for key, text in annotations.items()) > MOST_ANNOTATIONS:
            yield too_long(at, MOST_ANNOTATIONS)


@Rule
def no_ephemeral_containers(template: JobTemplateInFull) -> Iterator[Fault]:
    """A pod template has no ephemeral containers: those are for Pods that run."""
    for at, pod in _pods(template):
        if pod.ephemeral_containers:
            yield forbidden(at / "ephemeralContainers", "may not be given in a pod template")


@Rule
def dns_is_configured(template: JobTemplateInFull) -> Iterator[Fault]:
    """A Pod with the DNS policy `None` says itself which name servers it asks."""
    for at, pod in _pods(template):
        if pod.dns_policy == "None" and not (pod.dns_config or {}).get("nameservers"):
            yield required(at / "dnsConfig" / "nameservers", "must be given for the DNS policy None")


@Rule
def host_is_shared_consistently(template: JobTemplateInFull) -> Iterator[Fault]:
    """A Pod that shares its node's network has its ports there as they are; one PID namespace is shared, not two."""
    for i, task in enumerate(template.tasks):
        pod, at = pod_of(task), pod_place(i)
        if pod and pod.host_pid and pod.share_process_namespace:
            yield invalid(at / "shareProcessNamespace", True, "must not be true beside hostPID")
        for where, container in containers_of(task, at) if pod and pod.host_network else ():
            for k, port in enumerate(container.ports or ()):
                if port.host_port and is_port(port.container_port) and port.host_port != port.container_port:
                    why = "must be the containerPort where hostNetwork is true"
                    yield invalid(where / "ports" / k / "hostPort", port.host_port, why)


@Rule
def claims_exist(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container uses resource claims that its Pod has."""
    for i, task in enumerate(template.tasks):
        pod = pod_of(task)
        if pod and (pod.resources or {}).get("claims"):
            yield forbidden(pod_place(i) / "resources" / "claims", "may not be given for a Pod, but for its containers")
        known = [name for claim in (pod.resource_claims if pod else None) or () if (name := name_of(claim))]
        for at, container in containers_of(task, pod_place(i)):
            for k, claim in enumerate((container.resources.claims if container.resources else None) or ()):
                name, where = name_of(claim), at / "resources" / "claims" / k / "name"
                if name == "":
                    yield required(where)
                elif name and name not in known:
                    yield not_found(where, name, "names no entry of the Pod's resourceClaims", among=known)


MOST_ANNOTATIONS: Final = 256 * 1024

RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    pod_volumes_are_valid,
    pod_words_are_known,
    pod_names_are_valid,
    pod_lists_have_unique_keys,
    spread_constraints_are_valid,
    host_aliases_are_valid,
    pod_times_are_valid,
    labels_are_valid,
    annotations_are_valid,
    no_ephemeral_containers,
    dns_is_configured,
    host_is_shared_consistently,
    claims_exist,
)


def _pods(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, PodSpec]]:
    for i, task in enumerate(template.tasks):
        if pod := pod_of(task):
            yield pod_place(i), pod


def _faults_of_constraint(at: FieldPath, given: TopologySpreadConstraint) -> Iterator[Fault]:
    if given.max_skew is None:
        yield required(at / "maxSkew")
    elif not 1 <= given.max_skew <= MOST:
        yield invalid(at / "maxSkew", given.max_skew, f"must be between 1 and {MOST}, inclusive")
    if not given.topology_key:
        yield required(at / "topologyKey")
    if not given.when_unsatisfiable:
        yield required(at / "whenUnsatisfiable")
    elif given.when_unsatisfiable not in UNSATISFIABLE:
        yield not_supported(at / "whenUnsatisfiable", given.when_unsatisfiable, UNSATISFIABLE)
    yield from _faults_of_counting(at, given)


def _faults_of_counting(at: FieldPath, given: TopologySpreadConstraint) -> Iterator[Fault]:
    """What is said of which nodes and which Pods count."""
    if given.min_domains is not None and given.min_domains <= 0:
        yield invalid(at / "minDomains", given.min_domains, "must be more than 0")
    elif given.min_domains is not None and given.when_unsatisfiable == "ScheduleAnyway":
        yield forbidden(at / "minDomains", "may only be given where whenUnsatisfiable is DoNotSchedule")
    for key, policy in (
        ("nodeAffinityPolicy", given.node_affinity_policy),
        ("nodeTaintsPolicy", given.node_taints_policy),
    ):
        if policy is not None and policy not in NODE_POLICIES:
            yield not_supported(at / key, policy, NODE_POLICIES)
    if given.match_label_keys and given.label_selector is None:
        yield forbidden(at / "matchLabelKeys", "may not be given without labelSelector")
    for k, label in enumerate(given.match_label_keys or ()):
        if not is_qualified_name(label):
            yield invalid(at / "matchLabelKeys" / k, label, f"must be {A_KEY}")


def _labels(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, Mapping[str, str | None]]]:
    for i, task in enumerate(template.tasks):
        if task.template and task.template.metadata and task.template.metadata.labels:
            yield SPEC / "tasks" / i / "template" / "metadata" / "labels", task.template.metadata.labels
        pod = pod_of(task)
        if pod and pod.node_selector:
            yield pod_place(i) / "nodeSelector", pod.node_selector


def _keyed(at: FieldPath, pod: PodSpec) -> Iterator[tuple[FieldPath, str, tuple[str, ...]]]:
    """Items of the lists that Volcano's Job CRD takes as maps: the place of the key, what is shown of it, the key."""
    for k, secret in enumerate(pod.image_pull_secrets or ()):
        yield at / "imagePullSecrets" / k / "name", secret.name or "", ("secret", secret.name or "")
    for k, alias in enumerate(pod.host_aliases or ()):
        yield at / "hostAliases" / k / "ip", alias.ip or "", ("alias", alias.ip or "")
    for k, each in enumerate(pod.topology_spread_constraints or ()):
        key = each.topology_key or "", each.when_unsatisfiable or ""
        yield at / "topologySpreadConstraints" / k / "topologyKey", key[0], ("spread", *key)
