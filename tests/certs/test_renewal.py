"""When certificates are kept, and when they are issued anew."""

from datetime import UTC, datetime, timedelta

import pytest

from certs.issue import ServerNames, issue_ca, issue_server
from certs.renewal import Issue, decide
from tests.certs.test_issue import new_key

ISSUED = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
NAMES = ServerNames(("localhost",))
CA = issue_ca(new_key(), serial=1, now=ISSUED)
OTHER_CA = issue_ca(new_key(), serial=1, now=ISSUED)
SERVER = issue_server(new_key(), ca=CA, names=NAMES, serial=2, now=ISSUED)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        pytest.param(timedelta(minutes=1), Issue.NOTHING, id="fresh ones are kept"),
        pytest.param(timedelta(days=59), Issue.NOTHING, id="before two thirds of 90 days it is kept"),
        pytest.param(timedelta(days=60, minutes=10), Issue.SERVER, id="after two thirds it is renewed"),
        pytest.param(timedelta(days=500), Issue.SERVER, id="an expired one is renewed, by the same CA"),
        pytest.param(timedelta(days=1218), Issue.ALL, id="after two thirds of five years so is the CA"),
        pytest.param(
            timedelta(days=-1), Issue.ALL, id="one that is not valid yet, for the clock was wrong, is replaced"
        ),
    ],
)
def test_certificates_are_renewed_after_two_thirds_of_their_life(age: timedelta, expected: Issue) -> None:
    assert decide(CA, SERVER, NAMES, ISSUED + age).issue is expected


def test_where_nothing_is_all_is_issued() -> None:
    assert decide(None, None, NAMES, ISSUED).issue is Issue.ALL


def test_a_ca_without_a_server_certificate_signs_one() -> None:
    assert decide(CA, None, NAMES, ISSUED).issue is Issue.SERVER


def test_a_server_certificate_of_another_ca_is_replaced() -> None:
    assert decide(OTHER_CA, SERVER, NAMES, ISSUED).issue is Issue.SERVER


def test_other_names_need_another_certificate() -> None:
    assert decide(CA, SERVER, ServerNames(("localhost", "webhook")), ISSUED).issue is Issue.SERVER


def test_the_order_of_names_means_nothing() -> None:
    both, turned = ServerNames(("a", "b")), ServerNames(("b", "a"))
    server = issue_server(new_key(), ca=CA, names=both, serial=2, now=ISSUED)
    assert decide(CA, server, turned, ISSUED).issue is Issue.NOTHING
