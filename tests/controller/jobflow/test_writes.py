from itertools import pairwise

import pytest

from controller.jobflow.writes import BYTES_PER_SECOND, SHORTEST_PAUSE, pause_after, retry_after

SIZES = [0, 1_000, 10_000, 100_000, 250_000, 500_000, 750_000, 1_000_000, 1_400_000]


def test_a_small_jobflow_is_written_twice_a_second_at_most() -> None:
    assert pause_after(5_000) == SHORTEST_PAUSE


@pytest.mark.parametrize("size", SIZES)
def test_the_writes_of_one_jobflow_never_cost_more_than_their_share(size: int) -> None:
    assert pause_after(size) >= size / BYTES_PER_SECOND


@pytest.mark.parametrize("size", [size for size in SIZES if size <= 750_000])
@pytest.mark.parametrize("took", [0.0, 0.2, 0.5])
def test_up_to_750_kilobytes_the_status_is_never_older_than_three_seconds(size: int, took: float) -> None:
    assert pause_after(size, took) + took <= 3.0


def test_a_larger_object_waits_no_less() -> None:
    assert all(pause_after(smaller) <= pause_after(larger) for smaller, larger in pairwise(SIZES))


def test_a_slow_api_server_is_asked_less_often_but_the_status_is_never_older_than_three_seconds_for_that() -> None:
    assert pause_after(5_000, took=0.005) == SHORTEST_PAUSE
    assert pause_after(5_000, took=0.05) == pytest.approx(1.0)
    assert pause_after(5_000, took=5.0) <= 3.0


def test_refusals_are_tried_again_after_a_second_at_first_and_twenty_in_the_end() -> None:
    pauses = [retry_after(attempts) for attempts in range(1, 40)]
    assert pauses[0] == 1.0
    assert pauses[-1] == 20.0
    assert all(earlier <= later <= 2 * earlier for earlier, later in pairwise(pauses))
