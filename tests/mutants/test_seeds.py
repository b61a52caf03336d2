"""A few seeds of each workload of the simulator: what kills the mutants that only a whole history gives away."""

import pytest

from tests.simulation.run import run
from tests.simulation.workloads import a_plan

SEEDS = range(1, 11)


@pytest.mark.parametrize("workload", ["plain", "leaders"])
def test_the_invariants_hold(workload: str) -> None:
    for seed in SEEDS:
        result = run(a_plan(seed, workload))
        assert not result.violations, f"seed {seed}: {result.violations}"
