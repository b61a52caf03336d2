"""How far the model is explored: all graphs of each size, and what may happen in them."""

from collections.abc import Mapping
from math import inf
from typing import Final, NamedTuple

from tests.model.graphs import Graph, graphs_of
from tests.model.machine import EVERY_PHASE, FEWEST_PHASES, SOME_PHASES
from tests.model.space import Space


class Extent(NamedTuple):
    """What may happen to JobFlows of one size."""

    entries: int
    phases: Mapping[str, tuple[str, ...]]
    hands: bool
    """Users delete Jobs that have not finished."""
    troubles: float = inf
    """How often, on the way to a state, Jobs fail or go or the controller starts again."""

    @property
    def graphs(self) -> list[Graph]:
        return graphs_of(self.entries)

    def space(self, graph: Graph) -> Space:
        return Space(graph, self.phases, hands=self.hands, troubles=self.troubles)


EXTENTS: Final = (
    Extent(1, EVERY_PHASE, hands=True),
    Extent(2, EVERY_PHASE, hands=True),
    Extent(3, FEWEST_PHASES, hands=True),
    Extent(4, FEWEST_PHASES, hands=False, troubles=2),
)
"""What is explored in every run of the tests. Without a bound of `troubles` the phases go on for ever."""

WIDER: Final = (
    *EXTENTS[:2],
    Extent(3, SOME_PHASES, hands=True),
    Extent(4, FEWEST_PHASES, hands=True, troubles=4),
)
"""What takes half an hour."""
