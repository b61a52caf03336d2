"""Tells how much CPU each program of a benchmark has used: on two cores that is what all rates hang on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def spending(title: str, count: int) -> Iterator[None]:
    """Print what the block costs, for each of `count` things: milliseconds of CPU by program, this one included."""
    before = spent()
    yield
    used = {name: (seconds - before.get(name, 0.0)) * 1000 / count for name, seconds in spent().items()}
    told = ", ".join(f"{name} {ms:.1f}" for name, ms in sorted(used.items(), key=lambda it: -it[1]) if ms >= 0.05)
    print(f"  {title}: {sum(used.values()):.1f} ms of CPU ({told})")


def spent() -> dict[str, float]:
    """Seconds of CPU that this process and its running descendants have used so far, by program."""
    parents, used = {}, {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            stat, arguments = (directory / "stat").read_text(), (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        fields = stat.rpartition(")")[2].split()
        pid = int(directory.name)
        parents[pid] = int(fields[1])
        used[pid] = (name_of(arguments), (int(fields[11]) + int(fields[12])) / TICKS)
    total: dict[str, float] = {}
    for pid, (program, seconds) in used.items():
        if descends(pid, parents):
            name = "bench" if pid == os.getpid() else program
            total[name] = total.get(name, 0.0) + seconds
    return total


def name_of(arguments: list[bytes]) -> str:
    """The program's name: the module's where Python runs one."""
    words = [os.fsdecode(it) for it in arguments]
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    return Path(words[0]).name


def descends(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        if pid == os.getpid():
            return True
        pid = parents[pid]
    return False
