"""What the webhook counts. Labels never hold what a user chose: no name, no namespace."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from webhook.verdict import Verdict

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """The webhook's own metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "jobflow_admission_requests",
            "Admission requests that were answered, by what they were about and whether it was allowed.",
            ("resource", "operation", "allowed"),
            registry=registry,
        )
        self._of_kind: dict[tuple[str, str, bool], tuple[Counter, Histogram]] = {}
        self._denials = Counter(
            "jobflow_admission_denials",
            "Requests that a rule refused; one that breaks several rules counts once for each.",
            ("rule",),
            registry=registry,
        )
        self._duration = Histogram(
            "jobflow_admission_duration_seconds",
            "Seconds from the head of an admission request to its answer.",
            ("resource", "operation"),
            buckets=BUCKETS,
            registry=registry,
        )
        self._http_errors = Counter(
            "jobflow_admission_http_errors",
            "HTTP requests that were answered with no review, by the HTTP status.",
            ("code",),
            registry=registry,
        )
        self._expiry = Gauge(
            "jobflow_certificate_expiry_timestamp_seconds",
            "When the certificate in use expires, in seconds since 1970.",
            registry=registry,
        )
        self._reload_failures = Counter(
            "jobflow_cert_reload_failures",
            "States of the certificate files that could not be served with.",
            registry=registry,
        )
        self._connections = Gauge(
            "jobflow_admission_connections", "Open connections, handshakes included.", registry=registry
        )

    def judged(self, resource: str, operation: str, verdict: Verdict, seconds: float) -> None:
        """A request was answered with a review."""
        kind = (resource, operation, verdict.allowed)
        if kind not in self._of_kind:  # looking a series up takes as long as counting
            self._of_kind[kind] = (
                self._requests.labels(resource, operation, "true" if verdict.allowed else "false"),
                self._duration.labels(resource, operation),
            )
        requests, duration = self._of_kind[kind]
        requests.inc()
        duration.observe(seconds)
        for rule in verdict.rules:
            self._denials.labels(rule).inc()

    def http_error(self, status: int) -> None:
        """A request was answered, or given up, with an HTTP status and no review."""
        self._http_errors.labels(str(status)).inc()

    def certificate_expires(self, timestamp: float) -> None:
        """A certificate came into use."""
        self._expiry.set(timestamp)

    def reload_failed(self) -> None:
        """The certificate files could not be used."""
        self._reload_failures.inc()

    def count_connections(self, count: Callable[[], int]) -> None:
        """Ask `count` whenever somebody looks."""
        self._connections.set_function(count)
