"""Sets of fields as tries of path elements, which is the form in which managedFields store them (FieldsV1).

An element is `f:name` for a field, `k:{"name":"a"}` for an entry of a list by its keys, `v:"x"` for a plain value in a
list that is a set, and `i:0` for an entry by its place (in messages only). A node is in the set itself if it is empty
or holds the element `.`; the root never is.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

FieldSet = dict[str, Any]  # element -> FieldSet
Path = tuple[str, ...]

SELF = "."


def add(fields: FieldSet, path: Path) -> None:
    """Put a field into the set."""
    node = fields
    for i, element in enumerate(path):
        last = i == len(path) - 1
        child = node.get(element)
        if child is None:
            child = node[element] = {}
        elif last and child:
            child[SELF] = {}
        elif not last and not child:
            child[SELF] = {}  # it was in the set by being empty
        node = child


def discard(fields: FieldSet, path: Path) -> None:
    """Take a field out of the set, if it is there."""
    nodes = [fields]
    for element in path:
        child = nodes[-1].get(element)
        if child is None:
            return
        nodes.append(child)
    if nodes[-1] and nodes[-1].pop(SELF, None) is None:
        return
    # Nodes that are empty now were ways to the field and nothing else; with `.` alone, they are fields without others.
    for node, element in zip(reversed(nodes[:-1]), reversed(path), strict=True):
        if node[element]:
            return
        del node[element]
        if node.keys() == {SELF} and node is not fields:
            node.clear()
            return


def has(fields: FieldSet, path: Path) -> bool:
    """Say whether a field is in the set."""
    node: FieldSet | None = fields
    for element in path:
        node = node.get(element) if node is not None else None
    return node is not None and bool(path) and is_member(node)


def is_member(node: FieldSet) -> bool:
    """Say whether the field that a node stands for is itself in the set."""
    return not node or SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return what is in either set."""
    result: FieldSet = {}
    for element in left.keys() | right.keys():
        if element == SELF:
            result[SELF] = {}
        elif element in left and element in right:
            a, b = left[element], right[element]
            result[element] = union(a, b)
            if (is_member(a) or is_member(b)) and result[element]:
                result[element][SELF] = {}
        else:
            result[element] = copied(left[element] if element in left else right[element])
    return result


def copied(fields: FieldSet) -> FieldSet:
    """Return a set of its own with the same fields."""
    return {element: copied(child) for element, child in fields.items()}


def paths(fields: FieldSet, before: Path = ()) -> Iterator[Path]:
    """Yield every field of the set."""
    for element, child in fields.items():
        if element == SELF:
            continue
        path = (*before, element)
        if is_member(child):
            yield path
        yield from paths(child, path)


def common(fields: FieldSet, others: Iterable[Path]) -> list[Path]:
    """Return those of the fields that are in the set."""
    return [path for path in others if has(fields, path)]


def in_order(fields: FieldSet) -> FieldSet:
    """Return the same set with its elements sorted, as the API server writes it."""
    return {element: in_order(fields[element]) for element in sorted(fields)}


def field(name: str) -> str:
    """Return the element for a field of an object."""
    return f"f:{name}"


def entry(keys: dict[str, Any]) -> str:
    """Return the element for an entry of a list by the values of its keys."""
    return "k:" + json.dumps(keys, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def member(value: Any) -> str:
    """Return the element for a plain value of a list."""
    return "v:" + json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def spelled(path: Path) -> str:
    """Return a field as conflicts name it: `.spec.containers[name="a"].image`."""
    return "".join(map(_spelled_element, path))


def _spelled_element(element: str) -> str:
    kind, rest = element[:2], element[2:]
    if kind == "k:":
        keys = json.loads(rest)
        return "[" + ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()) + "]"
    if kind == "i:":
        return f"[{rest}]"
    return f"[={rest}]" if kind == "v:" else f".{rest}"
