"""Offers the cluster's network to the API server: what it sends to a Service reaches a Pod that is ready.

The API server is told to reach Services through a proxy (its `--egress-selector-config-file`), and this is that proxy.
Like kube-proxy it asks the EndpointSlices, so a Pod that is not ready, or is about to end, gets no new connection.
"""

import random
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import yaml

from tests.support.kubelet_api import Api, Object

Find = Callable[[str, int], int | None]
"""Says at which port of this machine a Pod's address and port are reached."""


class Network:
    """Listens on a socket below `directory`, for as long as the `with` lasts."""

    def __init__(self, directory: Path) -> None:
        self._socket = directory / "network.sock"
        self._configuration = directory / "egress.yaml"
        transport = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(self._socket)}}}
        document = {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": transport}],
        }
        self._configuration.write_text(yaml.safe_dump(document))
        self._server: socketserver.ThreadingUnixStreamServer | None = None
        self.connections = 0
        """How many have been made so far."""

    @property
    def arguments(self) -> list[str]:
        """What the API server has to be told."""
        return [f"--egress-selector-config-file={self._configuration}"]

    def serve(self, api: Api, find: Find) -> Self:
        """Begin to carry connections."""
        network = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                target = self.rfile.readline().split()[1].decode()
                while self.rfile.readline().strip():
                    pass
                network.connections += 1
                port = network._choose(api, find, *target.rsplit(":", 1))
                if port is None:
                    self.wfile.write(b"HTTP/1.1 503 no endpoints available\r\n\r\n")
                    return
                try:
                    pod = socket.create_connection(("127.0.0.1", port), timeout=5)
                except OSError:
                    self.wfile.write(b"HTTP/1.1 502 connection refused\r\n\r\n")
                    return
                with pod:
                    pod.settimeout(None)
                    pod.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    back = threading.Thread(target=pump, args=(pod, self.connection), daemon=True)
                    back.start()
                    pump(self.connection, pod)
                    back.join()

        self._server = socketserver.ThreadingUnixStreamServer(str(self._socket), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()

    def _choose(self, api: Api, find: Find, address: str, port: str) -> int | None:
        targets = list(endpoints(api, address, int(port)))
        random.shuffle(targets)
        found = (find(ip, pod_port) for ip, pod_port in targets)
        return next((each for each in found if each is not None), None)


def endpoints(api: Api, address: str, port: int) -> Iterator[tuple[str, int]]:
    """Yield addresses and ports of the Pods behind a port of the Service of that address, those that are ready."""
    services: list[Object] = api.get("/api/v1/services")["items"]
    for service in services:
        metadata, spec = service["metadata"], service["spec"]
        names = [each.get("name", "") for each in spec["ports"] if each["port"] == port]
        if spec.get("clusterIP") != address or not names:
            continue
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{metadata['namespace']}/endpointslices"
        own = f"?labelSelector=kubernetes.io%2Fservice-name%3D{metadata['name']}"
        for each in api.get(slices + own)["items"]:
            ports = [p["port"] for p in each.get("ports") or () if p.get("name", "") == names[0]]
            ready = [e for e in each.get("endpoints") or () if e["conditions"].get("ready")]
            yield from ((e["addresses"][0], ports[0]) for e in ready if ports)


def pump(source: socket.socket, target: socket.socket) -> None:
    """Carry bytes in one direction until there are no more."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One end is gone: so is the other.
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
