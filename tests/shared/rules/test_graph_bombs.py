"""No JobFlow, however it is made, takes more time than its size."""

import sys
import time

import pytest

from shared.rules.answer import answer
from shared.rules.jobflow import faults_on_create, plan_faults
from tests.support.builders import a_jobflow

ALMOST_ANY = 200_000


def layered(count, width):
    """Layers in which each entry depends on all of the layer before: width ** count ways through it."""
    layers = [[f"s{i}-{k}" for k in range(width)] for i in range(count)]
    before = [[], *layers]
    return a_jobflow(*(f"{name}: {' '.join(before[i])}" for i in range(count) for name in layers[i]))


def each_after(before, entries):
    """`entries` entries, each after those whose numbers `before` gives."""
    return a_jobflow(*(f"s{i}: {' '.join(f's{k}' for k in before(i))}" for i in range(entries)))


def cpu_seconds(jobflow, max_flows=1000, times=3):
    """The fastest of some times, and what the user reads."""
    took = []
    for _ in range(times):
        started = time.process_time()
        faults = faults_on_create(jobflow, max_flows=max_flows, size=1000)
        told = answer(faults)
        took.append(time.process_time() - started)
    return min(took), told.line


@pytest.mark.parametrize(("jobflow", "limit"), [
    pytest.param(lambda: layered(10, 10), 0.005, id="10 x 10 layers"),
    pytest.param(lambda: layered(20, 50), 0.1, id="20 x 50 layers, 47,500 dependencies"),
    pytest.param(lambda: layered(26, 2), 0.005, id="26 layers of 2, which Volcano takes 21 s for"),
    pytest.param(lambda: layered(50, 2), 0.005, id="a ladder with 2 ** 50 ways"),
    pytest.param(lambda: each_after(lambda i: range(max(0, i - 100), i), 1000), 0.2,
                 id="1,000 entries with nearly 100,000 dependencies"),
])  # fmt: skip
def test_a_valid_jobflow_is_judged_in(jobflow, limit):
    seconds, line = cpu_seconds(jobflow())
    assert line == ""
    assert seconds < limit


@pytest.mark.parametrize(("jobflow", "limit"), [
    pytest.param(lambda: each_after(lambda i: [i], 1000), 0.1, id="1,000 entries after themselves"),
    pytest.param(lambda: a_jobflow(*["s"] * 1000), 0.1, id="one name 1,000 times"),
    pytest.param(lambda: each_after(lambda i: [i ^ 1], 1000), 0.2, id="500 loops"),
    pytest.param(lambda: each_after(lambda i: {*range(300)} - {i}, 300), 0.5, id="everything after everything"),
    pytest.param(lambda: each_after(lambda i: range(1000, 1100), 1000), 2, id="100,000 unknown targets"),
    pytest.param(lambda: a_jobflow(*["x" * 1_000_000] * 3), 0.1, id="names of a megabyte"),
])  # fmt: skip
def test_what_is_wrong_is_told_in(jobflow, limit):
    cpu_seconds(a_jobflow("a: b", "b: a"))  # networkx is imported once
    seconds, line = cpu_seconds(jobflow())
    assert line != ""
    assert seconds < limit


def steps(jobflow):
    """Lines of Python that judging it takes: work that no other program on the machine adds to."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        faults_on_create(jobflow, max_flows=1000, size=1000)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("jobflow", [
    pytest.param(lambda width: each_after(lambda i: range(max(0, i - width), i), 1000), id="after the ones before"),
    pytest.param(lambda width: each_after(lambda i: range(width) if i >= width else [], 1000), id="after the first"),
    pytest.param(lambda width: layered(1000 // width, width), id="in layers"),
])  # fmt: skip
def test_the_work_grows_with_entries_and_dependencies_alone(jobflow):
    for width in (10, 50, 100):
        built = jobflow(width)
        dependencies = sum(len(flow.targets) for flow in built.flows)
        assert steps(built) < 8 * dependencies + 80 * len(built.flows)
    assert dependencies >= 90_000


def test_far_too_much_is_refused_at_once():
    seconds, line = cpu_seconds(each_after(lambda i: [i - 1], 100_000))
    assert line == "spec.flows: Too many: 100000: must have at most 1000 items"
    assert seconds < 0.01


@pytest.mark.parametrize("jobflow", [
    pytest.param(lambda: each_after(lambda i: [i - 1] if i else [], 100_000), id="a chain of 100,000"),
    pytest.param(lambda: each_after(lambda i: [i + 1] if i < 99_999 else [], 100_000), id="the same, last entry first"),
    pytest.param(lambda: each_after(range, 2000), id="all 1,999,000 dependencies that 2,000 entries can have"),
    pytest.param(lambda: each_after(lambda i: [i % 10] if i > 9 else [], 100_000), id="100,000 with one target each"),
])  # fmt: skip
def test_with_the_limit_raised_it_takes_time_in_proportion(jobflow):
    seconds, line = cpu_seconds(jobflow(), max_flows=ALMOST_ANY, times=1)
    assert "loop" not in line
    assert seconds < 5


def test_a_plan_of_a_large_jobflow_is_judged_in_no_time():
    jobflow = each_after(lambda i: range(max(0, i - 20), i), 5000)
    started = time.process_time()
    assert plan_faults(jobflow) == []
    assert time.process_time() - started < 0.3
