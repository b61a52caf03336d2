"""Count what becomes of JobFlows: Volcano's two counters, JobFlows by phase, and how fast successors are created.

No label holds what a user chose, but for the namespaces of Volcano's counters, and those are bounded.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily, UnknownMetricFamily
from prometheus_client.registry import Collector

from controller.jobflow import explain
from shared.api.jobflow import FINISHED, JobFlow, Phase

MOST_NAMESPACES: Final = 500
"""Namespaces that have a series of their own; whoever makes ten thousand must not fill everybody's Prometheus."""

OTHER_NAMESPACES: Final = "_others"
"""All namespaces after those; no namespace can have that name."""

OBSTACLES: Final = (
    explain.SPEC_INVALID,
    explain.NAME_CONFLICT,
    explain.JOB_REFUSED,
    explain.TEMPLATE_NOT_FOUND,
    explain.JOB_SUSPENDED,
)
"""Reasons for which a JobFlow that has not finished waits for a person."""

NEW: Final = "New"
"""Stands for the phase of a JobFlow that nobody has looked at yet."""

UNKNOWN: Final = "Unknown"
"""Stands for any word that is none of ours: somebody wrote it by hand."""

_EDGE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

MOST_WATCHED: Final = 10_000
"""JobFlows whose completions are remembered at the same time. Each is forgotten with its next pass."""


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
            counts = self._counts[after]
            known = namespace in counts or len(counts) < MOST_NAMESPACES
            counts[namespace if known else OTHER_NAMESPACES] += 1

    def collect(self) -> Iterator[Metric]:
        """Both counters as they stand."""
        for phase, counts in self._counts.items():
            name = f"volcano_jobflow_{phase.lower()}_phase_count"
            family = UnknownMetricFamily(name, f"JobFlows that came to {phase}.", labels=["jobflow_namespace"])
            for namespace, count in counts.items():
                family.add_metric([namespace], count)
            yield family


class JobFlowGauges(Collector):
    """How many JobFlows there are in which phase, and how many are held up by what; counted when somebody asks."""

    def __init__(self, registry: CollectorRegistry, jobflows: Iterable[JobFlow]) -> None:
        self._jobflows = jobflows
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Both as the cache has them now."""
        phases = dict.fromkeys([NEW, *map(str, Phase), UNKNOWN], 0)
        reasons = dict.fromkeys([*OBSTACLES, UNKNOWN], 0)
        for jobflow in self._jobflows:
            phase, reason = jobflow.phase, jobflow.status.state.reason
            phases[(phase if phase in phases else UNKNOWN) if phase else NEW] += 1
            if reason and phase not in FINISHED:
                reasons[reason if reason in reasons else UNKNOWN] += 1
        by_phase = GaugeMetricFamily("jobflow_jobflows", "JobFlows that there are, by phase.", labels=["phase"])
        for phase, count in phases.items():
            by_phase.add_metric([phase], count)
        yield by_phase
        held_up = GaugeMetricFamily(
            "jobflow_jobflows_held_up", "Unfinished JobFlows that wait for a person, by reason.", labels=["reason"]
        )
        for reason, count in reasons.items():
            held_up.add_metric([reason], count)
        yield held_up


class EdgeTimes:
    """Times from the completion of the last dependency to the creation of its successor, as this process sees both.

    Only what waits for nothing but this controller is measured: what a whole pass could not start waits for something
    else (another Job, a template, a queue), and its time would say nothing of the controller. Jobs are named by name,
    JobFlows by uid, moments are on one monotonic clock.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "jobflow_edge_duration_seconds",
            "Time from seeing an entry's last dependency Completed, to the answer that its Job is created.",
            buckets=_EDGE_SECONDS,
            registry=registry,
        )
        self._completed: OrderedDict[str, dict[str, float]] = OrderedDict()

    def completed(self, jobflow: str, job: str, at: float) -> None:
        """A Job was seen to become Completed. One that was Completed when it was first seen is none of these."""
        self._completed.setdefault(jobflow, {})[job] = at
        if len(self._completed) > MOST_WATCHED:
            self._completed.popitem(last=False)

    def created(self, jobflow: str, targets: Iterable[str], at: float) -> None:
        """The creation of a Job was answered, whose entry waited for the Jobs `targets`."""
        seen = self._completed.get(jobflow)
        if seen and (moments := [seen[target] for target in targets if target in seen]):
            self._seconds.observe(max(0.0, at - max(moments)))

    def passed(self, jobflow: str, began: float) -> None:
        """A pass has tried all that could be started when it began: what completed before that is dealt with."""
        seen = self._completed.get(jobflow)
        if seen is None:
            return
        left = {job: at for job, at in seen.items() if at > began}
        if left:
            self._completed[jobflow] = left
        else:
            del self._completed[jobflow]
