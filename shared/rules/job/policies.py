"""What valid lifecycle policies are, of a Job and of its tasks.

What is taken is what Volcano's webhook takes. It does not look at the action of a policy for an exit code, nor at the
timeout that `PodPending` needs, and then does nothing when the time has come; here both are faults.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.api.job_spec import JobTemplateInFull, LifecyclePolicy
from shared.rules.fault import SPEC, Fault, FieldPath, duplicate, forbidden, invalid, not_supported, required
from shared.rules.formats import is_duration
from shared.rules.rule import Rule

ANY_EVENT: Final = "*"

EVENTS: Final = (
    ANY_EVENT,
    "PodPending",
    "PodFailed",
    "PodEvicted",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
)
"""Those that users may name; Volcano knows others, which are its own."""

ACTIONS: Final = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)

INT32: Final = range(-(2**31), 2**31)


@Rule
def policies_are_for_events_or_an_exit_code(template: JobTemplateInFull) -> Iterator[Fault]:
    """A policy is for events or for an exit code, and not for both."""
    for at, policies in _lists(template):
        for k, policy in enumerate(policies):
            has_events = bool(policy.event or policy.events)
            if has_events and policy.exit_code is not None:
                yield forbidden(at / k / "exitCode", "may not be given beside an event; use a policy for each")
            elif not has_events and policy.exit_code is None and policy.event is None:
                yield required(at / k / "event", "a policy must have an event, events or an exitCode")


@Rule
def policy_events_are_known(template: JobTemplateInFull) -> Iterator[Fault]:
    """The event of a policy is one that users may name."""
    for at, policies in _lists(template):
        for place, event in _events(at, policies):
            if event not in EVENTS:
                yield not_supported(place, event, EVENTS)


@Rule
def policy_events_are_unique(template: JobTemplateInFull) -> Iterator[Fault]:
    """An event has one policy in a list, and the event `*` stands alone there."""
    for at, policies in _lists(template):
        first: dict[str, int] = {}
        for k, policy in enumerate(policies):
            for place, event in _events_of(at / k, policy):
                if event in EVENTS and first.setdefault(event, k) != k:
                    yield duplicate(place, event)
        if ANY_EVENT in first and len(first) > 1:
            place = next(place for place, event in _events(at, policies) if event == ANY_EVENT)
            yield invalid(place, ANY_EVENT, "must be the only event, for it stands for all")


@Rule
def policy_actions_are_known(template: JobTemplateInFull) -> Iterator[Fault]:
    """A policy has an action, one that users may name."""
    for at, policies in _lists(template):
        for k, policy in enumerate(policies):
            if not policy.action:
                yield required(at / k / "action")
            elif policy.action not in ACTIONS:
                yield not_supported(at / k / "action", policy.action, ACTIONS)


@Rule
def policy_exit_codes_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """An exit code is not 0, which is success, and has one policy in a list."""
    for at, policies in _lists(template):
        seen = set[int]()
        for k, policy in enumerate(policies):
            code = policy.exit_code
            if code is None or policy.event or policy.events:
                continue
            if code == 0:
                yield invalid(at / k / "exitCode", code, "must not be 0")
            elif code not in INT32:
                yield invalid(at / k / "exitCode", code, "must be within 32 bits")
            elif code in seen:
                yield duplicate(at / k / "exitCode", code)
            seen.add(code)


@Rule
def policy_timeouts_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A timeout is a duration such as `10m`; a policy for the event `PodPending` has one."""
    for at, policies in _lists(template):
        for k, policy in enumerate(policies):
            if policy.timeout is None:
                if "PodPending" in (policy.event, *(policy.events or ())):
                    yield required(at / k / "timeout", "how long a Pod may be pending must be given, as in 10m")
            elif not is_duration(policy.timeout):
                yield invalid(at / k / "timeout", policy.timeout, "must be a duration such as 300s, 10m or 1h30m")


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    policies_are_for_events_or_an_exit_code,
    policy_events_are_known,
    policy_events_are_unique,
    policy_actions_are_known,
    policy_exit_codes_are_valid,
    policy_timeouts_are_valid,
)


def _lists(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, Sequence[LifecyclePolicy]]]:
    """Every list of policies, with its place: within each of them the rules hold."""
    for i, task in enumerate(template.tasks):
        if task.policies:
            yield SPEC / "tasks" / i / "policies", task.policies
    if template.spec and template.spec.policies:
        yield SPEC / "policies", template.spec.policies


def _events(at: FieldPath, policies: Sequence[LifecyclePolicy]) -> Iterator[tuple[FieldPath, str]]:
    for k, policy in enumerate(policies):
        yield from _events_of(at / k, policy)


def _events_of(at: FieldPath, policy: LifecyclePolicy) -> Iterator[tuple[FieldPath, str]]:
    if policy.event is not None:
        yield at / "event", policy.event
    for m, event in enumerate(policy.events or ()):
        yield at / "events" / m, event
