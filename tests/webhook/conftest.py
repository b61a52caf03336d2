"""What the tests of the webhook share."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.webhook.process import Process, Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start webhooks; what still runs in the end is killed."""
    started: list[subprocess.Popen[bytes]] = []
    numbers = itertools.count()

    def start(*, pair: bool = True, **flags: str) -> Process:
        log = tmp_path / f"{next(numbers)}.log"
        process = Process(None, log, tmp_path)  # type: ignore[arg-type]
        process.put_pair(good=pair)
        values = {
            "master": "http://127.0.0.1:1",
            "bind-address": "127.0.0.1",
            "port": "0",
            "tls-cert-file": str(tmp_path / "tls.crt"),
            "tls-private-key-file": str(tmp_path / "tls.key"),
            "healthz-address": "127.0.0.1:0",
            "metrics-address": "127.0.0.1:0",
            "shutdown-delay": "0s",
            **{name.replace("_", "-"): value for name, value in flags.items()},
        }
        command = [sys.executable, "-m", "webhook", *(f"--{name}={value}" for name, value in values.items())]
        with log.open("wb") as output:
            process.popen = subprocess.Popen(command, stderr=output)
        started.append(process.popen)
        assert eventually(lambda: process.address("admission") or process.popen.poll() is not None, 60), log.read_text()
        assert process.popen.poll() is None, log.read_text()
        return process

    yield start
    for popen in started:
        popen.kill()
        popen.wait()
