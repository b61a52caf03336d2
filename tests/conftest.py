"""Builds what the tests marked `real` need, before the first of them, while no test's time limit runs."""

from contextlib import suppress

import pytest

from tests.support.binaries import NotAvailableError, ensure_binaries


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly or not any(item.get_closest_marker("real") for item in session.items):
        return
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    # What cannot be built is said by the fixtures: they skip their tests, or fail them in CI.
    with suppress(NotAvailableError):
        ensure_binaries(report=terminal.write_line if terminal else lambda line: None)
