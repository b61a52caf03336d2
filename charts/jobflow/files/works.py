"""The test of `helm test`: the Deployments are available, and a JobFlow that could never work is refused.

    python works.py NAMESPACE DEPLOYMENT...

The JobFlow is sent as a dry run, so nothing is ever stored.
"""

import asyncio
import json
import sys

from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, Refused
from shared.kube.resources import JOBFLOWS
from shared.kube.transport import Request

EMPTY = {
    "apiVersion": "flow.volcano.sh/v1alpha1",
    "kind": "JobFlow",
    "metadata": {"generateName": "helm-test-"},
    "spec": {"flows": []},
}


async def main(namespace: str, *deployments: str) -> None:
    """Look at each Deployment, then offer the JobFlow."""
    client = await KubeClient.connect("helm-test")
    try:
        for deployment in deployments:
            await is_available(client, namespace, deployment)
        await is_refused(client, namespace)
    finally:
        await client.close()


async def is_available(client: KubeClient, namespace: str, name: str) -> None:
    """End with a message if the Deployment has no replica that is available."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    deployment = json.loads(await client.read("get", JOBFLOWS, Request("GET", path)))
    wanted, available = deployment["spec"]["replicas"], deployment["status"].get("availableReplicas", 0)
    say(f"{name}: {available} of {wanted} replicas are available")
    if available < min(wanted, 1):
        sys.exit(f"{name}: none is available; see kubectl describe deployment {name} -n {namespace}")


async def is_refused(client: KubeClient, namespace: str) -> None:
    """End with a message if the webhook lets the JobFlow in."""
    request = Request("POST", JOBFLOWS.path(namespace), (("dryRun", "All"),), json.dumps(EMPTY).encode())
    try:
        await client.write("create", JOBFLOWS, request, None)
    except Refused as refused:
        if "spec.flows" not in refused.message:
            raise
        say(f"A JobFlow without entries is refused: {refused.message}")
    else:
        sys.exit("A JobFlow without entries was not refused: the API server does not ask the webhook")


def say(line: str) -> None:
    """Tell whoever reads the log of the test's Pod."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except ApiError as error:
        sys.exit(f"the API server says: {error}")
