"""Explore every state that a JobFlow of one graph can come into, whatever happens in between two steps.

The steps are single effects, so that a pass may be cut short anywhere: one create, one write of the status, one delete;
one Job enters another phase; one Job goes, because its time to live is over or somebody deletes it; the controller
starts again and has forgotten what it saw. Whoever differs from another state in names alone is explored once.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from shared.api.job import FINAL, JobPhase
from tests.model.deciding import Controller, Decision, created, gone, stored
from tests.model.graphs import Graph, successors, symmetries
from tests.model.rules import broken
from tests.model.state import GONE, Entry, State


class Broken(AssertionError):
    """A state breaks an invariant; the text is how it comes about."""


class Move(NamedTuple):
    name: str
    after: State
    trouble: bool = False


class Space:
    """All states of one graph.

    `phases` says what may become of a Job; with `hands`, users delete Jobs that have not finished. `troubles` bounds
    how often, on the way to a state, Jobs fail or go or the controller starts again.
    """

    def __init__(
        self, graph: Graph, phases: Mapping[str, tuple[str, ...]], *, hands: bool = False, troubles: float = inf
    ) -> None:
        self.graph = graph
        self.controller = Controller(graph)
        self.after = successors(graph)
        self._phases = phases
        self._hands = hands
        self._troubles = troubles
        self._symmetries = symmetries(graph)
        self._decisions: dict[State, Decision] = {}
        self._came_from: dict[State, tuple[State, str] | None] = {}
        self._good: set[State] = set()

    def explore(self) -> int:
        """Visit every state, and check what must hold there. Returns how many there are."""
        first = State("", tuple(Entry() for _ in self.graph))
        self._came_from[first] = None
        troubles, open_ = 0, [first]
        while open_ and troubles <= self._troubles:
            troubled: list[tuple[State, State, str]] = []
            while open_:
                state = open_.pop()
                self._ends_well(state)
                for move in self._moves(state):
                    after = self._canonical(move.after)
                    if after in self._came_from:
                        continue
                    if move.trouble:
                        troubled.append((after, state, move.name))
                    else:
                        self._came_from[after] = state, move.name
                        open_.append(after)
                self._decisions.pop(state, None)  # a status is large, and nobody comes back here
            troubles += 1
            for after, state, name in troubled:
                if after not in self._came_from and troubles <= self._troubles:
                    self._came_from[after] = state, name
                    open_.append(after)
        return len(self._came_from)

    # What may happen next

    def _moves(self, state: State) -> Iterator[Move]:
        decision = self._decide(state)
        for rule in broken(self, state, decision):
            raise Broken(self._story(state, rule))
        for number in decision.starts:
            yield Move(f"{'abcd'[number]} is created", created(state, number))
        if (decision.status.state.phase, decision.states) != (state.phase, tuple(it.stored for it in state.entries)):
            yield Move("the status is stored", stored(state, decision.status.state.phase, decision.states))
        for number in decision.leftovers:
            yield Move(f"{'abcd'[number]} is deleted as left over", gone(state, number))
        yield from self._of_jobs(state)
        if any(it.sight is not None for it in state.entries):
            forgotten = tuple(it._replace(sight=None) for it in state.entries)
            yield Move("the controller starts again", State(state.phase, forgotten), trouble=True)

    def _of_jobs(self, state: State) -> Iterator[Move]:
        for number, entry in enumerate(state.entries):
            if not entry.exists:
                continue
            name = "abcd"[number]
            for phase in self._phases[entry.job]:
                then = entry._replace(
                    job=phase,
                    completed=entry.completed or phase == JobPhase.COMPLETED,
                    broke=entry.broke or phase in (JobPhase.FAILED, JobPhase.TERMINATED),
                )
                yield Move(f"{name} is {phase or 'new'}", state.with_entry(number, then), then.broke > entry.broke)
            if entry.job in FINAL or self._hands:
                yield Move(f"{name} goes", gone(state, number), trouble=True)

    # Where it leads

    def _ends_well(self, state: State) -> None:
        """L1: from wherever nothing went wrong, good luck leads to Succeed, and to no Job left over."""
        path: list[State] = []
        here = state
        while here not in self._good:
            if any(it.broke or it.is_lost_to_sight for it in here.entries) or here.phase == "Failed":
                if path and not self._may_lose(path[-1]):
                    raise Broken(self._story(state, f"L1: with luck it still comes to {here}"))
                return
            path.append(here)
            if here.phase == "Succeed" and not any(it.exists for it in here.entries):
                break
            if len(path) > 3 * len(self.graph) + 4:
                raise Broken(self._story(state, f"L1: with luck it still comes no further than {here}"))
            settled = self._decide(here).settled
            here = self._canonical(State(settled.phase, tuple(map(_completed, settled.entries))))
        self._good.update(path)

    @staticmethod
    def _may_lose(state: State) -> bool:
        return any(it.broke or it.is_lost_to_sight for it in state.entries)

    # What is the same

    def _decide(self, state: State) -> Decision:
        if state not in self._decisions:
            self._decisions[state] = self.controller.decide(state)
        return self._decisions[state]

    def _canonical(self, state: State) -> State:
        """The state that stands for this one and all that are like it.

        A Job that went before anything told of it cannot be told from one that was never created: the known window.
        """
        entries = state.entries
        if any(map(_left_no_trace, entries)):
            entries = tuple(
                Entry()
                if _left_no_trace(it) and not any(map(_is_known, (entries[i] for i in self.after[number])))
                else it
                for number, it in enumerate(entries)
            )
        if len(self._symmetries) > 1:
            entries = min((tuple(entries[i] for i in order) for order in self._symmetries), key=_order)
        return State(state.phase, entries)

    def _story(self, state: State, rule: str) -> str:
        steps = [f"at last: {state}", rule]
        came = self._came_from[state]
        while came:
            before, how = came
            steps.insert(0, f"{how}  (from {before})")
            came = self._came_from[before]
        return "\n".join([f"depends on: {self.graph}", *steps])


def _completed(entry: Entry) -> Entry:
    return entry._replace(job=JobPhase.COMPLETED, completed=True) if entry.exists and entry.job not in FINAL else entry


def _order(entries: tuple[Entry, ...]) -> tuple[tuple[str, str, str, bool, bool], ...]:
    return tuple(
        (it.job, "-" if it.sight is None else f"={it.sight}", "-" if it.stored is None else f"={it.stored}", *it[3:])
        for it in entries
    )


def _left_no_trace(entry: Entry) -> bool:
    return entry.job == GONE and entry.sight is None and entry.stored is None


def _is_known(entry: Entry) -> bool:
    return entry.exists or entry.sight is not None or entry.stored is not None
