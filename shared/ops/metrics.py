"""Where a program's metrics are kept: one registry per program, with the figures of the process itself."""

import platform
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from shared import __version__

BUILD: Final = "jobflow_build_info"


def new_registry() -> CollectorRegistry:
    """A registry that has the process's memory, CPU and open files, the garbage collector, and the version.

    Programs keep registries of their own instead of the global one, so that two can live in one process (in tests)
    and nothing is counted that they did not ask for.
    """
    # Without this every counter brings a second series that says when it was made, and nobody asks.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    build = Gauge(BUILD, "Always 1; the labels say what runs.", ("version", "python"), registry=registry)
    build.labels(__version__, platform.python_version()).set(1)
    return registry
