"""A campaign: `python -m tests.simulation --runs 10000 --seed 1 [--workload churn] [--processes 2]`.

    python -m tests.simulation --workload churn --seed 4711 --replay

prints one run's plan, its whole history and what was wrong with it. A campaign ends with code 1 if any run failed.
"""

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat

from tests.simulation.run import run
from tests.simulation.workloads import WORKLOADS, a_plan

CHUNK = 100
SHOWN = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--workload", choices=list(WORKLOADS), default="", help="without it: all in turn")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--everything", action="store_true", help="with --replay: reads and deliveries as well")
    parser.add_argument("--replay", action="store_true", help="one run, told at length")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if given.replay:
        result = run(a_plan(given.seed, given.workload))
        print(result.report(everything=given.everything))
        print(f"history {result.history.digest()}")
        return bool(result.violations)
    return campaign(given.seed, given.runs, given.workload, given.processes)


def campaign(first: int, runs: int, workload: str, processes: int) -> int:
    """Run all, tell of the first few that failed, and how fast it was."""
    began, failed, rules, windows = time.monotonic(), 0, Counter[str](), 0
    seeds = range(first, first + runs)
    for seed, violations, found in _results(seeds, workload, processes):
        windows += found
        if violations:
            failed += 1
            rules[violations[0].partition(" ")[0]] += 1
            if failed <= SHOWN:
                name = a_plan(seed, workload).workload
                print(f"seed {seed} ({name}):", *violations[:3], sep="\n  ")
                print(f"  once more: python -m tests.simulation --workload {name} --seed {seed} --replay", flush=True)
    took = time.monotonic() - began
    print(f"{runs} runs, {failed} failed {dict(rules) or ''}, {windows} known windows, {runs / took:.0f} runs a second")
    return bool(failed)


def _results(seeds: range, workload: str, processes: int) -> Iterator[tuple[int, list[str], int]]:
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    if processes == 1:
        for chunk in chunks:
            yield from some_runs(chunk, workload)
        return
    with ProcessPoolExecutor(processes, initializer=partial(logging.disable, logging.CRITICAL)) as pool:
        for results in pool.map(some_runs, chunks, repeat(workload)):
            yield from results


def some_runs(seeds: Iterable[int], workload: str = "") -> list[tuple[int, list[str], int]]:
    """Of each seed: what was wrong, and how often the known window excused a second create."""
    found = []
    gc.collect()
    gc.disable()  # what a run leaves behind is collected between runs, for that is cheaper
    try:
        for count, seed in enumerate(seeds):
            result = run(a_plan(seed, workload))
            found.append((seed, result.violations, result.oracle.windows))
            if count % 20 == 19:
                gc.collect()
    finally:
        gc.enable()
    return found


if __name__ == "__main__":
    sys.exit(main())
