"""What whoever runs the commands for a cluster can set. Each field is a flag and an environment variable."""

from typing import Annotated, Self

from pydantic import BeforeValidator, PlainSerializer, model_validator

from certs.issue import ServerNames
from certs.names import server_names
from shared.ops.settings import Duration, ExistingFile, Metavar, Settings

Name = Annotated[str, Metavar("NAME")]


def _names(value: object) -> object:
    return server_names(value) if isinstance(value, str) else value


class PlaceSettings(Settings):
    """Which cluster, and what the objects in it are called."""

    kubeconfig: ExistingFile | None = None
    """The kubeconfig file of the cluster. Without it: $KUBECONFIG, the pod's service account, or ~/.kube/config."""

    master: Annotated[str, Metavar("URL")] = ""
    """The API server's address, instead of the one in the kubeconfig."""

    namespace: Name
    """The namespace of both Secrets."""

    secret: Name
    """The Secret that the webhook mounts, of type kubernetes.io/tls: its certificate and key, and the CA's
    certificate."""

    ca_secret: Name
    """The Secret of the CA and its key. No pod mounts it."""

    webhook_configuration: Name
    """The ValidatingWebhookConfiguration whose webhooks trust the CA."""

    patience: Duration = 60.0
    """For how long the API server may fail or refuse before the command gives up."""

    @model_validator(mode="after")
    def names_differ(self) -> Self:
        """What the webhook mounts never holds the CA's key."""
        if self.secret == self.ca_secret:
            raise ValueError("--secret and --ca-secret must not be the same")
        return self


class ApplySettings(PlaceSettings):
    """Issue the webhook's certificates where they are missing, renew and replace them where it is time.

    Run it whenever something is installed, and once a day. It does what is to be done in one go and ends; mostly that
    is nothing. A server certificate is valid for 90 days and a CA for five years; each is renewed after two thirds.
    Without a webhook configuration nothing is issued.

    A new CA is published beside the old one; after --bundle-wait the webhook gets a certificate of it; after
    --secret-wait the old one is dropped. No request fails meanwhile. It may be killed at any time, and run twice at
    once.
    """

    dns_name: Annotated[ServerNames, BeforeValidator(_names), PlainSerializer(str), Metavar("NAME,NAME")]
    """By which names the API server reaches the webhook, separated by commas; IP addresses may be among them."""

    bundle_wait: Duration = 60.0
    """How long it may take until every API server knows a bundle that was published."""

    secret_wait: Duration = 180.0
    """How long it may take until every replica of the webhook serves with what was written into its Secret."""


class RemoveSettings(PlaceSettings):
    """Delete the webhook configuration, and then the Secrets that `apply` has made.

    In this order, for what is registered and no longer answered would refuse every JobFlow.
    """
