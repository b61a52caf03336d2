"""What a valid JobFlow is when it is created, and for a plan to be made of it.

One function is one rule; its docstring is the rule as a user hears it. Rules look at different mistakes: what one rule
has said, no other says again. `ON_CREATE` is the whole policy; `jobflow_update.py` has that of updates, and
`jobflow_warnings.py` what is worth knowing and not wrong.
"""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from shared.api.jobflow import JobFlow, JobFlowSpec, RetainPolicy
from shared.api.meta import ObjectMeta
from shared.flow import names
from shared.rules.dependencies import Dependencies
from shared.rules.fault import (
    SPEC,
    Fault,
    duplicate,
    invalid,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
)
from shared.rules.probes import probe_ports_are_valid, probe_texts_fit, probes_are_complete
from shared.rules.room import A_SUBDOMAIN, must_be_shorter, name_fault
from shared.rules.rule import DocumentOrder, Rule, judge
from shared.rules.submission import Submission

DEPENDENCIES_PER_FLOW: Final = 100
"""A JobFlow may have as many dependencies in all as this many times its most entries."""

MOST_BYTES: Final = 1_300_000
"""What a JobFlow and its status may come to: etcd takes 1.5 MB, and the status tells more than the least."""

STATUS_PER_FLOW: Final = 60
"""The least that the status says of an entry, in bytes beside its Job's name, which is in it twice."""

RETAIN_POLICIES: Final = tuple(policy.value for policy in RetainPolicy)


def faults_on_create(jobflow: JobFlow, *, max_flows: int, size: int) -> list[Fault]:
    """Every reason to refuse a new JobFlow, in the order of the document.

    `size` is the object's, in bytes of JSON. A JobFlow with far too many entries or dependencies is told just that:
    that takes no time, whatever it has.
    """
    given = Submission(jobflow, max_flows, size)
    return list(not_too_many(given)) or judge(ON_CREATE, given, ORDER)


def plan_faults(jobflow: JobFlow, started: Collection[str] = ()) -> list[Fault]:
    """Every reason why no plan can be made of a JobFlow that was stored although the webhook would have refused it.

    Those are fewer than on creation, in the same words. Names of entries in `started` are not judged: a Job that
    exists has a name that fits. Linear in entries and dependencies.
    """
    return judge(FOR_A_PLAN, Submission(jobflow, started=frozenset(started)), ORDER)


@Rule
def has_flows(given: Submission) -> Iterator[Fault]:
    """A JobFlow has at least one entry."""
    if not given.flows:
        yield required(SPEC / "flows", "must have at least one entry")


@Rule
def not_too_many(given: Submission) -> Iterator[Fault]:
    """A JobFlow has at most `--max-flows` entries (1,000), and at most 100 times as many dependencies in all."""
    most = given.max_flows * DEPENDENCIES_PER_FLOW
    if len(given.flows) > given.max_flows:
        yield too_many(SPEC / "flows", len(given.flows), given.max_flows)
    elif (count := sum(len(flow.targets) for flow in given.flows)) > most:
        yield too_many(SPEC / "flows", count, most, of="dependencies")


@Rule
def fits_etcd(given: Submission) -> Iterator[Fault]:
    """A JobFlow leaves room for its status: what is larger could be stored, but never finished."""
    jobflow = names.longest_name(given.jobflow.metadata)
    children = (names.child_name(jobflow, flow.name) for flow in given.flows)
    needed = sum(2 * min(len(child), names.LONGEST_CHILD) + STATUS_PER_FLOW for child in children)
    if given.size + needed > MOST_BYTES:
        parts = ", ".join(f"{part} {count}" for part, count in _largest_parts(given.jobflow, given.size))
        size = f"{given.size} bytes ({parts})" if parts else f"{given.size} bytes"
        yield too_long(SPEC, MOST_BYTES, f"the object has {size}, and its status will need at least {needed}")


@Rule
def names_are_valid(given: Submission) -> Iterator[Fault]:
    """An entry has the name of a JobTemplate: a DNS-1123 subdomain of at most 253 characters."""
    for i, flow in given.first_of_each_name():
        if flow.name in given.started or names.is_subdomain(flow.name):
            continue
        at = SPEC / "flows" / i / "name"
        if not flow.name:
            yield required(at, "must be the name of a JobTemplate")
        elif len(flow.name) > names.LONGEST_SUBDOMAIN:
            yield too_long(at, names.LONGEST_SUBDOMAIN)
        else:
            yield invalid(at, flow.name, f"must be the name of a JobTemplate: {A_SUBDOMAIN}")


@Rule
def names_are_unique(given: Submission) -> Iterator[Fault]:
    """A JobTemplate appears once in a JobFlow, because its name names the Job."""
    seen = {""}
    for i, flow in enumerate(given.flows):
        if flow.name in seen and flow.name:
            yield duplicate(SPEC / "flows" / i / "name", flow.name)
        seen.add(flow.name)


@Rule
def targets_exist(given: Submission) -> Iterator[Fault]:
    """An entry depends on entries of the same JobFlow only."""
    yield from _dependencies(given).unknown(among="spec.flows")


@Rule
def targets_are_unique(given: Submission) -> Iterator[Fault]:
    """An entry names each entry that it depends on once."""
    yield from _dependencies(given).repeated()


@Rule
def not_after_itself(given: Submission) -> Iterator[Fault]:
    """An entry does not depend on itself."""
    yield from _dependencies(given).on_oneself("the entry")


@Rule
def no_cycle(given: Submission) -> Iterator[Fault]:
    """Entries do not wait for each other in a loop: none of them could ever start."""
    yield from _dependencies(given).loops()


@Rule
def child_names_fit(given: Submission) -> Iterator[Fault]:
    """The Job of an entry, `<jobflow>-<entry>`, has a name of at most 59 characters, so that its Pods' fit into 63."""
    to_judge = [(i, flow.name) for i, flow in given.first_of_each_name() if flow.name not in given.started]
    if given.started and not to_judge:
        return
    metadata = given.jobflow.metadata
    own = name_fault(
        metadata, names.LONGEST_JOBFLOW, lambda name: _job_name(names.child_name(name, "x"), "even the shortest")
    )
    if own:
        yield own
        return
    jobflow = names.longest_name(metadata)
    for i, name in to_judge:
        child = names.child_name(jobflow, name)
        excess = len(child) - names.LONGEST_CHILD
        if excess > 0 and names.is_subdomain(name):
            yield must_be_shorter(SPEC / "flows" / i / "name", name, excess, _job_name(child, "its"))


@Rule
def retain_policy_is_known(given: Submission) -> Iterator[Fault]:
    """`jobRetainPolicy` is `retain` or `delete`."""
    policy = given.jobflow.spec.job_retain_policy
    if policy is not None and policy not in RETAIN_POLICIES:
        yield not_supported(SPEC / "jobRetainPolicy", policy, RETAIN_POLICIES)


ON_CREATE: Final[tuple[Rule[Submission], ...]] = (
    has_flows,
    not_too_many,
    fits_etcd,
    names_are_valid,
    names_are_unique,
    targets_exist,
    targets_are_unique,
    not_after_itself,
    no_cycle,
    child_names_fit,
    retain_policy_is_known,
    probes_are_complete,
    probe_ports_are_valid,
    probe_texts_fit,
)

FOR_A_PLAN: Final[tuple[Rule[Submission], ...]] = (
    has_flows,
    names_are_valid,
    names_are_unique,
    targets_exist,
    not_after_itself,
    no_cycle,
    child_names_fit,
)

ORDER: Final = DocumentOrder(metadata=ObjectMeta, spec=JobFlowSpec)


def _dependencies(given: Submission) -> Dependencies:
    return Dependencies(
        [(flow.name, flow.targets) for flow in given.flows],
        lambda i: SPEC / "flows" / i / "dependsOn" / "targets",
    )


def _job_name(child: str, whose: str) -> str:
    named = f'{whose} Job would be named "{shown(child)}", with {len(child)} characters'
    return f"{named}; at most {names.LONGEST_CHILD} leave room for the names of Pods"


def _largest_parts(jobflow: JobFlow, size: int) -> list[tuple[str, int]]:
    """What takes up an object's bytes, the largest first, without what is less than a twentieth of it."""
    parts = {
        "names and targets": sum(len(text) + 3 for flow in jobflow.flows for text in (flow.name, *flow.targets)),
        "patches": sum(len(msgspec.json.encode(flow.patch)) for flow in jobflow.flows if flow.patch),
        "annotations": len(msgspec.json.encode(jobflow.metadata.annotations)),
    }
    return sorted(((part, n) for part, n in parts.items() if n * 20 >= size), key=lambda part: -part[1])
