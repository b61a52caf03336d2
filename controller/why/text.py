"""Say an answer in lines that fit a terminal, as short for a thousand entries as for four."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Final

from controller.jobflow.progress import LOST
from controller.why.answer import Answer
from controller.why.causes import READY, Cause
from controller.why.entries import BROKEN, SUSPENDED, Entry, Kind
from controller.why.estimate import Basis, Step, in_words
from controller.why.words import ago, clock, counted, entries, length, listed, since
from shared.api.jobflow import FINISHED
from shared.rules.fault import quoted

MOST_CAUSES: Final = 8
MOST_GROUPS: Final = 8
MOST_STEPS: Final = 8
"""Lines of one sort; the rest is counted."""

LONGEST_CHAIN: Final = 4
"""Entries of a chain that are named."""


FEW: Final = 4
"""Entries that are all named, so that their number need not be told."""


class Page:
    """Lines of at most `width` characters. A line that does not fit goes on below, further in."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[str] = []

    def head(self, text: str) -> None:
        """A heading, after an empty line."""
        if self._lines:
            self._lines.append("")
        self._lines.append(text)

    def line(self, text: str, indent: int = 1) -> None:
        """A line, two blanks in for each `indent`."""
        blanks = "  " * indent
        self._lines += textwrap.wrap(
            text,
            max(40, self._width),
            initial_indent=blanks,
            subsequent_indent=blanks + "  " * bool(indent),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


def page(told: Answer, entry: str | None, *, width: int, zone: tzinfo | None = None) -> str:
    """The answer for all of the JobFlow, or for one of its entries."""
    out = Page(width)
    if entry is None:
        out.line(_headline(told, zone), 0)
    else:
        _the_entry(out, told, told.entries[entry], zone)
    for sign in told.signs:
        out.head(f"! {sign.kind}")
        out.line(f"{sign.text}{ago(sign.since, told.now, zone)}.")
    for heading, causes in _headed(told, entry):
        out.head(heading)
        for cause in causes[:MOST_CAUSES]:
            _cause(out, told, cause, entry, zone)
        if len(causes) > MOST_CAUSES:
            rest = causes[MOST_CAUSES:]
            out.line(f"and {entries(sum(len(it.entries) for it in rest))} more: {kinds(rest)}")
    if entry is None and told.phase not in FINISHED:
        _waiting(out, told)
    _ending(out, told, entry, zone)
    if told.unread:
        out.head("What could not be read")
        for each in told.unread:
            out.line(each)
    return str(out)


def _headed(told: Answer, entry: str | None) -> Iterator[tuple[str, Sequence[Cause]]]:
    """The causes under their headings. Nothing is held up any more in a JobFlow that starts nothing any more."""
    # What is an entry's own was told already.
    causes = told.causes if entry is None else [it for it in told.causes_of(entry) if entry not in it.entries]
    headed: list[tuple[str, Sequence[Cause]]]
    if told.phase in FINISHED:
        broken = [cause for cause in causes if cause.kind in BROKEN]
        going = [cause for cause in causes if cause not in broken and cause.kind not in set(Kind)]
        headed = [("What failed", broken), ("What still runs", going)]
    else:
        headed = [("What holds it up" if entry is None else "What holds it up in the end", causes)]
    return ((heading, causes) for heading, causes in headed if causes)


def kinds(causes: Iterable[Cause]) -> str:
    """`2 Running, 1 Pending`."""
    counts: dict[str, int] = {}
    for cause in causes:
        counts[cause.kind] = counts.get(cause.kind, 0) + len(cause.entries)
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


def _headline(told: Answer, zone: tzinfo | None) -> str:
    states: dict[str, int] = {}
    for entry in told.entries.values():
        states[entry.state] = states.get(entry.state, 0) + 1
    parts = ", ".join(f"{count:,} {state}" for state, count in states.items())
    age = f"; created {clock(told.created, told.now, zone)} " if told.created else ""
    age += f"({length((told.now - told.created).total_seconds())} ago)" if told.created else ""
    return f"JobFlow {told.jobflow.key}: {told.phase}, {entries(len(told.entries))}: {parts or 'none'}{age}"


def _the_entry(out: Page, told: Answer, entry: Entry, zone: tzinfo | None) -> None:
    state = "not started" if not entry.has_started else f"its Job {entry.job} is {entry.state}"
    out.line(
        f"Entry {entry.name} of JobFlow {told.jobflow.key}, which is {told.phase}: {state}"
        f"{since(entry.since, told.now, zone)}{_pods(entry.pods)}{': ' + entry.says if entry.says else ''}",
        0,
    )
    if entry.reasons:
        out.head("It waits for")
        targets = [reason for reason in entry.reasons if reason.kind is Kind.TARGET]
        for reason in targets[:MOST_GROUPS]:
            out.line(reason.text + since(reason.since, told.now, zone))
        if len(targets) > MOST_GROUPS:
            out.line(f"and {entries(len(targets) - MOST_GROUPS)} more")
        others = [reason for reason in entry.reasons if reason.kind is not Kind.TARGET]
        for reason in others:
            out.line(f"{reason.kind}{since(reason.since or entry.ready_since, told.now, zone)}: {reason.text}")
    elif not entry.has_started:
        out.line(f"It waits for nothing, and may start at any moment{since(entry.ready_since, told.now, zone)}.")
    waiting = told.waiters.direct.get(entry.name, ())
    if waiting:
        number = told.waiters.all[entry.name].bit_count()
        out.line(f"{entries(number)} {'waits' if number == 1 else 'wait'} for it, first {listed(waiting)}.", 0)


def _cause(out: Page, told: Answer, cause: Cause, entry: str | None, zone: tzinfo | None) -> None:
    first, number = told.entries[cause.entries[0]], len(cause.entries)
    few = number <= FEW
    names = listed(cause.entries) if few else f"{entries(number)} ({listed(cause.entries)})"
    at = since(cause.since, told.now, zone)
    at = f", the first of them{at}" if number > 1 and at else at
    pods = _pods(first.pods) if number == 1 else ""
    out.line(f"{names} {_what(cause, at)}{pods}{_said(cause)}{_held_up(cause) if entry is None else ''}.")
    chain = cause.chain if entry is None else _way(told, cause, entry)
    if len(chain) > 1:
        out.line(_chained(chain), 2)


def _what(cause: Cause, at: str) -> str:
    one = len(cause.entries) == 1
    if cause.kind == READY:
        return f"may start at any moment, for nothing holds {'it' if one else 'them'} up{at}"
    if cause.kind == LOST:
        return f"{'was' if one else 'were'} lost before the end{at}"
    if cause.kind in set(Kind):
        text = cause.text
        if cause.kind == Kind.TEMPLATE and not one:
            text = f"the JobTemplates {listed([quoted(name) for name in cause.entries])} do not exist; create them"
        return f"{'waits' if one else 'wait'}{at}: {text}"
    tail = " (suspended until somebody resumes it)" if cause.kind in SUSPENDED else ""
    return f"{'is' if one else 'are'} {cause.kind}{tail}{at}"


def _said(cause: Cause) -> str:
    return f": {cause.text}" if cause.text and cause.kind not in set(Kind) else ""


def _held_up(cause: Cause) -> str:
    if not cause.holds_up:
        return ""
    one = len(cause.entries) == 1
    return f"; {entries(cause.holds_up)} {'waits' if cause.holds_up == 1 else 'wait'} for {'it' if one else 'them'}"


def _pods(pods: Mapping[str, int] | None) -> str:
    return f", Pods: {', '.join(f'{number} {phase}' for phase, number in sorted(pods.items()))}" if pods else ""


def _chained(chain: tuple[str, ...]) -> str:
    """`publish waits for clean, which waits for extract`."""
    names = list(reversed(chain))
    if len(names) > LONGEST_CHAIN + 1:
        more = len(names) - 5
        through = f"and so on, by way of {entries(more)}, until {names[-2]} waits for {names[-1]}"
        return f"{names[0]} waits for {names[1]}, which waits for {names[2]}, {through}"
    return f"{names[0]} waits for {', which waits for '.join(names[1:])}"


def _way(told: Answer, cause: Cause, entry: str) -> tuple[str, ...]:
    """From the cause to the entry."""
    way = [entry]
    while way[-1] not in cause.entries:
        at = told.waiters.order.index(way[-1])
        for target in told.entries[way[-1]].waits_for:
            if target in cause.entries or (told.waiters.all.get(target, 0) >> at & 1 and _is_held(told, cause, target)):
                way.append(target)
                break
        else:
            break
    return tuple(reversed(way))


def _is_held(told: Answer, cause: Cause, entry: str) -> bool:
    bit = 1 << told.waiters.order.index(entry)
    return any(told.waiters.all.get(each, 0) & bit for each in cause.entries)


def _waiting(out: Page, told: Answer) -> None:
    """Entries that wait for others, those that wait for the same ones folded into one line."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for entry in told.entries.values():
        if entry.waits_for:
            groups.setdefault(entry.waits_for, []).append(entry.name)
    if not groups:
        return
    out.head("What waits for other entries")
    for targets, names in list(groups.items())[:MOST_GROUPS]:
        who = listed(names) if len(names) <= FEW else f"{entries(len(names))} ({listed(names)})"
        who += " waits" if len(names) == 1 else " wait"
        what = [f"{target} ({_state(told, target)})" for target in targets]
        out.line(f"{who} for {listed(what)}")
    if len(groups) > MOST_GROUPS:
        number = sum(map(len, list(groups.values())[MOST_GROUPS:]))
        out.line(f"and {entries(number)} more; give the name of an entry to hear of that one")


def _state(told: Answer, target: str) -> str:
    entry = told.entries.get(target)
    if entry is None:
        return "no entry"
    return entry.state if entry.has_started else "not started"


def _ending(out: Page, told: Answer, entry: str | None, zone: tzinfo | None) -> None:
    estimate = told.estimate
    if estimate is None:
        return
    out.head("When it may end")
    what = "The JobFlow" if entry is None else entry
    if not estimate.basis.keys() - {Basis.NOTHING}:
        names = listed(estimate.unknown)
        out.line(f"Nobody can say, for no run of any of these templates has been seen yet: {names}.")
        return
    if estimate.seconds < 1:
        when = "once all on this way is done, and nobody can say when" if estimate.is_bound else "at any moment"
    else:
        how = "not before" if estimate.is_bound else "about"
        when = f"{how} {clock(estimate.end, told.now, zone)} (in {length(estimate.seconds)})"
    out.line(f"{what} may end {when}, by way of:")
    _path(out, estimate.path)
    out.line("This rests on:")
    for text in in_words(estimate):
        out.line(f"- {text}", 2)


def _path(out: Page, path: tuple[Step, ...]) -> None:
    shown = list(path)
    if len(shown) > MOST_STEPS:
        shown = [*path[: MOST_STEPS - 2], path[-1]]
    wide = max(len(step.entry) for step in shown)
    for number, step in enumerate(shown):
        if number == len(shown) - 1 and len(shown) < len(path):
            rest = path[MOST_STEPS - 2 : -1]
            out.line(f"... {entries(len(rest))} more, {length(sum(it.remaining for it in rest))} in all", 2)
        out.line(f"{step.entry:<{wide}}  {step.state:<9}  {_takes(step)}", 2)


def _takes(step: Step) -> str:
    if step.expected.basis is Basis.NOTHING:
        return "nobody knows how long"
    whole = length(step.expected.seconds)
    samples = f" ({counted(step.expected.samples, 'run')})" if step.expected.basis is Basis.RUNS else ""
    if step.elapsed:
        return f"{length(step.elapsed)} of about {whole}{samples}"
    return f"about {whole}{samples}"
