"""Tests that mutants asked for: each kills one that every other test let pass."""

from typing import Any

import pytest

from shared.rules.answer import answer
from shared.rules.fault import SPEC, invalid
from tests.webhook.reviews import creation, sent
from webhook.admit import Known, judge
from webhook.review import MalformedReviewError


def test_a_review_that_is_right_but_for_its_depth_is_refused() -> None:
    review = creation("get")
    nested: Any = 1
    for _ in range(250):
        nested = [nested]
    review["request"]["object"]["spec"]["flows"][0]["patch"] = {"x": nested}
    with pytest.raises(MalformedReviewError, match="nested"):
        judge(sent(review), "jobflows", Known())


def test_of_a_single_fault_beyond_measure_the_beginning_is_told() -> None:
    told = answer([invalid(SPEC, "x", "the reason " + "é" * 100_000)])
    assert "the reason" in told.causes[0].message
    assert len(told.causes[0].message.encode()) < 2_000
