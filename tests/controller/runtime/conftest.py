"""What the tests of the machinery share."""

import pytest

from tests.shared.kube.fake_api import FakeApi


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()
