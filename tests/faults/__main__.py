"""Run a JobFlow of four entries under a plan of faults, with a real controller, and judge it.

    python -m tests.faults --policy delete --plan '[{"match": {"verb": "write", "nth": 7}, "do": "kill"}]'

It prints the history, and ends with 1 if an invariant was broken or the JobFlow did not succeed. A controller that has
ended is started again. What can be said in a plan: `tests/faults/plan.py`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from devcluster.player import Rules
from tests.faults.bed import ALONE, bed
from tests.faults.crashing import diamond, judge, judge_all
from tests.faults.plan import Plan


async def run(plan: Plan, policy: str, seconds: float, directory: Path) -> None:
    async with bed(directory, play=Rules(run_seconds=seconds)) as it:
        controller = it.new("first", ALONE)
        faults = it.plan(plan, controller)
        await it.restart(controller)
        await it.post("ns", *diamond(policy))
        running = asyncio.create_task(it.until(lambda: it.finished("ns", "etl"), "it has succeeded"))
        while not running.done():
            if not controller.runs:
                await it.restart(controller)
            await asyncio.wait([running], timeout=0.1)
        await running
        judge(it, "ns")
        await judge_all(it)
        print(it.server.history.text())
        print(f"{len(it.server.writes())} writes; matched: {[fault.seen for fault in faults]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plan", type=json.loads, default=[], help="JSON")
    parser.add_argument("--policy", choices=["retain", "delete"], default="retain")
    parser.add_argument("--seconds", type=float, default=0.05, help="how long each Job runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        try:
            asyncio.run(run(given.plan, given.policy, given.seconds, Path(directory)))
        except AssertionError as failed:
            print(failed)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
