"""The machinery's metrics have the names and labels that dashboards for other controllers ask for."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from controller.runtime.metrics import InformerMetrics, QueueMetrics, RuntimeMetrics, WorkMetrics

NAMES = {
    # k8s.io/component-base/metrics/prometheus/workqueue
    "workqueue_depth": "gauge",
    "workqueue_adds_total": "counter",
    "workqueue_queue_duration_seconds": "histogram",
    "workqueue_work_duration_seconds": "histogram",
    "workqueue_unfinished_work_seconds": "gauge",
    "workqueue_longest_running_processor_seconds": "gauge",
    "workqueue_retries_total": "counter",
    # sigs.k8s.io/controller-runtime/pkg/internal/controller/metrics
    "controller_runtime_reconcile_total": "counter",
    "controller_runtime_reconcile_errors_total": "counter",
    "controller_runtime_reconcile_panics_total": "counter",
    "controller_runtime_reconcile_time_seconds": "histogram",
    "controller_runtime_active_workers": "gauge",
    "controller_runtime_max_concurrent_reconciles": "gauge",
}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.mark.parametrize(("name", "kind"), NAMES.items(), ids=list(NAMES))
def test_each_is_served_under_its_well_known_name_and_type_before_anything_happens(
    registry: CollectorRegistry, name: str, kind: str
) -> None:
    metrics = RuntimeMetrics(registry)
    QueueMetrics(metrics, "jobflow").depth(0)
    WorkMetrics(metrics, "jobflow").workers(1)
    served = generate_latest(registry).decode()
    assert f"# TYPE {name} {kind}\n" in served
    label = "name" if name.startswith("workqueue") else "controller"
    assert any(line.startswith(name) and f'{label}="jobflow"' in line for line in served.splitlines())


def test_a_fault_of_the_program_counts_as_a_panic_and_a_refusal_does_not(registry: CollectorRegistry) -> None:
    work = WorkMetrics(RuntimeMetrics(registry), "jobflow")
    work.failed(unforeseen=False)
    work.failed(unforeseen=True)
    labels = {"controller": "jobflow"}
    assert registry.get_sample_value("controller_runtime_reconcile_errors_total", labels) == 2
    assert registry.get_sample_value("controller_runtime_reconcile_panics_total", labels) == 1
    assert registry.get_sample_value("sync_panics_total", labels) == 1


def test_work_that_goes_on_shows_while_it_does(registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("controller.runtime.metrics.perf_counter", lambda: now[0])
    work = WorkMetrics(RuntimeMetrics(registry), "jobflow")

    def value(name: str) -> float | None:
        return registry.get_sample_value(f"workqueue_{name}_seconds", {"name": "jobflow"})

    with work.working("ml/a"):
        now[0] += 2
        with work.working("ml/b"):
            now[0] += 1
            assert (value("unfinished_work"), value("longest_running_processor")) == (4, 3)
    assert (value("unfinished_work"), value("longest_running_processor")) == (0, 0)


def test_the_lag_of_an_informer_is_told_by_resource(registry: CollectorRegistry) -> None:
    metrics = InformerMetrics(registry)
    metrics.shown("jobs", 0.004)
    metrics.shown("jobs", 2.0)
    count = registry.get_sample_value("jobflow_informer_lag_seconds_count", {"name": "jobs"})
    quick = registry.get_sample_value("jobflow_informer_lag_seconds_bucket", {"name": "jobs", "le": "0.005"})
    assert (count, quick) == (2, 1)
