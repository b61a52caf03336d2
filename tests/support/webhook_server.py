"""Offers a validating webhook that does as a test says: a stand-in for somebody else's admission."""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import trustme

Request = dict[str, Any]


class ValidatingWebhook:
    """An HTTPS server on the loopback; `judge` returns why a request is refused, or None.

    `asked` lists the names of all objects that it was asked about, in order.
    """

    def __init__(self, judge: Callable[[Request], str | None]) -> None:
        self.judge = judge
        self.asked: list[str] = []
        self._ca = trustme.CA()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert("127.0.0.1").configure_cert(context)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def configuration(self, name: str, namespace: str, group: str, plural: str) -> dict[str, Any]:
        """Return the registration for the creation of one kind in one namespace, so that it disturbs no other test."""
        rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": [plural], "operations": ["CREATE"]}
        url = f"https://127.0.0.1:{self._http.server_address[1]}/"
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"{plural}.{name}.example",
                    "clientConfig": {"url": url, "caBundle": base64.b64encode(self._ca.cert_pem.bytes()).decode()},
                    "rules": [rule],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                webhook.asked.append(request["name"])
                refusal = webhook.judge(request)
                response: dict[str, Any] = {"uid": request["uid"], "allowed": refusal is None}
                if refusal is not None:
                    response["status"] = {"message": refusal}
                review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
                body = json.dumps(review).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *values: object) -> None:  # noqa: A002
                """Say nothing: pytest's output is for failures."""

        return Handler
