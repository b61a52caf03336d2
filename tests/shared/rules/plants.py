"""Changes of one place in a pod template that has everything: what may be wrong with it, and what may not."""

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.everything import a_full_template

Place = tuple[str | int, ...]


class Gone:
    """In place of a value: the field or item is not there."""

    def __repr__(self) -> str:
        return "gone"


class Twice:
    """In place of a list: its first item comes again."""

    def __repr__(self) -> str:
        return "twice"


@dataclass(frozen=True)
class Plant:
    """One change."""

    place: Place
    value: Any

    def put_into(self, tree: Any) -> None:
        """Make the change in an object."""
        here = tree
        for key in self.place[:-1]:
            here = here[key]
        last = self.place[-1]
        if isinstance(self.value, Gone):
            here.pop(last)
        elif isinstance(self.value, Twice):
            here[last] = here[last] + copy.deepcopy(here[last][:1])
        else:
            here[last] = copy.deepcopy(self.value)

    def covers(self, path: str) -> bool:
        """Whether a fault at that path is at this place or below it."""
        own = written(self.place)
        return path == own or path.startswith((f"{own}.", f"{own}["))


VALUES: list[Any] = [
    "", "x", "A_b", "-x", "a.b", "a/b", "/x", "../x", "a/../b", "1", "x" * 64, "x" * 254, "a b", "\u00fc", "10.0.0.1",
    "Exists", "none", 0, -1, 1, 2, 511, 512, 65535, 65536, 2**31 - 1, -(2**31), True, False, [], {}, None, Gone(),
    Twice(),
]  # fmt: skip
KEYS = ["", "a b", "-x", "/x", "A/b", "a/b", "x" * 64, "\u00e9"]
MAPS = {"labels", "annotations", "matchLabels", "nodeSelector", "volumeAttributes"}


LEFT: dict[str, str] = {
    "a null in a map is dropped from a Job, and is 0 in a template": r"containers\[\]\.resources\.limits\.\w+",
    "what a Pod may not do besides that shares more of its node, or less": r"spec\.(hostIPC|hostUsers)$",
    "where the disks of a cloud lie is its own matter": r"azureDisk\.diskURI",
    "what a runtime takes for itself is its own matter": r"spec\.overhead$",
    "what is for Windows is left to Windows": r"windowsOptions$",
    "block devices are claims": r"volumes\[\]\.persistentVolumeClaim$",
    "how long the address of an iSCSI target may be with the name of its volume": r"iscsi\.targetPortal",
    "two sources of one claim are the same": r"volumeClaimTemplate\.spec\.dataSource",
}
"""What is taken of a template and refused by the API server: why, and where."""


def plants() -> Iterator[Plant]:
    """Each place of the template with every value of its own type, without a value, and with keys of all kinds."""
    for place, old in _places(a_full_template()):
        for value in VALUES:
            if _is_alike(value, old) and not _same(value, old):
                yield Plant(place, value)
        if place[-1] in MAPS and isinstance(old, dict):
            yield from (Plant(place, {**old, key: "x"}) for key in KEYS)


def additions(schema: dict[str, Any]) -> Iterator[Plant]:
    """Each field that the template does not have and `schema` has, with the first value that comes to mind."""
    yield from _absent(a_full_template(), schema, ())


def apart(plants: Iterable[Plant], most: int = 40) -> Iterator[list[Plant]]:
    """Plants in groups of which none is at, above or below the place of another."""
    groups: list[list[Plant]] = []
    for plant in plants:
        for group in groups:
            if len(group) < most and not any(_touch(plant.place, other.place) for other in group):
                group.append(plant)
                break
        else:
            groups.append([plant])
        while groups and len(groups[0]) == most:
            yield groups.pop(0)
    yield from groups


def written(place: Place) -> str:
    """A place as paths of fields are written."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)[1:]


def any_index(place: Place) -> str:
    """A place without its indexes: what it is called in a list of explanations."""
    return re.sub(r"\[\d+\]", "[]", written(place))


def instance(schema: dict[str, Any]) -> Any:
    """A value that fits a structural schema."""
    if schema.get("x-kubernetes-int-or-string"):
        return "1"
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            if "properties" in schema:
                return {key: instance(each) for key, each in schema["properties"].items()}
            return {"k": instance(schema["additionalProperties"])}
        case "array":
            return [instance(schema["items"])]
        case other:
            return {"string": "a", "integer": 1, "boolean": True, "number": 1}[other]


def every_place(value: Any) -> Iterator[Place]:
    """All places in an object but its root."""
    yield from (place for place, _ in _places(value))


def _places(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if place:
        yield place, value
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield from _places(each, (*place, key))


def _absent(value: Any, schema: dict[str, Any], place: Place) -> Iterator[Plant]:
    if isinstance(value, dict):
        for key, each in schema.get("properties", {}).items():
            if key in value:
                yield from _absent(value[key], each, (*place, key))
            else:
                yield Plant((*place, key), instance(each))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _absent(item, schema["items"], (*place, i))


def _is_alike(value: Any, old: Any) -> bool:
    if isinstance(value, Twice):
        return isinstance(old, list) and bool(old)
    return value is None or isinstance(value, Gone) or type(value) is type(old)


def _same(value: Any, old: Any) -> bool:
    return type(value) is type(old) and bool(value == old)


def _touch(one: Place, other: Place) -> bool:
    """Items of one list are neighbours: where one is gone, the others have other places."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return True
    return any(isinstance(key, int) for key in (one[-1], other[-1])) and one[: shorter - 1] == other[: shorter - 1]
