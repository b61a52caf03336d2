"""How long the webhook takes for a JobFlow's creation, asked directly over TLS with keep-alive.

    python -m tests.bench.bench_admission

Each figure stands beside that of a trivial aiohttp handler, measured in turns with it, so that a busy machine slows
both. The process ends with 1 if a figure misses its goal.
"""

import http.client
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from tests.bench.reviews import creation, layers

CASES = (  # name, body, requests, the most that the p99 may be in ms
    ("10 layers of 10", creation(layers(10, 10)), 1000, 5),
    ("20 layers of 50", creation(layers(20, 50)), 200, 100),
    ("26 layers of 2", creation(layers(26, 2)), 1000, 5),
)
PATH = "/validate/jobflows?timeout=5s"


def main() -> int:
    """Measure, print, and return the exit code."""
    missed = 0
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        certificates = Path(directory)
        subprocess.run([sys.executable, "-m", "certs", "--dir", directory], check=True, stdout=subprocess.DEVNULL)
        webhook = stack.enter_context(a_webhook(certificates))
        trivial = stack.enter_context(a_trivial_handler(certificates))
        print("admission of a JobFlow over TLS with keep-alive, ms: p50 and p99 of the webhook, of a trivial handler")
        for name, body, requests, goal in CASES:
            ours, theirs = measure([connect(certificates, webhook), connect(certificates, trivial)], body, requests)
            verdict = "" if p99(ours) <= goal else "  MISSED"
            missed += bool(verdict)
            print(
                f"{name:16} {len(body) / 1024:6.0f} KiB   webhook {median(ours):6.2f} {p99(ours):6.2f}   "
                f"trivial {median(theirs):6.2f} {p99(theirs):6.2f}   ratio {median(ours) / median(theirs):5.1f}   "
                f"goal p99 <= {goal}{verdict}"
            )
    return 1 if missed else 0


def measure(servers: list[http.client.HTTPSConnection], body: bytes, requests: int) -> list[list[float]]:
    """Milliseconds of each request to each server, in turns, after some that do not count."""
    took: list[list[float]] = [[] for _ in servers]
    for i in range(requests + 20):
        for server, figures in zip(servers, took, strict=True):
            began = time.perf_counter()
            answer = post(server, body)
            if i >= 20:
                figures.append((time.perf_counter() - began) * 1000)
            assert b'"allowed":true' in answer, answer
    return took


def post(server: http.client.HTTPSConnection, body: bytes) -> bytes:
    """One review and its answer."""
    server.request("POST", PATH, body, {"Content-Type": "application/json"})
    return server.getresponse().read()


def p99(figures: list[float]) -> float:
    """The figure that 99 of 100 do not exceed."""
    return sorted(figures)[max(0, round(len(figures) * 0.99) - 1)]


def connect(certificates: Path, port: int) -> http.client.HTTPSConnection:
    """A connection that stays."""
    context = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    return http.client.HTTPSConnection("127.0.0.1", port, context=context)


@contextmanager
def a_webhook(certificates: Path) -> Iterator[int]:
    """The webhook as a process of its own, with no API server behind it; its port."""
    flags = {
        "--master": "http://127.0.0.1:1",
        "--bind-address": "127.0.0.1",
        "--port": "0",
        "--tls-cert-file": str(certificates / "tls.crt"),
        "--tls-private-key-file": str(certificates / "tls.key"),
        "--healthz-address": "127.0.0.1:0",
        "--metrics-address": "127.0.0.1:0",
        "--shutdown-delay": "0s",
    }
    command = [sys.executable, "-m", "webhook", *(f"{flag}={value}" for flag, value in flags.items())]
    log = certificates / "webhook.log"
    with log.open("wb") as output, running(command, stderr=output):
        yield port_in(log)


@contextmanager
def a_trivial_handler(certificates: Path) -> Iterator[int]:
    """The trivial handler as a process of its own; its port."""
    files = (str(certificates / "tls.crt"), str(certificates / "tls.key"))
    with running([sys.executable, "-m", "tests.bench.trivial_handler", *files], stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield int(process.stdout.readline())
        process.stdout.close()


@contextmanager
def running(command: list[str], **pipes: object) -> Iterator[subprocess.Popen[bytes]]:
    """The process, for as long as the block lasts."""
    process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


def port_in(log: Path) -> int:
    """The port at which the webhook's log says that it serves admission."""
    import json

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            said = json.loads(line)
            if said.get("what") == "admission":
                return int(said["address"].rpartition(":")[2])
        time.sleep(0.05)
    raise TimeoutError(log.read_text())


if __name__ == "__main__":
    sys.exit(main())
