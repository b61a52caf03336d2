"""What is decided about one request. A `Verdict` is a value; `review.py` says it in the words of AdmissionReview."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.rules.fault import Fault


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allowed or not; if not, with the code and reason of a Kubernetes `Status` and what the user reads."""

    allowed: bool
    code: int = 200
    reason: str = ""
    message: str = ""
    faults: Sequence[Fault] = ()
    rules: frozenset[str] = frozenset()
    """Ids of the rules that refuse, for the metrics."""
    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = field(default_factory=dict)
    """Annotations for the API server's audit log, which puts the webhook's name before each key."""


ALLOWED = Verdict(allowed=True)


def allowed(warnings: Sequence[str] = (), audit: Mapping[str, str] | None = None) -> Verdict:
    """Nothing is wrong."""
    if not warnings and not audit:
        return ALLOWED
    return Verdict(allowed=True, warnings=warnings, audit=audit or {})


def invalid(faults: Sequence[Fault]) -> Verdict:
    """The object is wrong. kubectl prints `The JobFlow "ml" is invalid:` and each fault on a line of its own."""
    rules = frozenset(fault.rule for fault in faults)
    return Verdict(allowed=False, code=422, reason="Invalid", faults=faults, rules=rules)


def forbidden(rule: str, message: str) -> Verdict:
    """The object is right, but this may not be done to it now."""
    return Verdict(allowed=False, code=403, reason="Forbidden", message=message, rules=frozenset({rule}))


def malformed(message: str) -> Verdict:
    """The request itself makes no sense."""
    return Verdict(allowed=False, code=400, reason="BadRequest", message=message, rules=frozenset({"malformed"}))


def unavailable(rule: str, message: str) -> Verdict:
    """It cannot be known right now whether this may be done; try again."""
    return Verdict(allowed=False, code=503, reason="ServiceUnavailable", message=message, rules=frozenset({rule}))


def broken() -> Verdict:
    """A fault of ours: what could not be judged is not allowed, and the log says why."""
    message = "the webhook failed to judge this; its log says why"
    return Verdict(allowed=False, code=500, reason="InternalError", message=message, rules=frozenset({"broken"}))
