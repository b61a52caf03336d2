"""Events have two faces: core/v1, as they are stored, and events.k8s.io/v1, with other names for the same fields."""

from devcluster.resources import JSON

# core/v1 -> events.k8s.io/v1; what is not named is the same in both
NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
BACK = {new: old for old, new in NAMES.items()}

# What may be selected in either face, by the path in the stored one.
CORE_FIELDS = {
    **{f"involvedObject.{name}": f"involvedObject.{name}" for name in (
        "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
    )},
    "reason": "reason",
    "reportingComponent": "reportingComponent",
    "source": "source.component",
    "type": "type",
}  # fmt: skip
NEW_FIELDS = {
    **{f"regarding.{name.partition('.')[2]}": name for name in CORE_FIELDS if name.startswith("involvedObject.")},
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}


def to_core(event: JSON) -> JSON:
    """Return the core/v1 form of an events.k8s.io/v1 Event."""
    core = {BACK.get(name, name): value for name, value in event.items()} | {"apiVersion": "v1"}
    core.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp"):
        core.setdefault(name, None)
    return core


def from_core(event: JSON) -> JSON:
    """Return the events.k8s.io/v1 form of a core/v1 Event."""
    return {NAMES.get(name, name): value for name, value in event.items()} | {"apiVersion": "events.k8s.io/v1"}
