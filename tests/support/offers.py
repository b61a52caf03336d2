"""Offers objects to a real API server, as a dry run, and tells what it says."""

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Self

from tests.support.kube_apiserver import KubeApiserver

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"


class Offers:
    """A connection for each thread; nothing that is offered is stored."""

    def __init__(self, server: KubeApiserver) -> None:
        self._host = server.url.removeprefix("https://")
        self._context = ssl.create_default_context(cafile=str(server.ca_file))
        self._headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        self._own = threading.local()
        self._opened: list[http.client.HTTPSConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        for connection in self._opened:
            connection.close()

    def refusal(self, path: str, built: Mapping[str, Any]) -> dict[str, Any]:
        """The `Status` with which the object is refused, empty where it is taken."""
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=60)
            self._own.connection = connection
            self._opened.append(connection)
        try:
            return self._ask(connection, path, built)
        except (OSError, http.client.HTTPException):  # the server ends a connection when it likes
            connection.close()
            return self._ask(connection, path, built)

    def _ask(self, connection: http.client.HTTPSConnection, path: str, built: Mapping[str, Any]) -> dict[str, Any]:
        connection.request("POST", f"{path}?dryRun=All&fieldValidation=Ignore", json.dumps(built), self._headers)
        answer = connection.getresponse()
        body: dict[str, Any] = json.loads(answer.read())
        return body if answer.status >= 400 else {}

    def job(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """What is said of the spec as a Volcano Job's."""
        named = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "t"}}
        return self.refusal(JOBS, {**named, "spec": spec})

    def template(self, template: Mapping[str, Any]) -> dict[str, Any]:
        """What is said of a pod template, which is what Volcano's webhook has judged, with the code of Kubernetes."""
        built = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": template}
        return self.refusal(TEMPLATES, built)

    def pod(self, template: Mapping[str, Any]) -> dict[str, Any]:
        """What is said of a Pod made of a template."""
        metadata = {**(template.get("metadata") or {}), "name": "t", "namespace": "default"}
        return self.refusal(PODS, {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata})
