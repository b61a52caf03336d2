"""The simulator sees: with any one protection switched off, it fails within a few seeds."""

from itertools import chain

import pytest

from tests.simulation.mutants import MUTANTS
from tests.simulation.run import run
from tests.simulation.workloads import a_plan

SEEDS = 250


@pytest.mark.parametrize("name", MUTANTS)
def test_a_protection_that_is_switched_off_is_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.switch_off(monkeypatch)
    plans = chain.from_iterable((a_plan(seed, workload) for workload in mutant.workloads) for seed in range(1, SEEDS))
    for count, plan in enumerate(plans, 1):
        violations = run(plan).violations
        if violations:
            print(f"{name}: after {count} runs, {violations[0]}")
            assert violations[0].startswith(mutant.rules), violations
            return
    pytest.fail(f"{name} survives {SEEDS} seeds")
