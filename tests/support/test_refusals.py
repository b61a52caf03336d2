"""The document of refusals."""

import re

import pytest

from shared.rules.jobflow import ON_CREATE
from shared.rules.jobflow_update import ON_UPDATE
from shared.rules.jobtemplate import ON_JOBTEMPLATE
from tests.support.refusals import FILE, made


def test_it_has_every_rule_in_their_order() -> None:
    rules = [rule.id for rule in (*ON_CREATE, *ON_JOBTEMPLATE, *ON_UPDATE)]
    assert re.findall(r"### `(.*)`", FILE.read_text()) == [*rules, "not-while-unfinished", "not-while-in-use"]


@pytest.mark.real
@pytest.mark.timeout(300)
def test_it_shows_what_kubectl_prints() -> None:
    assert FILE.read_text() == made()
