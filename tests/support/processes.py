"""Finds processes by what stands in their command line, to see that what a test started is gone at its end."""

from pathlib import Path


def processes_with(*words: str) -> list[int]:
    """Return the processes whose command line has all of these words. Linux only: elsewhere there are none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if all(word in command for word in words):
            found.append(int(process.name))
    return found
