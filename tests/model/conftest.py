"""Nearly all that an exploration makes is kept: garbage is collected between tests alone."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quick_runs() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    gc.collect()
