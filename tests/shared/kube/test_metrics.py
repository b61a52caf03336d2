"""What is counted at the door to the API server: by whom, of what kind, and never by an object's name."""

import pytest
from prometheus_client import CollectorRegistry

from shared.kube.errors import Gone, Unavailable
from shared.kube.metrics import KubeMetrics


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.mark.parametrize(
    ("server", "host"),
    [
        pytest.param("https://10.0.0.1:6443", "10.0.0.1:6443", id="with a port"),
        pytest.param("https://kube.example/clusters/a", "kube.example", id="with a path"),
    ],
)
def test_requests_and_their_durations_name_the_server_as_client_go_does(
    registry: CollectorRegistry, server: str, host: str
) -> None:
    metrics = KubeMetrics(registry)
    metrics.speaks_to(server)
    metrics.request("GET", "200")
    metrics.duration("get", 0.01)
    requests = {"code": "200", "method": "GET", "host": host}
    assert registry.get_sample_value("rest_client_requests_total", requests) == 1
    duration = {"verb": "get", "host": host}
    assert registry.get_sample_value("rest_client_request_duration_seconds_count", duration) == 1


def test_lists_watches_and_their_failures_are_counted_by_resource(registry: CollectorRegistry) -> None:
    metrics = KubeMetrics(registry)
    metrics.listing("jobs")
    metrics.watching("jobs")
    metrics.watching("jobs")
    metrics.failed("jobs", Gone("the resource version is too old", status=410))
    metrics.failed("jobs", Unavailable("down", reason="whatever the server said"))
    assert registry.get_sample_value("reflector_lists_total", {"name": "jobs"}) == 1
    assert registry.get_sample_value("reflector_watches_total", {"name": "jobs"}) == 2
    for error in ("Gone", "Unavailable"):
        assert registry.get_sample_value("jobflow_informer_failures_total", {"name": "jobs", "error": error}) == 1
