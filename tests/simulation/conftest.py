"""Runs are many and short: nothing is logged, and garbage is collected between tests alone."""

import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quick_runs() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()
    gc.collect()
    logging.disable(logging.NOTSET)
