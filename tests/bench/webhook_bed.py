"""Offers the ground that the webhook's benchmarks stand on: the webhook, and beside it a trivial handler, over TLS.

Both are processes of their own. What is measured of one is measured of the other in turns, so that a busy machine slows
both, and the ratio says more than the figure.
"""

import asyncio
import glob
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 60


@dataclass(frozen=True)
class Served:
    """A server that runs, and how to ask it."""

    pid: int
    port: int
    tls: ssl.SSLContext
    ca: Path

    def cpu(self) -> float:
        """Seconds of CPU that all of its threads have used."""
        files = glob.glob(f"/proc/{self.pid}/task/*/schedstat")
        return sum(int(Path(file).read_text().split()[0]) for file in files) / 1e9

    def resident(self) -> float:
        """MiB of memory that it has."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


class Client:
    """A connection that stays, with as little of a client in it as can be: what is measured is the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, server: Served) -> "Client":
        return cls(*await asyncio.open_connection("127.0.0.1", server.port, ssl=server.tls))

    async def post(self, request: bytes, uid: bytes = b"") -> float:
        """Send a whole request, and return the milliseconds to its answer, which must allow it, under that uid."""
        took, _, answer = await self.ask(request)
        assert b'"allowed":true' in answer, answer
        assert uid in answer, answer
        return took

    async def ask(self, request: bytes) -> tuple[float, bytes, bytes]:
        """Send a whole request; the milliseconds to its answer, and that answer's head and body."""
        began = time.perf_counter()
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        answer = await self._reader.readexactly(length)
        return (time.perf_counter() - began) * 1000, head, answer

    def close(self) -> None:
        self._writer.close()


def request(body: bytes, resource: str = "jobflows") -> bytes:
    """The whole of a request, as it is sent."""
    head = (
        f"POST /validate/{resource}?timeout=5s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def both() -> Iterator[tuple[Served, Served]]:
    """The webhook and the trivial handler, until the block is left."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        certificates = Path(directory)
        subprocess.run([sys.executable, "-m", "certs", "--dir", directory], check=True, stdout=subprocess.DEVNULL)
        tls = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
        yield stack.enter_context(_webhook(certificates, tls)), stack.enter_context(_trivial(certificates, tls))


@contextmanager
def _webhook(certificates: Path, tls: ssl.SSLContext) -> Iterator[Served]:
    """With no API server behind it: it needs none to judge a creation."""
    flags = {
        "master": "http://127.0.0.1:1",
        "bind-address": "127.0.0.1",
        "port": "0",
        "tls-cert-file": str(certificates / "tls.crt"),
        "tls-private-key-file": str(certificates / "tls.key"),
        "healthz-address": "127.0.0.1:0",
        "metrics-address": "127.0.0.1:0",
        "shutdown-delay": "0s",
    }
    command = [sys.executable, "-m", "webhook", *(f"--{flag}={value}" for flag, value in flags.items())]
    log = certificates / "webhook.log"
    with log.open("wb") as output, _running(subprocess.Popen(command, stderr=output)) as process:
        yield Served(process.pid, _port_in(log), tls, certificates / "ca.crt")


@contextmanager
def _trivial(certificates: Path, tls: ssl.SSLContext) -> Iterator[Served]:
    files = (str(certificates / "tls.crt"), str(certificates / "tls.key"))
    command = [sys.executable, "-m", "tests.bench.trivial_handler", *files]
    with _running(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout
        with process.stdout as said:
            yield Served(process.pid, int(said.readline()), tls, certificates / "ca.crt")


@contextmanager
def _running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=TIMEOUT)


def _port_in(log: Path) -> int:
    """The port at which the webhook says that it serves."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            said = json.loads(line)
            if said.get("what") == "admission":
                return int(said["address"].rpartition(":")[2])
        time.sleep(0.05)
    raise TimeoutError(log.read_text())
