"""All graphs that a JobFlow of a few entries can have, each once: no two of them differ in the names alone."""

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations, product
from typing import TypeAlias

Graph: TypeAlias = tuple[tuple[int, ...], ...]
"""For each entry the numbers of those that it depends on, all of them smaller than its own."""


def graphs_of(size: int) -> list[Graph]:
    """Every acyclic graph of `size` entries, up to isomorphism: 1, 2, 6 and 31 of them for 1 to 4 entries."""
    edges = list(combinations(range(size), 2))
    found: dict[frozenset[tuple[int, int]], Graph] = {}
    for taken in product((False, True), repeat=len(edges)):
        chosen = [edge for edge, is_taken in zip(edges, taken, strict=True) if is_taken]
        form = min((_renamed(chosen, order) for order in permutations(range(size))), key=sorted)
        found.setdefault(form, tuple(tuple(first for first, then in chosen if then == entry) for entry in range(size)))
    return list(found.values())


def symmetries(graph: Graph) -> list[tuple[int, ...]]:
    """The renamings of entries that leave the graph as it is, the one that renames nothing among them."""
    edges = frozenset(_edges(graph))
    return [order for order in permutations(range(len(graph))) if _renamed(edges, order) == edges]


def successors(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """For each entry all that runs after it, directly or not."""
    after: list[set[int]] = [set() for _ in graph]
    for entry in reversed(range(len(graph))):
        for target in graph[entry]:
            after[target] |= {entry} | after[entry]
    return tuple(tuple(sorted(it)) for it in after)


def _edges(graph: Graph) -> Iterator[tuple[int, int]]:
    return ((target, entry) for entry, targets in enumerate(graph) for target in targets)


def _renamed(edges: Iterable[tuple[int, int]], order: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    return frozenset((order[first], order[then]) for first, then in edges)
