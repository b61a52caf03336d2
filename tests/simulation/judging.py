"""Run many plans in a test, and tell of the first that failed."""

import gc
import os
from collections.abc import Iterable
from itertools import count

from tests.simulation.plan import Plan
from tests.simulation.run import Result, run
from tests.simulation.workloads import WORKLOADS

COLLECT_EVERY = 25

_runs = count(1)


def all_right(plans: Iterable[Plan]) -> list[Result]:
    """The results of all plans, none of which may have failed."""
    results = []
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    for plan in plans:
        result = run(plan)
        once_more = "" if plan.workload in WORKLOADS else f"python -m pytest '{test}'"
        assert not result.violations, f"\n{result.report(once_more=once_more)}"
        results.append(result)
        if next(_runs) % COLLECT_EVERY == 0:
            gc.collect()
    return results


def creates(result: Result, job: str) -> int:
    """How often a Job of that name was created."""
    return sum(
        call.verb == "create" and call.key.name == job and refusal is None for call, refusal in result.oracle.writes
    )


def phases(result: Result) -> dict[str, str]:
    """The phases of the JobFlows that are there in the end, by name."""
    return {flow.name: flow.phase() for flow in result.oracle.truth.present()}


def writes(result: Result) -> int:
    """How many writes of JobFlows and Jobs were sent while faults were possible."""
    return max((call.nth for call, _ in result.oracle.writes), default=0)
