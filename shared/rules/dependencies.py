"""What is wrong with who depends on whom: the same for the entries of a JobFlow and for the tasks of a Job."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.flow import graph
from shared.rules.fault import Fault, FieldPath, duplicate, invalid, not_found, shown

LOOP_ENDS: Final = 10
"""Of a loop of more than twice as many names, so many are printed from each end."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The targets of things that have names, in the order in which they are written.

    What comes under a name that was there before is a duplicate, which is another's to tell: of its targets only
    those that are unknown or repeated are faults. A thing without a name cannot be depended on.
    """

    targets: Sequence[tuple[str, Sequence[str]]]
    where: Callable[[int], FieldPath]
    """The place of the list of targets of the nth of them."""

    def unknown(self, among: str) -> Iterator[Fault]:
        """A target names nothing; one that is repeated is told once."""
        known = dict.fromkeys(name for name, _ in self.targets if name).keys()
        for i, (_, targets) in enumerate(self.targets):
            if known >= set(targets):
                continue
            at = self.where(i)
            for target, j in _first_places(targets).items():
                if target not in known:
                    yield not_found(at / j, target, f"names no entry of {among}", among=known)

    def repeated(self) -> Iterator[Fault]:
        """A target stands twice in one list."""
        for i, (_, targets) in enumerate(self.targets):
            if len(set(targets)) == len(targets):
                continue
            first, at = _first_places(targets), self.where(i)
            for j, target in enumerate(targets):
                if first[target] != j:
                    yield duplicate(at / j, target)

    def on_oneself(self, oneself: str) -> Iterator[Fault]:
        """A thing depends on itself; `oneself` is what it is called."""
        for name, i in _first_places(name for name, _ in self.targets).items():
            targets = self.targets[i][1]
            if name and name in targets:
                yield invalid(self.where(i) / targets.index(name), name, f"must not be {oneself} itself")

    def loops(self) -> Iterator[Fault]:
        """Things wait for each other: one loop for each group of them that do, told in the order they would run."""
        depends = graph.graph_of((name, targets) for name, targets in self.targets if name)
        loops = list(graph.shortest_cycles(depends))
        first = _first_places(name for name, _ in self.targets) if loops else {}
        for loop in loops:
            at = self.where(first[loop[0]]) / depends[loop[0]].index(loop[1])
            printed = _in_short([loop[0], *reversed(loop)])
            yield invalid(at, loop[1], f"must not close a loop: {printed} (each runs after the one before it)")


def _first_places(words: Iterable[str]) -> dict[str, int]:
    first: dict[str, int] = {}
    for place, word in enumerate(words):
        first.setdefault(word, place)
    return first


def _in_short(loop: Sequence[str]) -> str:
    if len(loop) > 2 * LOOP_ENDS:
        loop = [*loop[:LOOP_ENDS], "...", *loop[-LOOP_ENDS:]]
    return " -> ".join(map(shown, loop))
