"""Run the benchmarks, all of them or those that are named, one after the other.

    python -m tests.bench [admission] [chain] [fan] [rest]

Each prints its figures beside a limit that it measures in the same run. The process ends with 1 if a goal was missed:
look at the ratios first, for machines are noisy.
"""

import subprocess
import sys
from pathlib import Path

ALL = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main(wanted: list[str]) -> int:
    """Run, and return the exit code."""
    if unknown := sorted(set(wanted) - set(ALL)):
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    missed = 0
    for name in wanted or ALL:
        print(f"\n== {name}", flush=True)
        missed += subprocess.run([sys.executable, "-u", "-m", f"tests.bench.bench_{name}"], check=False).returncode != 0
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
