"""Say an answer as JSON, for programs. Fields are added, never renamed or taken away, without a new `version`."""

import json
from datetime import datetime
from typing import Any, Final

from controller.why.answer import Answer
from controller.why.causes import Cause
from controller.why.entries import Entry, Reason
from controller.why.estimate import Estimate, Step
from controller.why.signs import Sign
from shared.api.times import format_time

VERSION: Final = 1


def document(told: Answer, entry: str | None = None) -> str:
    """The whole answer; with `entry`, of the entries that one alone, and of the causes those that hold it up."""
    names = list(told.entries) if entry is None else [entry]
    causes = told.causes if entry is None else told.causes_of(entry)
    content = {
        "version": VERSION,
        "namespace": told.jobflow.namespace,
        "name": told.jobflow.name,
        "uid": told.jobflow.uid,
        "time": format_time(told.now),
        "phase": told.phase,
        "progress": {"completed": told.completed, "total": len(told.entries)},
        "signs": [_sign(sign) for sign in told.signs],
        "causes": [_cause(cause) for cause in causes],
        "entries": [_entry(told, told.entries[name]) for name in names],
        "estimate": _estimate(told.estimate) if told.estimate else None,
        "unread": list(told.unread),
    }
    return json.dumps(content, indent=2) + "\n"


def _sign(sign: Sign) -> dict[str, Any]:
    return {"kind": sign.kind, "text": sign.text, "since": _time(sign.since)}


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": str(cause.kind),
        "entries": list(cause.entries),
        "text": cause.text,
        "since": _time(cause.since),
        "holdsUp": cause.holds_up,
        "chain": list(cause.chain),
        "needsSomebody": cause.needs_somebody,
    }


def _entry(told: Answer, entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "job": entry.job,
        "state": str(entry.state),
        "since": _time(entry.since),
        "message": entry.says,
        "pods": dict(entry.pods or {}),
        "waitsFor": [_reason(reason) for reason in entry.reasons],
        "readySince": _time(entry.ready_since),
        "holdsUp": told.waiters.all.get(entry.name, 0).bit_count(),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    target = {"target": reason.target} if reason.target else {}
    return {"kind": str(reason.kind), "text": reason.text, **target, "since": _time(reason.since)}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "end": format_time(estimate.end),
        "seconds": round(estimate.seconds, 3),
        "atLeast": estimate.at_least,
        "path": [_step(step) for step in estimate.path],
        "unknown": list(estimate.unknown),
        "provided": list(estimate.provided),
        "basis": {basis.name.lower(): number for basis, number in estimate.basis.items()},
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "entry": step.entry,
        "state": str(step.state),
        "expectedSeconds": round(step.expected.seconds, 3),
        "basis": step.expected.basis.name.lower(),
        "runs": step.expected.samples,
        "elapsedSeconds": round(step.elapsed, 3),
        "remainingSeconds": round(step.remaining, 3),
    }


def _time(moment: datetime | None) -> str | None:
    return format_time(moment) if moment else None
