"""Strategic merge patches: merge patches in which some lists of the built-in kinds are merged by a key.

Which lists those are is written in the Go types of `k8s.io/api` (tags patchStrategy and patchMergeKey); `MERGE_KEYS`
is that table by field name. The directives are `$patch`, `$retainKeys`, `$setElementOrder/<list>` and
`$deleteFromPrimitiveList/<list>`. Custom resources have no such table and take no strategic patches.
"""

from collections.abc import Sequence
from typing import Any

from devcluster.resources import JSON

# List field -> key of its entries; '' for lists of plain values that are merged as sets.
MERGE_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "finalizers": "",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "matchConditions": "name",
    "ownerReferences": "uid",
    "podCIDRs": "",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "webhooks": "name",
}
IN_SERVICES = {**MERGE_KEYS, "ports": "port"}
REPLACED_MAPS = frozenset({"selector"})  # of Deployments and the like: never merged

PATCH = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE_VALUES = "$deleteFromPrimitiveList/"


class StrategicPatchError(ValueError):
    """A patch that contradicts itself or lacks a merge key. The API server calls most of that an error of its own."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


def merge_strategically(target: JSON, patch: JSON, kind: str) -> JSON:
    """Merge `patch` into `target`, both of which are used up, for an object of this kind."""
    return _Merge(IN_SERVICES if kind == "Service" else MERGE_KEYS).maps(target, patch)


class _Merge:
    def __init__(self, merge_keys: dict[str, str]) -> None:
        self.merge_keys = merge_keys

    def maps(self, target: JSON, patch: JSON) -> JSON:
        directive = patch.pop(PATCH, None)
        if directive == "replace":
            return patch
        if directive == "delete":
            return {}
        if directive is not None and directive != "merge":
            raise StrategicPatchError(f"unknown patch type: {directive}")
        retained = patch.pop(RETAIN, None)
        orders = {name.removeprefix(ORDER): patch.pop(name) for name in list(patch) if name.startswith(ORDER)}
        if retained is not None:
            self._retain(target, patch, retained)
        for name in [name for name in patch if name.startswith(DELETE_VALUES)]:
            field = name.removeprefix(DELETE_VALUES)
            gone = _a_list(patch.pop(name))
            if field in target:
                target[field] = [item for item in _a_list(target[field]) if item not in gone]
        for name, order in orders.items():
            self._ordered_list(target, patch, name, _a_list(order))
        for name, value in patch.items():
            self._field(target, name, value)
        return target

    def _retain(self, target: JSON, patch: JSON, retained: Any) -> None:
        names = _a_list(retained)
        if any(value is not None and not name.startswith("$") and name not in names for name, value in patch.items()):
            raise StrategicPatchError("invalid patch format of retainKeys", 400)
        for name in [name for name in target if name not in names]:
            del target[name]

    def _field(self, target: JSON, name: str, value: Any) -> None:
        old = target.get(name)
        if value is None:
            target.pop(name, None)
        elif type(value) is dict and type(old) is dict and name not in REPLACED_MAPS:
            target[name] = self.maps(old, value)
        elif type(value) is list and type(old) is list and name in self.merge_keys:
            target[name] = self.lists(old, value, self.merge_keys[name], order=None)
        else:
            target[name] = _without_directives(value)

    def _ordered_list(self, target: JSON, patch: JSON, name: str, order: list[Any]) -> None:
        if name not in self.merge_keys:
            raise StrategicPatchError("invalid patch format of setElementOrder list", 400)
        key = self.merge_keys[name]
        old, new = _a_list(target.get(name) or []), _a_list(patch.pop(name, None) or [])
        if old or new:
            target[name] = self.lists(old, new, key, order=[_identity(item, key) for item in order])

    def lists(self, old: list[Any], new: list[Any], key: str, order: Sequence[Any] | None) -> list[Any]:
        if not key:
            merged = list(dict.fromkeys([*old, *new]))
            return _sorted_in(merged, old, new if order is None else order, key)
        if any(_a_map(item).get(PATCH) == "replace" for item in new):
            return [item for item in new if PATCH not in item]
        merged = list(old)
        for item in new:
            directive = item.pop(PATCH, None)
            identity = _identity(item, key)
            position = next((i for i, one in enumerate(merged) if _identity(one, key) == identity), None)
            if directive == "delete":
                if position is not None:
                    del merged[position]
            elif directive not in {None, "merge"}:
                raise StrategicPatchError(f"unknown patch type: {directive}")
            elif position is None:
                merged.append(_without_directives(item))
            else:
                merged[position] = self.maps(merged[position], item)
        wanted = [_identity(item, key) for item in new] if order is None else order
        return _sorted_in(merged, old, wanted, key)


def _sorted_in(merged: list[Any], old: list[Any], wanted: Sequence[Any], key: str) -> list[Any]:
    """Return the list in the order that the patch asks for.

    What the patch does not name keeps its own order, and goes before the first entry of the patch that stood behind it.
    """
    places = {identity: i for i, identity in enumerate(wanted)}
    before = {_identity(item, key): i for i, item in enumerate(old)}
    named = sorted((item for item in merged if _identity(item, key) in places), key=lambda i: places[_identity(i, key)])
    others = [item for item in merged if _identity(item, key) not in places]
    result: list[Any] = []
    while named and others:
        left, right = before.get(_identity(others[0], key)), before.get(_identity(named[0], key))
        first = others if left is not None and right is not None and left < right else named
        result.append(first.pop(0))
    return result + named + others


def _identity(item: Any, key: str) -> Any:
    if not key:
        return item
    if key not in _a_map(item):
        raise StrategicPatchError(f"map: {item} does not contain declared merge key: {key}")
    return item[key]


def _a_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise StrategicPatchError("expected a list")
    return value


def _a_map(value: Any) -> JSON:
    if type(value) is not dict:
        raise StrategicPatchError("expected an object")
    return value


def _without_directives(value: Any) -> Any:
    if type(value) is dict:
        return {
            name: _without_directives(child)
            for name, child in value.items()
            if not name.startswith("$") and child is not None and not _is_directive(child)
        }
    if type(value) is list:
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(value: Any) -> bool:
    return type(value) is dict and PATCH in value
