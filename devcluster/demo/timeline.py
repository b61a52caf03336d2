"""JobFlows as they run, for people to look at: a table with a bar for each Job, or one line for each change.

Pure: JobFlows and times come in, lines go out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from devcluster.resources import JSON

FINISHED = ("Succeed", "Failed")
BARS = {"Pending": "░", "Running": "█", "Completed": "█", "Completing": "█"}
COLOURS = {"Pending": "33", "Running": "36", "Completed": "32", "Completing": "32", "Succeed": "32"}
"""ANSI: yellow, cyan, green; everything else is red, and what has not begun is plain."""
PLAIN = ("Waiting", "")
NAME_WIDTH = 18
STATE_WIDTH = 11
SHORTEST = 20.0
"""Until so many seconds are over the bars grow; from then on they shrink together to stay in the terminal."""


@dataclass(slots=True)
class Entry:
    """One entry of a JobFlow: its state, and when it came to each."""

    name: str
    targets: tuple[str, ...]
    state: str = "Waiting"
    history: list[tuple[float, str]] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """One JobFlow that is watched."""

    name: str
    entries: list[Entry]
    phase: str = ""
    progress: str = ""
    message: str = ""

    @property
    def finished(self) -> bool:
        """Say whether nothing more will happen to it."""
        return self.phase in FINISHED


class Timeline:
    """Some JobFlows, from when they are first seen until all have finished. Times are seconds since its begin."""

    def __init__(self, names: Sequence[str]) -> None:
        self.runs: dict[str, Run | None] = dict.fromkeys(names)

    @property
    def entries(self) -> int:
        """Count the entries of all of them."""
        return sum(len(run.entries) for run in self.runs.values() if run is not None)

    @property
    def finished(self) -> bool:
        """Say whether all of them have finished."""
        return all(run is not None and run.finished for run in self.runs.values())

    def see(self, jobflow: JSON, now: float) -> Iterator[str]:
        """Take in a JobFlow as it is now; yield a line for each thing that has changed."""
        name = jobflow["metadata"]["name"]
        if name not in self.runs:
            return
        run = self.runs[name] or Run(name, list(_entries(jobflow)))
        self.runs[name] = run
        status = jobflow.get("status") or {}
        states = {job["name"]: job.get("state", "") for job in status.get("jobStatusList") or []}
        for entry in run.entries:
            state = states.get(f"{name}-{entry.name}", entry.state) or "Pending"
            if state != entry.state:
                entry.state = state
                entry.history.append((now, state))
                yield f"{now:6.1f} s  {name:<{NAME_WIDTH}} {entry.name:<{NAME_WIDTH}} {state}"
        phase, run.progress = (status.get("state") or {}).get("phase", ""), status.get("progress", "")
        run.message = (status.get("state") or {}).get("message", "")
        if phase and phase != run.phase:
            run.phase = phase
            yield f"{now:6.1f} s  {name:<{NAME_WIDTH}} is {phase}" + (f" ({run.progress})" if run.progress else "")

    def table(self, now: float, width: int, height: int, *, colour: bool = False) -> list[str]:
        """Draw all of it into so many columns and, where that is possible, lines."""
        runs = [run for run in self.runs.values() if run is not None]
        lines = [line for run in runs for line in _drawn(run, now, width, colour=colour)]
        return lines if len(lines) <= height else [_header(run, colour=colour) for run in runs]


def _entries(jobflow: JSON) -> Iterator[Entry]:
    for flow in jobflow["spec"]["flows"]:
        yield Entry(flow["name"], tuple((flow.get("dependsOn") or {}).get("targets") or ()))


def _drawn(run: Run, now: float, width: int, *, colour: bool) -> Iterator[str]:
    yield _header(run, colour=colour)
    room = max(width - NAME_WIDTH - STATE_WIDTH - 5, 10)
    scale = max(now, SHORTEST) / room
    for entry in run.entries:
        label = f"  {entry.name:<{NAME_WIDTH}} {_painted(f'{entry.state:<{STATE_WIDTH}}', entry.state, colour=colour)} "
        yield (label + _bar(entry, run, now, scale, colour=colour)).rstrip()


def _header(run: Run, *, colour: bool) -> str:
    phase = _painted(f"{run.phase:<{STATE_WIDTH}}", run.phase, colour=colour)
    return f"{run.name:<{NAME_WIDTH + 2}} {phase} {run.progress}"


def _bar(entry: Entry, run: Run, now: float, scale: float, *, colour: bool) -> str:
    if not entry.history:
        open_targets = [each.name for each in run.entries if each.name in entry.targets and each.state != "Completed"]
        return f"waits for {', '.join(open_targets)}" if open_targets else ""
    drawn, column = [], 0
    ends = [begin for begin, _ in entry.history[1:]] + [now]
    for (begin, state), end in zip(entry.history, ends, strict=True):
        if state == "Completed":
            break
        first, last = int(begin / scale), max(int(end / scale), int(begin / scale) + 1)
        drawn.append(
            " " * (first - column) + _painted(BARS.get(state, "x") * (last - max(first, column)), state, colour=colour)
        )
        column = last
    return "".join(drawn)


def _painted(text: str, state: str, *, colour: bool) -> str:
    return f"\x1b[{COLOURS.get(state, '31')}m{text}\x1b[0m" if colour and state not in PLAIN else text
