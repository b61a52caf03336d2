"""The ValidatingWebhookConfiguration with which an API server asks our webhook, at a URL of this machine.

The chart has its own, with a Service; both say the same about when to ask.
"""

import argparse
import base64
import json
from pathlib import Path

from devcluster.resources import JSON

NAME = "jobflow-webhook"
TIMEOUT_SECONDS = 5

CLEANERS = (
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:kube-controller-manager",
)
"""Who cleans up the cluster: they are never held up, not even by a webhook that is down."""

MATCH_CONDITIONS = (
    (
        "not-cleaning-up",
        f"!(request.operation == 'DELETE' && request.userInfo.username in [{', '.join(repr(c) for c in CLEANERS)}])",
    ),
    (
        "spec-changes",
        "request.operation != 'UPDATE' || !has(oldObject.spec) || !has(object.spec) || object.spec != oldObject.spec",
    ),
)


def webhook_configuration(url: str, ca_bundle: bytes) -> JSON:
    """Return the registration of the webhook that answers below `url`, trusted by `ca_bundle` (PEM)."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [_webhook(plural, url, ca_bundle) for plural in ("jobflows", "jobtemplates")],
    }


def _webhook(plural: str, url: str, ca_bundle: bytes) -> JSON:
    return {
        "name": f"{plural}.flow.volcano.sh",
        "clientConfig": {
            "url": f"{url.rstrip('/')}/validate/{plural}",
            "caBundle": base64.b64encode(ca_bundle).decode(),
        },
        "rules": [
            {
                "apiGroups": ["flow.volcano.sh"],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": [plural],
                "scope": "Namespaced",
            }
        ],
        "matchConditions": [{"name": name, "expression": expression} for name, expression in MATCH_CONDITIONS],
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }


def main() -> None:
    """Print the registration for `kubectl apply -f -`."""
    parser = argparse.ArgumentParser(
        prog="python -m devcluster.stack.registration",
        description="Print the ValidatingWebhookConfiguration for a webhook that the API server reaches at a URL, "
        "for `kubectl apply -f -`.",
    )
    parser.add_argument("--url", required=True, help="where the webhook serves, for example https://10.0.0.5:8443")
    parser.add_argument("--ca-file", required=True, type=Path, help="the CA of its certificate, in PEM")
    asked = parser.parse_args()
    print(json.dumps(webhook_configuration(asked.url, asked.ca_file.read_bytes()), indent=2))


if __name__ == "__main__":
    main()
