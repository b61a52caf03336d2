"""What the machinery counts: queues under client-go's names, reconcilers under controller-runtime's, informers' lag.

Names and labels are those of `k8s.io/component-base/metrics/prometheus/workqueue` and of controller-runtime's
`pkg/internal/controller/metrics`, so that dashboards made for any controller show this one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_QUEUE_SECONDS: Final = (0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600)
_LAG_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_PASS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class RuntimeMetrics:
    """The metrics of all queues and reconcilers of a program. Make it once for a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        name = ("name",)
        self.depth = Gauge("workqueue_depth", "Keys that wait for a worker.", name, registry=registry)
        self.adds = Counter("workqueue_adds", "Keys that were added.", name, registry=registry)
        self.retries = Counter("workqueue_retries", "Retries after failures.", name, registry=registry)
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Time from a key's being added to its turn.",
            name,
            buckets=_QUEUE_SECONDS,
            registry=registry,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "Time that a key's turn took.",
            name,
            buckets=_QUEUE_SECONDS,
            registry=registry,
        )
        self.unfinished = Gauge(
            "workqueue_unfinished_work_seconds", "Seconds in work of all keys in work.", name, registry=registry
        )
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Seconds in work of the key that is longest in work.",
            name,
            registry=registry,
        )
        controller = ("controller",)
        self.reconciles = Counter(
            "controller_runtime_reconcile", "Passes, by result.", ("controller", "result"), registry=registry
        )
        self.errors = Counter(
            "controller_runtime_reconcile_errors", "Passes that failed.", controller, registry=registry
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics",
            "Passes that failed in a way that nobody foresaw: each is a fault of the program.",
            controller,
            registry=registry,
        )
        self.crashes = Counter(
            "sync_panics", "The same as controller_runtime_reconcile_panics_total.", controller, registry=registry
        )
        self.seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Time that a pass took.",
            controller,
            buckets=_PASS_SECONDS,
            registry=registry,
        )
        self.active = Gauge(
            "controller_runtime_active_workers", "Workers that work on a key.", controller, registry=registry
        )
        self.workers = Gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers that there are.", controller, registry=registry
        )


class InformerMetrics:
    """How far informers are behind the API server. Make it once for a registry.

    The one thing that can be measured without trusting anybody's clock is how long the answer to our own write was
    known before the watch brought it. A watch that was faster than the answer counts for nothing.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lag = Histogram(
            "jobflow_informer_lag_seconds",
            "Time from the API server's answer to a write of ours, to the watch's showing it, by resource.",
            ("name",),
            buckets=_LAG_SECONDS,
            registry=registry,
        )

    def shown(self, resource: str, seconds: float) -> None:
        """The cache shows what was answered to us so many seconds ago."""
        self._lag.labels(resource).observe(seconds)


class QueueMetrics:
    """One queue's part."""

    def __init__(self, metrics: RuntimeMetrics, name: str) -> None:
        self._depth = metrics.depth.labels(name)
        self._adds = metrics.adds.labels(name)
        self._retries = metrics.retries.labels(name)
        self._waited = metrics.waited.labels(name)

    def depth(self, keys: int) -> None:
        """So many keys wait now."""
        self._depth.set(keys)

    def added(self) -> None:
        """A key was added that did not wait yet."""
        self._adds.inc()

    def retried(self) -> None:
        """A key waits to be tried again."""
        self._retries.inc()

    def got(self, waited: float) -> None:
        """A key has its turn, after `waited` seconds."""
        self._waited.observe(waited)


class WorkMetrics:
    """One reconciler's part."""

    def __init__(self, metrics: RuntimeMetrics, name: str) -> None:
        self._began: dict[object, float] = {}
        self._worked = metrics.worked.labels(name)
        self._seconds = metrics.seconds.labels(name)
        self._active = metrics.active.labels(name)
        self._results = {
            result: metrics.reconciles.labels(name, result) for result in ("success", "requeue_after", "error")
        }
        self._errors = metrics.errors.labels(name)
        self._panics = (metrics.panics.labels(name), metrics.crashes.labels(name))
        self._workers = metrics.workers.labels(name)
        metrics.unfinished.labels(name).set_function(lambda: sum(self._running()))
        metrics.longest.labels(name).set_function(self.longest)

    def workers(self, number: int) -> None:
        """There are so many workers."""
        self._workers.set(number)

    @contextmanager
    def working(self, key: object) -> Iterator[None]:
        """Around a pass."""
        began = self._began[key] = perf_counter()
        self._active.inc()
        try:
            yield
        finally:
            del self._began[key]
            self._active.dec()
            took = perf_counter() - began
            self._worked.observe(took)
            self._seconds.observe(took)

    def ended(self, result: str) -> None:
        """A pass ended with `success`, or asked to be run again with `requeue_after`."""
        self._results[result].inc()

    def failed(self, *, unforeseen: bool) -> None:
        """A pass raised."""
        self._results["error"].inc()
        self._errors.inc()
        if unforeseen:
            for panics in self._panics:
                panics.inc()

    def longest(self) -> float:
        """Seconds that the longest pass has taken so far, 0 if none runs."""
        return max(self._running(), default=0.0)

    def _running(self) -> list[float]:
        now = perf_counter()
        return [now - began for began in self._began.values()]
