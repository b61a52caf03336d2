"""What somebody may have meant."""

import pytest

from shared.rules.near_miss import Lexicon

NAMES = ["prep", "preprocess", "train-model", "train-data", "evaluate"]


@pytest.mark.parametrize(("written", "meant"), [
    ("prepp", "prep"),
    ("pre-process", "preprocess"),
    ("preprocesing", "preprocess"),
    ("train_model", "train-model"),
    ("Train-Model", "train-model"),
    ("evalaute", "evaluate"),
])  # fmt: skip
def test_a_slip_of_the_finger_is_seen(written, meant):
    assert Lexicon(NAMES).nearest(written) == meant


@pytest.mark.parametrize("written", ["", "zz", "deploy", "x" * 10_000, "\n"])
def test_what_resembles_nothing_has_no_near_miss(written):
    assert Lexicon(NAMES).nearest(written) is None


def test_nothing_resembles_what_is_not_there():
    assert Lexicon([]).nearest("prep") is None
