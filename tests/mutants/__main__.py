"""Try the mutants: `python -m tests.mutants [NAMES]`, all of them unless some are named. Ends with 1 if any survives.

python -m tests.mutants --list
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.catalogue import MUTANTS
from tests.mutants.gate import KILLED, Copy
from tests.mutants.mutant import Mutant


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAMES")
    parser.add_argument("--list", action="store_true", help="say what there is, and try nothing")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if unknown := set(given.names) - MUTANTS.keys():
        parser.error(f"there are no mutants {', '.join(sorted(unknown))}")
    chosen = [MUTANTS[name] for name in given.names] or list(MUTANTS.values())
    if given.list:
        for each in chosen:
            print(f"{each.name}: {each.why}\n    {each.edits[0].file}, killed by {each.killer}")
        return 0
    began = time.monotonic()
    with TemporaryDirectory(prefix="mutants-") as folder:
        verdicts = list(tried(chosen, Path(folder), given.processes))
    bad = [name for name, verdict in verdicts if verdict != KILLED]
    print(f"{len(chosen)} mutants, {len(chosen) - len(bad)} killed, in {time.monotonic() - began:.0f} s")
    if bad:
        print("not killed:", *bad)
    return bool(bad)


def tried(chosen: list[Mutant], folder: Path, processes: int) -> Iterator[tuple[str, str]]:
    """Each mutant's name and verdict, said as they come; `without any mutant` is there if that is not all right."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(processes):
        copies.put(Copy(folder / str(number)))

    def try_one(mutant: Mutant) -> str:
        copy = copies.get()
        try:
            return copy.verdict(mutant)
        finally:
            copies.put(copy)

    copy = copies.get()
    code, said = copy.run(*sorted({each.killer for each in chosen}))
    copies.put(copy)
    if code:
        print(said)
        yield "without any mutant", "a test fails"
        return
    with ThreadPoolExecutor(processes) as pool:
        for mutant, verdict in zip(chosen, pool.map(try_one, chosen), strict=True):
            print(f"{verdict:8} {mutant.name}: {mutant.why}", flush=True)
            yield mutant.name, verdict


if __name__ == "__main__":
    sys.exit(main())
