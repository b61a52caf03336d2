"""Offers the webhook as a process of its own, as the fixture `start` starts it, and connections to it."""

import http.client
import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.webhook.reviews import creation, sent
from tests.webhook.serving import authority, trusting
from tests.webhook.test_certificates import chain

BODY = sent(creation("get"))


@dataclass
class Process:
    """A webhook that runs, with no API server behind it."""

    popen: subprocess.Popen[bytes]
    log: Path
    certificates: Path

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def address(self, what: str) -> tuple[str, int] | None:
        for line in self.lines():
            if line.get("what") == what:
                host, _, port = str(line["address"]).rpartition(":")
                return host, int(port)
        return None

    def get(self, path: str, of: str = "healthz") -> tuple[int, str]:
        host, port = self.address(of) or ("", 0)
        try:
            with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def connect(self) -> http.client.HTTPSConnection:
        host, port = self.address("admission") or ("", 0)
        return http.client.HTTPSConnection(host, port, context=trusting(), timeout=10)

    def put_pair(self, *, good: bool = True) -> None:
        leaf = authority().issue_cert("127.0.0.1")
        for name, content in (("tls.key", leaf.private_key_pem.bytes()), ("tls.crt", chain(leaf) if good else b"x")):
            (self.certificates / "new").write_bytes(content)
            os.replace(self.certificates / "new", self.certificates / name)


Start = Callable[..., Process]


def post(connection: http.client.HTTPSConnection, body: bytes = BODY) -> http.client.HTTPResponse:
    connection.request("POST", "/validate/jobflows?timeout=5s", body, {"Content-Type": "application/json"})
    return connection.getresponse()
