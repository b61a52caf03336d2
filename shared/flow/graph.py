"""The graph of a flow, or of the tasks of a Job: which waits for which, whether there are cycles, and which.

A graph is a mapping from each name to the names that it depends on, its keys in the order of the document. All that is
asked of every JobFlow is linear in entries and dependencies, and nothing here recurses, so that no flow that fits into
a request is too much. What takes longer, `shortest_cycles`, is asked once a flow is known to be wrong.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

Graph = Mapping[str, Collection[str]]


def graph_of(dependencies: Iterable[tuple[str, Sequence[str]]]) -> dict[str, Sequence[str]]:
    """Targets by name. Where a name comes twice, the first alone counts."""
    graph: dict[str, Sequence[str]] = {}
    for name, targets in dependencies:
        graph.setdefault(name, targets)
    return graph


def is_acyclic(graph: Graph) -> bool:
    """Whether every name can have its turn after all that it depends on.

    A name that depends on itself, and one that is not in the graph, are other mistakes and form no cycle.
    """
    return not tangled(graph)


def tangled(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The part of the graph that never gets its turn: what lies on a cycle, and all that waits for that.

    Its dependencies are those inside of that part, in the graph's order, without those on oneself.
    """
    dependants: dict[str, list[str]] = {name: [] for name in graph}
    waits_for: dict[str, int] = {}
    for name, targets in graph.items():
        count = 0
        for target in targets:
            if target in dependants and target != name:
                dependants[target].append(name)
                count += 1
        waits_for[name] = count
    ready = [name for name, count in waits_for.items() if not count]
    for name in ready:  # which grows meanwhile
        for dependant in dependants[name]:
            waits_for[dependant] -= 1
            if not waits_for[dependant]:
                ready.append(dependant)
    if len(ready) == len(waits_for):
        return {}
    stuck = {name: () for name, count in waits_for.items() if count}
    return {name: tuple(t for t in graph[name] if t in stuck and t != name) for name in stuck}


def shortest_cycles(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Yield one cycle for each strongly connected group, by the first names of the groups.

    It is a shortest one through the group's first name, starts there, and each name depends on the next one, the last
    on the first. Among equally short ones it is the one whose dependencies come first, compared from its start.
    """
    knot = tangled(graph)
    if not knot:
        return
    import networkx  # noqa: PLC0415  # its import takes longer than all the rest, and few flows are wrong

    depends: networkx.DiGraph[str] = networkx.DiGraph()
    depends.add_edges_from((name, target) for name, targets in knot.items() for target in targets)
    place = {name: at for at, name in enumerate(knot)}
    groups = (group for group in networkx.strongly_connected_components(depends) if len(group) > 1)
    by_first = {min(group, key=place.__getitem__): group for group in groups}
    for first in sorted(by_first, key=place.__getitem__):
        yield tuple(_shortest_way_round(first, by_first[first], knot))


def _shortest_way_round(start: str, group: Collection[str], graph: Mapping[str, Sequence[str]]) -> list[str]:
    """Search from `start` in breadth, targets in their order: the first way back found is the one that is wanted."""
    came_from: dict[str, str | None] = {start: None}
    queue = deque([start])
    while queue:
        name = queue.popleft()
        for target in graph[name]:
            if target == start:
                return _trail(name, came_from)
            if target in group and target not in came_from:
                came_from[target] = name
                queue.append(target)
    raise ValueError(f"{start!r} lies on no cycle")


def _trail(end: str, came_from: Mapping[str, str | None]) -> list[str]:
    trail: list[str] = []
    name: str | None = end
    while name is not None:
        trail.append(name)
        name = came_from[name]
    return trail[::-1]
