"""What valid Pods of a Job are, apart from their containers: volumes, names, lists by key, labels."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from shared.api.job_spec import JobTemplateInFull, PodSpec
from shared.flow import names
from shared.rules.fault import SPEC, Fault, FieldPath, duplicate, invalid, not_supported, required, too_long
from shared.rules.formats import is_ip, is_label_value, is_qualified_name
from shared.rules.job.containers import pod_of, pod_place
from shared.rules.room import A_LABEL, A_SUBDOMAIN
from shared.rules.rule import Rule

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
MOST: Final = 2**31 - 1


@Rule
def pod_volumes_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A volume of a Pod has a name, a DNS-1123 label, which no other volume has."""
    for at, pod in _pods(template):
        seen = set[str]()
        for k, volume in enumerate(pod.volumes or ()):
            name, where = volume.name or "", at / "volumes" / k / "name"
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
    """The restart policy and the DNS policy of a Pod are known words."""
    for at, pod in _pods(template):
        if pod.restart_policy and pod.restart_policy not in RESTART_POLICIES:
            yield not_supported(at / "restartPolicy", pod.restart_policy, RESTART_POLICIES)
        if pod.dns_policy and pod.dns_policy not in DNS_POLICIES:
            yield not_supported(at / "dnsPolicy", pod.dns_policy, DNS_POLICIES)


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
            where = at / "topologySpreadConstraints" / k
            if constraint.max_skew is None:
                yield required(where / "maxSkew")
            elif not 1 <= constraint.max_skew <= MOST:
                yield invalid(where / "maxSkew", constraint.max_skew, f"must be between 1 and {MOST}, inclusive")
            if not constraint.topology_key:
                yield required(where / "topologyKey")
            if not constraint.when_unsatisfiable:
                yield required(where / "whenUnsatisfiable")
            elif constraint.when_unsatisfiable not in UNSATISFIABLE:
                yield not_supported(where / "whenUnsatisfiable", constraint.when_unsatisfiable, UNSATISFIABLE)


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
                yield invalid(at, key, A_KEY)
            if not is_label_value(value or ""):
                why = 'must be at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends'
                yield invalid(at.key(key), value, why)


A_KEY: Final = (
    'must be at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends, '
    'and may have a domain and "/" before it'
)

RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    pod_volumes_are_valid,
    pod_words_are_known,
    pod_names_are_valid,
    pod_lists_have_unique_keys,
    spread_constraints_are_valid,
    host_aliases_are_valid,
    pod_times_are_valid,
    labels_are_valid,
)


def _pods(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, PodSpec]]:
    for i, task in enumerate(template.tasks):
        if pod := pod_of(task):
            yield pod_place(i), pod


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
