"""What can be set about the controller."""

from typing import Annotated, Final, Self

from pydantic import model_validator

from shared.flow.names import is_label
from shared.ops.addresses import Address
from shared.ops.settings import Duration, ExistingFile, ListenAddress, Metavar, NotNegative, Positive, Settings

A_WRITE: Final = 5.0
"""Seconds that a write may be on its way: `shared.kube.client.TIMEOUT`, which takes long to import."""


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

    namespaces: Annotated[str, Metavar("NAMES")] = ""
    """Namespaces whose JobFlows are run, separated by commas; nothing stands for all. A second controller, for others,
    needs a Lease of its own: --leader-elect-resource-name."""

    workers: Positive = 16
    """JobFlows that are worked on at the same time, each by one worker: while one waits for the API server, others go
    on. More does not make an API server faster that has enough to do."""

    concurrent_writes: Positive = 32
    """Creates, status writes and deletes that may be in flight at the same time, all JobFlows together."""

    resync_period: Duration = 600
    """How often every JobFlow and JobTemplate is looked at again though nothing has changed; 0s for never."""

    leader_elect: bool = True
    """Work only while this replica holds a Lease, so that of several one works and the others stand by. Without it
    two controllers would do everything twice."""

    leader_elect_lease_duration: Duration = 15
    """How long others wait, once the Lease is not renewed any more, before they claim it: whole seconds, at least 5s
    more than the renew deadline, which is what a request may take."""

    leader_elect_renew_deadline: Duration = 10
    """How long the leader tries to renew the Lease before it ends."""

    leader_elect_retry_period: Duration = 2
    """How often the leader renews the Lease, and how often at least the others look at it."""

    leader_elect_resource_name: str = "jobflow-controller"
    """Name of the Lease."""

    leader_elect_resource_namespace: str = ""
    """Namespace of the Lease. Without it: the pod's own, and outside of a pod kube-system, which every cluster has."""

    @property
    def watched_namespaces(self) -> tuple[str, ...]:
        """The names in `namespaces`, each once; empty for all namespaces."""
        names = (name.strip() for name in self.namespaces.split(","))
        return tuple(dict.fromkeys(name for name in names if name))

    @model_validator(mode="after")
    def _namespaces_are_names(self) -> Self:
        for name in self.watched_namespaces:
            if not is_label(name):
                raise ValueError(f'--namespaces: "{name}" can be no namespace; it is a list such as team-a,team-b')
        return self

    @model_validator(mode="after")
    def _the_lease_outlasts_every_write(self) -> Self:
        if not self.leader_elect:
            return self
        if self.leader_elect_lease_duration != int(self.leader_elect_lease_duration):
            raise ValueError("--leader-elect-lease-duration must be whole seconds")
        if self.leader_elect_lease_duration < self.leader_elect_renew_deadline + A_WRITE:
            raise ValueError(
                f"--leader-elect-lease-duration must be at least {A_WRITE:g}s more than --leader-elect-renew-deadline"
            )
        if not 0 < self.leader_elect_retry_period < self.leader_elect_renew_deadline:
            raise ValueError("--leader-elect-retry-period must be more than 0s and less than the renew deadline")
        return self
