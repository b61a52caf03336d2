"""What the tests of the way to the API server share."""

import pytest

from tests.shared.kube.fake_api import FakeApi


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()
