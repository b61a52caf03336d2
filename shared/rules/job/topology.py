"""Where the Pods of a Job may be placed: partitions, network topologies and whole CPUs."""

from collections.abc import Iterator
from typing import Final

from shared.api.job_spec import JobTemplateInFull, NetworkTopology, Task
from shared.flow import names
from shared.rules.fault import SPEC, Fault, FieldPath, forbidden, invalid, not_supported, required, too_long
from shared.rules.formats import quantity
from shared.rules.job.containers import containers_of
from shared.rules.job.tasks import MOST, fits
from shared.rules.room import A_SUBDOMAIN
from shared.rules.rule import Rule

POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
MODES: Final = ("hard", "soft")


@Rule
def partitions_add_up(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task with partitions has as many replicas as they have in sum; what it needs at least is whole partitions."""
    for i, task in enumerate(template.tasks):
        policy = task.partition_policy
        if policy is None:
            continue
        total, size, least = policy.total_partitions, policy.partition_size, policy.min_partitions or 0
        if total is None:
            yield required(_partition(i) / "totalPartitions")
        if size is None:
            yield required(_partition(i) / "partitionSize")
        if not total or not size or not all(map(fits, (total, size, least, task.replicas, task.min_available))):
            continue
        if total * size > MOST:
            yield invalid(_partition(i), total * size, f"totalPartitions * partitionSize must not be more than {MOST}")
        elif total * size != (task.replicas or 0):
            why = f"must be totalPartitions * partitionSize ({total * size})"
            yield invalid(SPEC / "tasks" / i / "replicas", task.replicas or 0, why)
        elif task.min_available is None and least > total:
            yield invalid(_partition(i) / "minPartitions", least, f"must not be more than totalPartitions ({total})")
        elif least and task.min_available is not None and least * size != task.min_available <= total * size:
            why = f"must be minPartitions * partitionSize ({least * size})"
            yield invalid(SPEC / "tasks" / i / "minAvailable", task.min_available, why)


@Rule
def network_topologies_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A network topology is hard or soft, and names its highest tier by number or by name."""
    for at, topology in _topologies(template):
        if topology.mode is not None and topology.mode not in MODES:
            yield not_supported(at / "mode", topology.mode, MODES)
        tier = topology.highest_tier_allowed
        if tier is not None and not 0 <= tier < 2**63:
            yield invalid(at / "highestTierAllowed", tier, "must not be negative, and must be within 64 bits")
        name = topology.highest_tier_name
        if tier is not None and name:
            yield forbidden(at / "highestTierName", "may not be given beside highestTierAllowed")
        elif name is not None and len(name) > names.LONGEST_SUBDOMAIN:
            yield too_long(at / "highestTierName", names.LONGEST_SUBDOMAIN)
        elif name is not None and not names.is_subdomain(name):
            yield invalid(at / "highestTierName", name, f"must be {A_SUBDOMAIN}")


@Rule
def topology_policies_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A task's topology policy is known; but for `none`, its containers ask for whole CPUs."""
    for i, task in enumerate(template.tasks):
        policy = task.topology_policy
        if policy is None or policy == "none":
            continue
        if policy not in POLICIES:
            yield not_supported(SPEC / "tasks" / i / "topologyPolicy", policy, POLICIES)
        else:
            yield from _parts_of_cpus(SPEC / "tasks" / i / "template" / "spec", task, policy)


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    partitions_add_up,
    network_topologies_are_valid,
    topology_policies_are_valid,
)


def _partition(place: int) -> FieldPath:
    return SPEC / "tasks" / place / "partitionPolicy"


def _topologies(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, NetworkTopology]]:
    for i, task in enumerate(template.tasks):
        if task.partition_policy and task.partition_policy.network_topology:
            yield _partition(i) / "networkTopology", task.partition_policy.network_topology
    if template.spec and template.spec.network_topology:
        yield SPEC / "networkTopology", template.spec.network_topology


def _parts_of_cpus(at: FieldPath, task: Task, policy: str) -> Iterator[Fault]:
    """Limits count where there are no requests at all, as in Volcano."""
    why = f'must be a whole number of CPUs for the topology policy "{policy}"'
    for where, container in containers_of(task, at):
        resources = container.resources
        key = "limits" if resources and not resources.requests and resources.limits else "requests"
        given = ((resources.limits if key == "limits" else resources.requests) or {}) if resources else {}
        place = (where / "resources" / key).key("cpu")
        written = given.get("cpu")
        amount = None if written is None else quantity(written)
        if written is None:
            yield required(place, why)
        elif amount is not None and amount >= 0 and (amount == 0 or amount % 1):
            yield invalid(place, written, why)
