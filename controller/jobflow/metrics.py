"""Count what becomes of JobFlows, under the names that Volcano's dashboards know."""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import UnknownMetricFamily
from prometheus_client.registry import Collector

from shared.api.jobflow import Phase


class PhaseCounters(Protocol):
    """Counts transitions that were stored, each once."""

    def count(self, namespace: str, *, before: str, after: str) -> None:
        """A JobFlow in `namespace` went from one phase to another."""
        ...


class VolcanosCounters(Collector):
    """Volcano's two counters, by namespace.

    They are exported without a type: the client library would end the name of a counter in `_total`, and the name is
    what dashboards ask for.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: dict[str, Counter[str]] = {Phase.SUCCEED: Counter(), Phase.FAILED: Counter()}
        registry.register(self)

    def count(self, namespace: str, *, before: str, after: str) -> None:
        """A JobFlow in `namespace` went from one phase to another."""
        if before != after and after in self._counts:
            self._counts[after][namespace] += 1

    def collect(self) -> Iterator[Metric]:
        """Both counters as they stand."""
        for phase, counts in self._counts.items():
            name = f"volcano_jobflow_{phase.lower()}_phase_count"
            family = UnknownMetricFamily(name, f"JobFlows that came to {phase}.", labels=["jobflow_namespace"])
            for namespace, count in counts.items():
                family.add_metric([namespace], count)
            yield family
