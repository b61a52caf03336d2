"""Label and field selectors, as query parameters and as parts of a webhook configuration."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from devcluster import events
from devcluster.errors import bad_request
from devcluster.resources import JSON, Resource
from devcluster.store import Stored

Labels = Mapping[str, str]

_SETS = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_EQUAL = re.compile(r"\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s!=,()]+)\s*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a label selector."""

    key: str
    operator: str  # In, NotIn, Exists, DoesNotExist
    values: frozenset[str] = frozenset()

    def fits(self, labels: Labels) -> bool:
        """Say whether these labels meet it."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return labels.get(self.key) not in self.values
        return (self.key in labels) == (self.operator == "Exists")


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read `a=b,c!=d,e in (f,g),!h`. Raises StatusError 400."""
    found = []
    for part in re.split(r",(?![^()]*\))", text) if text.strip() else ():
        if match := _SETS.fullmatch(part):
            values = frozenset(value.strip() for value in match[3].split(","))
            found.append(Requirement(match[1], "In" if match[2] == "in" else "NotIn", values))
        elif match := _EQUAL.fullmatch(part):
            found.append(Requirement(match[1], "NotIn" if match[2] == "!=" else "In", frozenset({match[3]})))
        elif match := _EXISTS.fullmatch(part):
            found.append(Requirement(match[2], "DoesNotExist" if match[1] else "Exists"))
        else:
            raise bad_request(f"unable to parse requirement: {part!r}")
    return tuple(found)


def from_selector(selector: JSON | None) -> tuple[Requirement, ...]:
    """Read a LabelSelector object: matchLabels and matchExpressions. An empty one fits all."""
    selector = selector or {}
    equal = [Requirement(key, "In", frozenset({value})) for key, value in (selector.get("matchLabels") or {}).items()]
    sets = [
        Requirement(wanted["key"], wanted["operator"], frozenset(wanted.get("values") or ()))
        for wanted in selector.get("matchExpressions") or ()
    ]
    return (*equal, *sets)


def fits(requirements: tuple[Requirement, ...], labels: Labels) -> bool:
    """Say whether labels meet all requirements."""
    return all(requirement.fits(labels) for requirement in requirements)


# Besides metadata.name and metadata.namespace: label in the selector -> path in the stored object.
FIELDS: dict[tuple[str, str], dict[str, str]] = {
    ("", "Event"): events.CORE_FIELDS,
    ("events.k8s.io", "Event"): events.NEW_FIELDS,
    ("", "Namespace"): {"status.phase": "status.phase"},
    ("", "Secret"): {"type": "type"},
    ("", "Pod"): {
        name: name
        for name in ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase", "status.podIP")
    },
}


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One requirement of a field selector."""

    path: str
    value: str
    equal: bool


def parse_fields(text: str, resource: Resource) -> tuple[FieldRequirement, ...]:
    """Read `metadata.name=x,involvedObject.kind!=y`. Raises StatusError 400."""
    known = {"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace"}
    known |= FIELDS.get((resource.group, resource.kind), {})
    found = []
    for part in text.split(",") if text.strip() else ():
        match = _EQUAL.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: {part!r}; can't understand {part!r}")
        if match[1] not in known:
            raise bad_request(f"field label not supported: {match[1]}")
        found.append(FieldRequirement(known[match[1]], match[3], match[2] != "!="))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Selector:
    """What a list or watch wants to see."""

    namespace: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Say whether every object fits."""
        return not (self.namespace or self.labels or self.fields)

    @property
    def name(self) -> str:
        """Return the one name that can fit, if there is such."""
        return next((f.value for f in self.fields if f.path == "metadata.name" and f.equal), "")

    def fits(self, stored: Stored) -> bool:
        """Say whether an object is wanted."""
        if self.namespace and stored.namespace != self.namespace:
            return False
        if self.labels and not fits(self.labels, stored.labels):
            return False
        return not self.fields or all(_field_fits(wanted, stored) for wanted in self.fields)


def _field_fits(wanted: FieldRequirement, stored: Stored) -> bool:
    shortcuts: dict[str, Callable[[], str]] = {
        "metadata.name": lambda: stored.name,
        "metadata.namespace": lambda: stored.namespace,
    }
    if shortcut := shortcuts.get(wanted.path):
        return (shortcut() == wanted.value) == wanted.equal
    value: object = stored.decode()
    for name in wanted.path.split("."):
        value = value.get(name, "") if isinstance(value, dict) else ""
    return (("" if value is None else str(value)) == wanted.value) == wanted.equal
