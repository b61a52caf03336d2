"""After failures it waits longer each time, and never in step with others."""

from random import Random

from shared.kube.backoff import Backoff


def test_pauses_double_to_a_bound_with_chance_and_start_anew_after_quiet_minutes() -> None:
    backoff = Backoff(Random(1))
    pauses = [backoff.after_failure(now=0) for _ in range(9)]
    bounds = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]
    assert all(bound / 2 <= pause <= bound for pause, bound in zip(pauses, bounds, strict=True))
    assert len(set(pauses)) == 9
    assert backoff.after_failure(now=100) > 10
    assert backoff.after_failure(now=100 + 120 + 31) <= 0.8
