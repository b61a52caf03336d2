"""Show a timeline while it runs: redrawn in place in a terminal, a line for each change everywhere else."""

import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

from devcluster.demo.timeline import Timeline

SIMPLE = str.maketrans({"█": "#", "░": "-"})


class Screen:
    """Where the demo is shown."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self.is_terminal = out.isatty()
        self._drawn = 0
        self._held: list[str] | None = []
        self._simple = "utf" not in (out.encoding or "").lower()

    def say(self, text: str = "") -> None:
        """Print text."""
        self._out.write(f"{text.translate(SIMPLE) if self._simple else text}\n")
        self._out.flush()

    def say_changes(self, lines: Iterable[str]) -> None:
        """Print a line for each change, where nothing is redrawn; what comes before `release` is kept until then."""
        for line in lines:
            if self._held is not None:
                self._held.append(line)
            elif not self.is_terminal:
                self.say(line)

    def release(self) -> None:
        """Print the changes that were kept, and from now on each as it comes."""
        held, self._held = self._held or (), None
        self.say_changes(held)

    def draw(self, timeline: Timeline, now: float) -> None:
        """Redraw the table, where that is possible."""
        if not self.is_terminal:
            return
        size = shutil.get_terminal_size()
        lines = timeline.table(now, size.columns - 1, size.lines - 2, colour=True)
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn}A\x1b[J")
        self._drawn = len(lines)
        self.say("\n".join(lines))
