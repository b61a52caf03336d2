"""Offers the API server to a program that plays a part of the cluster: plain JSON in, plain JSON out."""

import http.client
import json
import ssl
import threading
from typing import Any, Self

from tests.support.kube_apiserver import KubeApiserver

Object = dict[str, Any]


class Refusal(Exception):
    """The API server did not do it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Requests as cluster-admin, or as whose token it is; each thread has a connection of its own."""

    def __init__(self, server: KubeApiserver, token: str = "") -> None:
        self._host = server.url.removeprefix("https://")
        self._context = ssl.create_default_context(cafile=str(server.ca_file))
        self._headers = {"Authorization": f"Bearer {token or server.token}", "User-Agent": "kubelet-player"}
        self._own = threading.local()
        self._opened: list[http.client.HTTPSConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        for connection in self._opened:
            connection.close()

    def get(self, path: str) -> Object:
        """Read. Raises Refusal, with 404 for what is not there."""
        return self("GET", path)

    def find(self, path: str) -> Object | None:
        """Read; None for what is not there."""
        try:
            return self.get(path)
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise

    def __call__(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        """Send one request. Raises Refusal."""
        try:
            return self._send(method, path, body, kind)
        except (http.client.HTTPException, ConnectionError, ssl.SSLError):
            # The API server has closed the connection, or was restarted. The parts that are played may ask twice.
            self._own.connection.close()
            return self._send(method, path, body, kind)

    def _send(self, method: str, path: str, body: Object | None, kind: str) -> Object:
        connection: http.client.HTTPSConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=20)
            self._own.connection = connection
            self._opened.append(connection)
        headers = {**self._headers, "Content-Type": kind} if body is not None else self._headers
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        said: Object = json.loads(answer.read() or b"{}")
        if answer.status >= 400:
            raise Refusal(answer.status, str(said.get("message")))
        return said
