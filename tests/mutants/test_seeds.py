"""A few fixed seeds of the simulator: what kills the mutants that only a whole history gives away."""

import pytest

from tests.simulation.run import run
from tests.simulation.workloads import a_plan


@pytest.mark.parametrize(("workload", "seeds"), [("edits", 30), ("ttl", 20), ("two", 10)], ids=["edits", "ttl", "two"])
def test_the_invariants_hold(workload: str, seeds: int) -> None:
    for seed in range(1, seeds + 1):
        result = run(a_plan(seed, workload))
        assert not result.violations, f"seed {seed}: {result.violations}"
