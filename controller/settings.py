"""What can be set about the controller."""

from shared.ops.addresses import Address
from shared.ops.settings import Duration, ExistingFile, ListenAddress, NotNegative, Positive, Settings


class ControllerSettings(Settings):
    """Run JobFlows: create each Job once those that it depends on have completed, keep status true, clean up.

    In a pod no flag is needed. Elsewhere --kubeconfig says which cluster.
    """

    kubeconfig: ExistingFile | None = None
    """Kubeconfig file of the cluster. Without it: the one that KUBECONFIG names, else the pod's service account, else
    ~/.kube/config."""

    master: str = ""
    """URL of the API server, in place of the one that the kubeconfig names."""

    kube_api_qps: NotNegative = 0
    """Requests a second that may be sent to the API server on average; 0 leaves the limit to the API server, whose
    requests to wait are always heeded."""

    kube_api_burst: Positive = 100
    """Requests that may be sent at once where --kube-api-qps sets a limit."""

    kube_api_proxy_from_env: bool = False
    """Reach the API server through the proxy that HTTPS_PROXY and NO_PROXY say. A proxy-url in the kubeconfig is
    heeded without this."""

    healthz_address: ListenAddress = Address("", 11251)
    """Where /healthz (the process is well) and /readyz (it knows the cluster's state) are served over plain HTTP."""

    metrics_address: ListenAddress = Address("", 8081)
    """Where /metrics is served for Prometheus over plain HTTP. It may be the same address as --healthz-address."""

    workers: Positive = 1
    """JobFlows that are worked on at the same time. One is enough for most clusters: it waits for little but writes,
    and those of one JobFlow go out side by side."""

    concurrent_writes: Positive = 32
    """Creates, status writes and deletes that may be in flight at the same time, all JobFlows together."""

    resync_period: Duration = 600
    """How often every JobFlow and JobTemplate is looked at again though nothing has changed; 0s for never."""
