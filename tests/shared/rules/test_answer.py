"""However much is wrong, what the user reads is short, in order, and always the same."""

import json
import time

import pytest

from shared.rules.answer import answer
from shared.rules.fault import SPEC, Fault, invalid, not_found
from shared.rules.jobflow import faults_on_create
from tests.support.builders import a_jobflow


def refusal(jobflow):
    return answer(faults_on_create(jobflow, max_flows=1000, size=1000))


def all_bytes(told):
    """The answer as JSON: every cause, and the line once more."""
    causes = [{"reason": each.reason, "message": each.message, "field": str(each.field)} for each in told.causes]
    return len(json.dumps({"causes": causes, "message": told.line}, ensure_ascii=False).encode())


def test_nothing_wrong_is_nothing_to_tell():
    assert (answer([]).causes, answer([]).line) == ((), "")


def test_one_fault_is_told_plainly():
    told = refusal(a_jobflow("a", "a"))
    assert [str(cause) for cause in told.causes] == ['spec.flows[1].name: Duplicate value: "a"']
    assert told.line == 'spec.flows[1].name: Duplicate value: "a"'


def test_several_faults_are_joined_as_kubernetes_joins_them():
    told = refusal(a_jobflow("a", "a", "a"))
    assert told.line == '[spec.flows[1].name: Duplicate value: "a", spec.flows[2].name: Duplicate value: "a"]'


@pytest.mark.parametrize(("count", "listed", "last"), [
    (20, 20, 'spec.flows[20].name: Duplicate value: "a"'),
    (21, 20, "spec: and 1 more fault"),
    (500, 20, "spec: and 480 more faults"),
])  # fmt: skip
def test_twenty_faults_are_listed_and_the_others_counted(count, listed, last):
    told = refusal(a_jobflow(*["a"] * (count + 1)))
    assert len(told.causes) == listed + (count > listed)
    assert str(told.causes[-1]) == last


def test_what_the_line_has_no_room_for_is_counted_too():
    told = refusal(a_jobflow(*["a"] * 501))
    shown = told.line.count("Duplicate value")
    assert 0 < shown <= 20
    assert told.line.endswith(f", and {500 - shown} more faults]")


@pytest.mark.parametrize("jobflow", [
    pytest.param(a_jobflow(*[f"{i}-{'x' * 57}" for i in range(1000)]), id="names that are too long"),
    pytest.param(a_jobflow(*[f'"{i}"{"ü" * 200}: \x1b{i}' for i in range(1000)]), id="names full of what is escaped"),
    pytest.param(a_jobflow(*[f"{'é' * 99}{i}: {'é' * 99}{(i + 1) % 1000}" for i in range(1000)]), id="a loop of such"),
    pytest.param(a_jobflow(*[f"{'a' * 250}{i}: {'a' * 250}{i ^ 1}" for i in range(1000)]), id="500 loops"),
    pytest.param(a_jobflow(*[f"step-{i}: step{i}" for i in range(1000)]), id="near misses"),
])  # fmt: skip
def test_the_answer_stays_under_8_kib(jobflow):
    told = refusal(jobflow)
    assert all_bytes(told) < 7_600  # the rest is for the frame around it
    assert len(told.causes) >= 2
    assert told.causes[-1].message.endswith("more faults")


def test_a_single_fault_beyond_measure_is_cut():
    told = answer([invalid(SPEC, "x", "é" * 100_000)])
    assert all_bytes(told) < 7_600
    assert len(told.causes) == 1


def test_what_was_probably_meant_is_offered():
    assert str(refusal(a_jobflow("prep", "train: prepp")).causes[0]) == (
        'spec.flows[1].dependsOn.targets[0]: Not found: "prepp": names no entry of spec.flows; did you mean "prep"?'
    )


def test_what_resembles_nothing_is_offered_nothing():
    assert "did you mean" not in refusal(a_jobflow("prep", "train: zz")).line


def test_near_misses_are_looked_for_only_where_they_are_told():
    class Counted(dict):
        looked = 0

        def __iter__(self):
            Counted.looked += 1
            return super().__iter__()

    names = [Counted({f"name-{i}": None}) for i in range(500)]
    answer([not_found(SPEC / "flows" / i, f"nam-{i}", among=names[i]) for i in range(500)])
    assert 1 <= Counted.looked <= 20


def test_a_thousand_near_misses_take_no_time():
    jobflow = a_jobflow(*[f"preprocess-part-{i}: prepprocess-part-{i}" for i in range(1000)])
    faults = faults_on_create(jobflow, max_flows=1000, size=1000)
    started = time.process_time()
    answer(faults)
    assert time.process_time() - started < 0.25


def test_the_rule_that_was_broken_stays_with_the_cause():
    assert refusal(a_jobflow("prep", "train: prepp")).causes[0].rule == "targets-exist"


def test_the_same_faults_give_the_same_answer():
    faults = [not_found(SPEC, "prepp", among={"prep": None, "prepq": None}), Fault("spec", "FieldValueInvalid", "no")]
    assert answer(faults) == answer(faults)
