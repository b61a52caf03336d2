"""What holds for all tests: how many cases Hypothesis makes, and when the binaries of the real API server are built.

`CI=1` picks more cases, and the same ones every time; `--hypothesis-profile` picks by hand. A failure prints what
makes it come again.
"""

import asyncio
import os
import signal
from contextlib import suppress

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import HealthCheck, settings

from tests.support.binaries import NotAvailableError, ensure_binaries
from tests.support.helm import ensure_helm

# No deadlines: what is slow is measured in tests/bench, and this machine may be busy.
settings.register_profile("dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), max_examples=400, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_sessionstart() -> None:
    """Say that there is no event loop outside of tests: looptime asks for it, and the asking would make one."""
    asyncio.set_event_loop(None)


def pytest_configure() -> None:
    # Asked to end, pytest ends as with Control-C: the servers that tests have started must not outlive it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what shares a cluster in one process: pytest-xdist 3.8 writes the group where pytest 9.2 does not look."""
    if not config.getoption("loadgroup", False):
        return
    for item in items:
        if mark := item.get_closest_marker("xdist_group"):
            item._id = coerce_node_id(f"{item.nodeid}@{mark.kwargs.get('name') or mark.args[0]}")


def pytest_collection_finish(session: pytest.Session) -> None:
    # The binaries are built before the first test that needs them, if only kubectl, while no test's time limit runs.
    needed = any(item.get_closest_marker(marker) for item in session.items for marker in ("real", "integration"))
    if session.config.option.collectonly or not needed:
        return
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    # What cannot be built is said by the fixtures: they skip their tests, or fail them in CI.
    report = terminal.write_line if terminal else lambda line: None
    with suppress(NotAvailableError):
        ensure_binaries(report)
        ensure_helm(report)
