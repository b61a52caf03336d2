"""What whoever runs the webhook can set. Each field is a flag and an environment variable."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from shared.api.names import DEFAULT_MAX_FLOWS
from shared.ops.addresses import Address
from shared.ops.settings import (
    Duration,
    ExistingFile,
    ListenAddress,
    Metavar,
    NotNegative,
    Port,
    Positive,
    Settings,
)


class WebhookSettings(Settings):
    """Refuse JobFlows that could never finish and deletions that would lose work.

    The webhook answers the API server, which asks it over HTTPS before it stores or deletes a JobFlow or a JobTemplate
    (POST /validate/jobflows and /validate/jobtemplates, AdmissionReview v1).

    `jobflow-webhook check FILE...` judges files by the same rules, without any cluster.
    """

    kubeconfig: ExistingFile | None = None
    """The kubeconfig file of the cluster. Without it: $KUBECONFIG, the pod's service account, or ~/.kube/config."""

    master: Annotated[str, Metavar("URL")] = ""
    """The API server's address, instead of the one in the kubeconfig."""

    kube_api_qps: NotNegative = 0
    """Requests a second to the API server at most, on average; 0 for no limit."""

    kube_api_burst: Positive = 100
    """Requests to the API server at once, where --kube-api-qps sets a limit."""

    bind_address: Annotated[str, Metavar("HOST")] = ""
    """The address to serve admission reviews at; nothing stands for every interface."""

    port: Port = 8443
    """The port to serve admission reviews at, with TLS."""

    tls_cert_file: ExistingFile
    """The server's certificate in PEM, followed by those between it and its CA. Read again whenever it changes."""

    tls_private_key_file: ExistingFile
    """The key of that certificate, in PEM. Read again whenever it changes."""

    client_ca_file: ExistingFile | None = None
    """CA certificates in PEM. With this, clients must have a certificate of one of them, as an API server has that is
    told so in its admission configuration. Read again whenever it changes."""

    client_allowed_names: Annotated[str, Metavar("NAMES")] = ""
    """Which clients are served, separated by commas: common or DNS names of their certificates. Nothing stands for all
    that --client-ca-file lets in."""

    healthz_address: ListenAddress = Address("", 11251)
    """Where to serve /healthz and /readyz, without TLS."""

    metrics_address: ListenAddress = Address("", 8080)
    """Where to serve /metrics, without TLS; may be the same as --healthz-address."""

    shutdown_delay: Duration = 10.0
    """How long to go on serving after SIGTERM, until everybody knows that this replica is leaving."""

    shutdown_grace: Duration = 10.0
    """How long requests in work may take after that."""

    max_flows: Annotated[int, Field(ge=1, le=10_000), Metavar("N")] = DEFAULT_MAX_FLOWS
    """Entries that a JobFlow may have."""

    @property
    def clients(self) -> frozenset[str]:
        """The names in `client_allowed_names`."""
        return frozenset(name.strip() for name in self.client_allowed_names.split(",") if name.strip())

    @model_validator(mode="after")
    def names_need_a_ca(self) -> Self:
        """Names that nobody vouches for say nothing."""
        if self.client_allowed_names and not self.client_ca_file:
            raise ValueError("--client-allowed-names needs --client-ca-file")
        return self
