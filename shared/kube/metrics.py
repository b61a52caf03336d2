"""What the door to the API server counts, under client-go's names where it has one. Labels never name an object."""

from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram

NO_ANSWER: Final = "<error>"
"""The code that client-go counts where no answer came."""


class KubeMetrics:
    """Requests by verb and code, waits that the server asked for, lists, watches, and objects that fit no type."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._host = ""
        self._requests = Counter(
            "rest_client_requests",
            "Requests to the API server, by HTTP method, the answer's code and the server.",
            ("code", "method", "host"),
            registry=registry,
        )
        self._duration = Histogram(
            "rest_client_request_duration_seconds",
            "Time from sending a request to its whole answer, by verb and server; watches aside.",
            ("verb", "host"),
            buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60),
            registry=registry,
        )
        self._sent = Histogram(
            "rest_client_request_size_bytes",
            "Size of the bodies that were sent to the API server, by verb and server.",
            ("verb", "host"),
            buckets=(256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304),
            registry=registry,
        )
        self._held_back = Counter(
            "jobflow_kube_requests_held_back",
            "Requests that were not sent because the API server had asked to wait, by verb and resource.",
            ("verb", "resource"),
            registry=registry,
        )
        self._lists = Counter("reflector_lists", "Lists that were begun, by resource.", ("name",), registry=registry)
        self._watches = Counter(
            "reflector_watches", "Watches that were begun, by resource.", ("name",), registry=registry
        )
        self._failures = Counter(
            "jobflow_informer_failures",
            "Lists and watches that failed, by resource and kind of error; Gone is a place that the server forgot.",
            ("name", "error"),
            registry=registry,
        )
        self._unread = Counter(
            "jobflow_unreadable_objects",
            "Objects and watch events that could not be understood, by resource.",
            ("resource",),
            registry=registry,
        )

    def speaks_to(self, server: str) -> None:
        """From now on requests go to the server of that URL."""
        self._host = urlsplit(server).netloc

    def request(self, method: str, code: str) -> None:
        """A request was sent, and answered with `code`."""
        self._requests.labels(code, method, self._host).inc()

    def duration(self, verb: str, seconds: float) -> None:
        """A request took this long."""
        self._duration.labels(verb, self._host).observe(seconds)

    def sent(self, verb: str, size: int) -> None:
        """A request had a body of so many bytes."""
        self._sent.labels(verb, self._host).observe(size)

    def held_back(self, verb: str, resource: str) -> None:
        """A request was not sent."""
        self._held_back.labels(verb, resource).inc()

    def listing(self, resource: str) -> None:
        """A list begins."""
        self._lists.labels(resource).inc()

    def watching(self, resource: str) -> None:
        """A watch begins."""
        self._watches.labels(resource).inc()

    def failed(self, resource: str, error: Exception) -> None:
        """A list or a watch ended in an error."""
        self._failures.labels(resource, type(error).__name__).inc()

    def unread(self, resource: str) -> None:
        """An object or a line of a watch could not be understood."""
        self._unread.labels(resource).inc()
