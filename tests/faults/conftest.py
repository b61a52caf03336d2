"""The fault tests take long, for processes wait in earnest: `make faults` runs them, `make test` only their judge."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_judging.py":
            item.add_marker(pytest.mark.campaign)
