"""What the tests of certificates share."""

from collections.abc import Iterator

import pytest

from tests.certs.model import World


@pytest.fixture(autouse=True)
def worlds_end() -> Iterator[None]:
    """Let all programs of all worlds end with their test, those that were killed in it as well."""
    yield
    for world in World.made:
        world.end()
    World.made.clear()
