"""Find the few things that hold everything up.

An entry that waits for others is held up by what those wait for, and in the end by what waits for no other entry: a Job
that runs, a template that is missing, a refusal. Those are the causes; each says how many entries it holds up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from controller.why.entries import BROKEN, OF_ALL, SUSPENDED, Entry, Kind
from shared.flow.graph import tangled

READY: Final = "Ready"
"""Kind of an entry that nothing keeps from starting but that its Job is still to be created."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that waits for no other entry, and what waits for it. Entries that are alike in all this are one."""

    kind: str
    """A phase of a Job, `Lost`, `Ready`, or a `Kind`."""
    entries: tuple[str, ...]
    text: str
    """What it is, of the first entry."""
    since: datetime | None
    holds_up: int
    """Entries that wait for one of `entries`, directly or not."""
    chain: tuple[str, ...]
    """A longest way from the first entry to one that waits for it: each waits for the one before."""

    @property
    def needs_somebody(self) -> bool:
        """It does not pass by itself."""
        return self.kind in BROKEN or self.kind in SUSPENDED or self.kind in set(Kind)


@dataclass(frozen=True, slots=True)
class Waiters:
    """Who waits for whom, of the entries that are not done."""

    order: tuple[str, ...]
    """Each after all that it waits for."""
    direct: Mapping[str, tuple[str, ...]]
    """Who waits for an entry directly."""
    all: Mapping[str, int]
    """Who waits for it, directly or not: bit i stands for the i-th name of `order`."""
    next: Mapping[str, str]
    """The one of `direct` from which the longest way goes on."""


def waiters_of(entries: Mapping[str, Entry]) -> Waiters:
    """Follow what is waited for backwards, in time linear in entries and dependencies."""
    open_ = {name: entry for name, entry in entries.items() if not entry.is_done}
    graph = {name: [target for target in entry.waits_for if target in open_] for name, entry in open_.items()}
    knot = tangled(graph)
    # What lies on a cycle can never start, and has that for its reason; no order could be found through it.
    graph = {name: [] if name in knot else targets for name, targets in graph.items()}
    direct: dict[str, list[str]] = {name: [] for name in graph}
    left = {name: len(targets) for name, targets in graph.items()}
    for name, targets in graph.items():
        for target in targets:
            direct[target].append(name)
    order = [name for name, number in left.items() if not number]
    for name in order:  # which grows meanwhile
        for waiter in direct[name]:
            left[waiter] -= 1
            if not left[waiter]:
                order.append(waiter)
    bit = {name: 1 << i for i, name in enumerate(order)}
    below: dict[str, int] = {}
    depth: dict[str, int] = {}
    following: dict[str, str] = {}
    for name in reversed(order):
        below[name], depth[name] = 0, 0
        for waiter in direct[name]:
            below[name] |= bit[waiter] | below[waiter]
            if depth[waiter] >= depth[name]:
                depth[name], following[name] = depth[waiter] + 1, waiter
    return Waiters(tuple(order), {name: tuple(it) for name, it in direct.items()}, below, following)


def causes_of(entries: Mapping[str, Entry], waiters: Waiters) -> tuple[Cause, ...]:
    """The causes, those that need somebody first, then by how much they hold up."""
    groups: dict[tuple[str, str, int], list[str]] = {}
    found: dict[tuple[str, str, int], tuple[str, datetime | None]] = {}
    for name, entry in entries.items():
        for kind, text, since in _own(entry):
            # Texts that name the entry would tell apart what is alike.
            group = (kind, text.replace(entry.job, "").replace(name, ""), waiters.all.get(name, 0))
            groups.setdefault(group, []).append(name)
            known = found.get(group)
            earlier = known is None or (since is not None and known[1] is not None and since < known[1])
            if earlier:
                found[group] = (text, since)
                groups[group].remove(name)
                groups[group].insert(0, name)  # the one that takes longest speaks for all
    causes = [
        Cause(group[0], tuple(names), *found[group], _union(names, waiters), _chain(names[0], waiters))
        for group, names in groups.items()
    ]
    return tuple(sorted(causes, key=lambda cause: (not cause.needs_somebody, -cause.holds_up)))


def _own(entry: Entry) -> Sequence[tuple[str, str, datetime | None]]:
    """What an entry is held up by that is no other entry."""
    if entry.is_done:
        return ()
    if entry.has_started:
        return ((entry.state, entry.says, entry.since),)
    own = [it for it in entry.reasons if it.kind is not Kind.TARGET and it.kind not in OF_ALL]
    if own:
        return tuple((it.kind, it.text, it.since or entry.ready_since) for it in own)
    return ((READY, "", entry.ready_since),) if not entry.reasons else ()


def _union(names: Sequence[str], waiters: Waiters) -> int:
    held = 0
    for name in names:
        held |= waiters.all.get(name, 0)
    return held.bit_count()


def _chain(name: str, waiters: Waiters) -> tuple[str, ...]:
    chain = [name]
    while (following := waiters.next.get(chain[-1])) is not None:
        chain.append(following)
    return tuple(chain)
