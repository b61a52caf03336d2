"""The graph of a flow: cycles are found whatever its size, and named the same way every time."""

import sys
import time

import networkx
import pytest
from hypothesis import given

from shared.flow.graph import graph_of, is_acyclic, shortest_cycles, tangled
from tests.support.generated import graphs


def edges(graph):
    """As networkx is told: without what is another mistake than a cycle."""
    return networkx.DiGraph({name: [target for target in targets if target != name] for name, targets in graph.items()})


def depending(text):
    """`a: b c; b` as a graph."""
    parts = (part.partition(":") for part in text.split(";"))
    return {name.strip(): tuple(targets.split()) for name, _, targets in parts}


@given(graphs())
def test_a_graph_is_acyclic_exactly_if_networkx_says_so(graph):
    assert is_acyclic(graph) == networkx.is_directed_acyclic_graph(edges(graph))


@given(graphs())
def test_each_strongly_connected_group_has_one_cycle_that_is_a_shortest_one_through_its_first_name(graph):
    depends = edges(graph)
    groups = [group for group in networkx.strongly_connected_components(depends) if len(group) > 1]
    place = {name: at for at, name in enumerate(graph)}
    cycles = list(shortest_cycles(graph))

    assert [cycle[0] for cycle in cycles] == sorted((min(group, key=place.get) for group in groups), key=place.get)
    for cycle in cycles:
        assert all(target in graph[name] for name, target in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        back = (
            networkx.shortest_path_length(depends, target, cycle[0])
            for target in depends[cycle[0]]
            if networkx.has_path(depends, target, cycle[0])
        )
        assert len(cycle) == 1 + min(back)


@given(graphs(most=6))
def test_of_equally_short_cycles_the_one_whose_targets_come_first_is_named(graph):
    for cycle in shortest_cycles(graph):
        assert list(cycle) == min(ways_round(graph, cycle[0], len(cycle)), key=lambda way: places(graph, way))


def ways_round(graph, start, length):
    """Every cycle of that length from `start`, by trying all."""
    ways = [[start]]
    for _ in range(length - 1):
        ways = [[*way, t] for way in ways for t in graph[way[-1]] if t not in way]
    return [way for way in ways if start in graph[way[-1]]]


def places(graph, way):
    return [graph[name].index(target) for name, target in zip(way, [*way[1:], way[0]], strict=True)]


@pytest.mark.parametrize(("graph", "cycles"), [
    pytest.param("a; b: a; c: a b", [], id="a diamond has none"),
    pytest.param("a: c; b: a; c: b", [("a", "c", "b")], id="each depends on the next and the last on the first"),
    pytest.param("x: a; a: b; b: a", [("a", "b")], id="who only waits for a cycle is not on it"),
    pytest.param("a: b; b: a; c: d; d: c", [("a", "b"), ("c", "d")], id="independent ones are named each"),
    pytest.param("z: y; y: z; a: b; b: a", [("z", "y"), ("a", "b")], id="in the order of the document"),
    pytest.param("a: b c; b: a; c: a", [("a", "b")], id="one group has one, the first target wins"),
    pytest.param("a: c b; b: a; c: a", [("a", "c")], id="as they are written, not by the alphabet"),
    pytest.param("a: b; b: c; c: a b", [("a", "b", "c")], id="through the first name, though another is shorter"),
    pytest.param("a: a; b: b a", [], id="depending on oneself is another mistake"),
    pytest.param("a: nobody; b: a", [], id="depending on nobody is another mistake"),
])  # fmt: skip
def test_the_cycles_of(graph, cycles):
    assert list(shortest_cycles(depending(graph))) == cycles


def test_a_target_named_twice_is_waited_for_once():
    assert is_acyclic({"a": (), "b": ("a", "a")})


def test_what_waits_for_a_cycle_is_tangled_and_what_a_cycle_waits_for_is_not():
    assert tangled(depending("free; a: b free; b: a; late: b free")) == {"a": ("b",), "b": ("a",), "late": ("b",)}


def test_the_first_entry_of_a_name_counts():
    assert graph_of([("a", ()), ("b", ("a",)), ("a", ("b",))]) == {"a": (), "b": ("a",)}


def test_a_chain_far_longer_than_the_stack_is_no_matter():
    length = 50 * sys.getrecursionlimit()
    chain = {f"n{i}": (f"n{i + 1}",) for i in range(length)}
    chain[f"n{length}"] = ()
    assert is_acyclic(chain)
    chain[f"n{length}"] = ("n0",)
    assert [len(cycle) for cycle in shortest_cycles(chain)] == [length + 1]


def seconds(graph):
    started = time.process_time()
    assert is_acyclic(graph)
    return time.process_time() - started


def layered(count, width):
    """Layers in which each node depends on all of the layer before: width ** count ways through it."""
    return {
        f"n{i}-{k}": tuple(f"n{i - 1}-{m}" for m in range(width)) if i else ()
        for i in range(count)
        for k in range(width)
    }


@pytest.mark.parametrize(("graph", "limit"), [
    pytest.param(layered(26, 2), 0.005, id="2 ** 26 ways through 52 entries"),
    pytest.param(layered(20, 50), 0.1, id="47,500 dependencies"),
    pytest.param({i: tuple(range(i)) for i in range(2000)}, 3, id="all that is possible among 2,000"),
])  # fmt: skip
def test_the_number_of_ways_through_a_graph_costs_nothing(graph, limit):
    assert seconds(graph) < limit
