"""The controller keeps its promises under every fault there is: 10,000 schedules, each from a seed.

A seed that fails prints its plan, its history and the command that replays it. `make simulate` runs more of them.
"""

import os

import pytest

from tests.simulation.judging import all_right
from tests.simulation.workloads import WORKLOADS, a_plan

RUNS = 8_000 if os.environ.get("CI") else 800
SPLIT_BRAIN = 2_000 if os.environ.get("CI") else 200
CHUNKS = 40


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_schedule_keeps_the_invariants_and_comes_to_its_end(chunk: int) -> None:
    size = RUNS // CHUNKS
    all_right(a_plan(seed) for seed in range(1 + chunk * size, 1 + (chunk + 1) * size))


@pytest.mark.parametrize("chunk", range(10))
def test_two_controllers_without_a_lease_do_no_harm(chunk: int) -> None:
    size = SPLIT_BRAIN // 10
    seeds = range(100_001 + chunk * size, 100_001 + (chunk + 1) * size)
    all_right(a_plan(seed, "two") for seed in seeds)


def test_the_workloads_bring_about_what_they_are_for() -> None:
    """A campaign proves nothing where nothing happens: every workload has runs in which much is written."""
    for workload in WORKLOADS:
        most = max(len(result.oracle.writes) for result in all_right(a_plan(seed, workload) for seed in range(1, 13)))
        assert most > 10, workload
