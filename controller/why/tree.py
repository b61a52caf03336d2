"""Draw what waits for what as a tree: at its root what waits for nothing else, below each what waits for that.

Every entry appears once; one that waits for several is below the deepest of them. Siblings that look alike, with all
that is below them, are one line, and so is a chain of single entries; where that is still too long for a screen, what
lies deepest is counted. So the tree of 1,000 entries has some ten lines, and never more than sixty or so.
"""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final, NamedTuple

from controller.why.answer import Answer
from controller.why.entries import Entry, Kind
from controller.why.words import entries, listed, since

MOST_LINES: Final = 60


class Strokes(NamedTuple):
    """What the tree is drawn with."""

    child: str
    last: str
    past: str
    arrow: str


LINES: Final = Strokes("├─ ", "└─ ", "│  ", " → ")
ASCII: Final = Strokes("|- ", "`- ", "|  ", " > ")


def tree(told: Answer, *, zone: tzinfo | None = None, strokes: Strokes = LINES) -> str:
    """The tree, in lines that end by themselves."""
    drawn = _Drawing(told, zone, strokes)
    head = [f"{told.jobflow.key}  {told.phase}  {told.completed}/{len(told.entries)}"]
    head += [f"! {sign.kind}: {sign.text}" for sign in told.signs]
    done = [entry.name for entry in told.entries.values() if entry.is_done]
    if done:
        head.append(f"{strokes.child if drawn.has_lines else strokes.last}{listed(done)}  Completed")
    body = list(drawn.lines(1))
    for depth in range(2, len(told.entries) + 2):
        deeper = list(drawn.lines(depth))
        if len(deeper) > MOST_LINES or deeper == body:
            break
        body = deeper
    if len(body) > MOST_LINES:
        body[MOST_LINES:] = [f"... {len(body) - MOST_LINES} more lines; -o json has everything"]
    return "\n".join([*head, *body]) + "\n"


class _Drawing:
    def __init__(self, told: Answer, zone: tzinfo | None, strokes: Strokes) -> None:
        self._told = told
        self._zone = zone
        self._strokes = strokes
        order = told.waiters.order
        self._alone: dict[str, list[str]] = {name: [] for name in order}
        """Below each entry, what waits for that one alone: it makes the shape of a branch."""
        self._joins: dict[str, list[str]] = {name: [] for name in order}
        """Below each entry, what waits for others as well."""
        self._roots: list[str] = []
        self._shape: dict[str, int] = {}
        self._size: dict[str, int] = {}
        depth: dict[str, int] = {}
        for name in order:
            parents = [target for target in told.entries[name].waits_for if target in depth]
            parent = max(parents, key=lambda it: depth[it], default=None)
            depth[name] = 0 if parent is None else depth[parent] + 1
            if parent is None:
                self._roots.append(name)
            else:
                (self._alone if len(parents) == 1 else self._joins)[parent].append(name)
        self._measure()
        self.has_lines = bool(order)

    def _measure(self) -> None:
        """Give each branch a number for its shape, the same to those that look alike, and its size."""
        shapes: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}
        for name in reversed(self._told.waiters.order):
            below: dict[int, int] = {}
            for child in self._alone[name]:
                below[self._shape[child]] = below.get(self._shape[child], 0) + 1
            shape = (_like(self._told.entries[name]), tuple(sorted(below.items())))
            self._shape[name] = shapes.setdefault(shape, len(shapes))
            self._size[name] = 1 + sum(self._size[child] for child in (*self._alone[name], *self._joins[name]))

    def lines(self, deepest: int) -> Iterator[str]:
        """From the roots `deepest` levels down, with a stack of its own: a chain of a thousand must not recurse."""
        stack = [("", group, last, 1) for group, last in self._grouped(self._roots)]
        while stack:
            indent, names, is_last, depth = stack.pop()
            chain = self._chain(names)
            line = indent + (self._strokes.last if is_last else self._strokes.child) + self._told_of(names, chain)
            joins = [join for name in (*names, *chain[1:]) for join in self._joins[name]]
            below = [*self._alone[chain[-1]], *joins]
            if depth == deepest and below:
                yield f"{line} ... {entries(sum(self._size[name] for name in below))} below"
                continue
            yield line
            deeper = indent + ("   " if is_last else self._strokes.past)
            stack += [(deeper, group, last, depth + 1) for group, last in self._grouped(below)]

    def _grouped(self, names: list[str]) -> list[tuple[list[str], bool]]:
        """Those that look alike together, the last group first, for it goes onto a stack."""
        groups: dict[tuple[int, int], list[str]] = {}
        for name in names:
            number = len(self._told.entries[name].waits_for)
            groups.setdefault((self._shape[name], number), []).append(name)
        return [(group, number == 0) for number, group in enumerate(reversed(list(groups.values())))]

    def _chain(self, names: list[str]) -> list[str]:
        """An entry, and those below it as long as each is the only one there and in the same state."""
        chain = [names[0]]
        while len(names) == 1 and len(self._alone[chain[-1]]) == 1 and not self._joins[chain[-1]]:
            (child,) = self._alone[chain[-1]]
            if _like(self._told.entries[chain[-1]]) != _like(self._told.entries[child]):
                break
            chain.append(child)
        return chain

    def _told_of(self, names: list[str], chain: list[str]) -> str:
        first = self._told.entries[names[0]]
        state = self._state(first, len(names)) + _also(first)
        if len(chain) > 1:
            shown = chain if len(chain) < 5 else [*chain[:2], entries(len(chain) - 3), chain[-1]]
            return f"{self._strokes.arrow.join(shown)}  {state}, one after the other"
        below = sum(self._size[child] for child in self._alone[first.name])
        each = f", each with {entries(below)} like those below" if below and len(names) > 1 else ""
        return f"{listed(names)}  {state}{each}"

    def _state(self, entry: Entry, number: int) -> str:
        if entry.has_started:
            return entry.state + since(entry.since, self._told.now, self._zone)
        own = dict.fromkeys(str(reason.kind) for reason in entry.reasons if reason.kind is not Kind.TARGET)
        waits = "waits" if number == 1 else "wait"
        if own:
            return f"{waits}: {', '.join(own)}"
        return waits if entry.reasons else "may start"


def _also(entry: Entry) -> str:
    number = len(entry.waits_for)
    return f" (for {entries(number)})" if number > 1 else ""


def _like(entry: Entry) -> str:
    own = [str(reason.kind) for reason in entry.reasons if reason.kind is not Kind.TARGET]
    return ",".join([entry.state, *own])
