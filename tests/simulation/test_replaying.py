"""A seed stands for one history, here and in every other process."""

import os
import subprocess
import sys

import pytest

from tests.simulation.run import run
from tests.simulation.workloads import WORKLOADS, a_plan


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_seed_replays_to_the_identical_history(workload: str) -> None:
    for seed in (3, 4):
        plan = a_plan(seed, workload)
        assert plan == a_plan(seed, workload)
        assert run(plan).history.digest() == run(plan).history.digest()


def test_other_seeds_have_other_histories() -> None:
    assert len({run(a_plan(seed, "plain")).history.digest() for seed in range(1, 9)}) == 8


@pytest.mark.parametrize("workload", ["mixed", "leaders"])
def test_a_seed_replays_to_the_identical_history_in_another_process(workload: str) -> None:
    told = []
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--workload", workload, "--seed", "5", "--replay"]
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told.append(subprocess.run(command, capture_output=True, text=True, env=environ, check=True).stdout)
    assert told[0] == told[1]
    assert f"history {run(a_plan(5, workload)).history.digest()}" in told[0]
