"""`python -m controller` as whoever runs it meets it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = "http://127.0.0.1:1"
"""An API server that is not there."""


def run(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """The command, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "controller", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environ},
    )


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def controller(log: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as stderr:
        process = subprocess.Popen([sys.executable, "-m", "controller", *arguments], stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def wait_for(url: str) -> int:
    deadline = time.monotonic() + 30
    while not (answered := status(url)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return answered


def test_help_explains_every_flag_with_its_default() -> None:
    helped = run("--help")
    assert helped.returncode == 0
    assert helped.stderr == ""
    for expected in (
        "--kubeconfig FILE",
        "--master",
        "--kube-api-qps",
        "--kube-api-burst",
        "--workers",
        "Default: 32.",
    ):
        assert expected in helped.stdout
    assert "Default: :11251." in helped.stdout


@pytest.mark.parametrize(
    ("arguments", "environ", "expected"),
    [
        pytest.param(["--workers=0"], {}, "--workers=0: must be greater", id="a wrong value"),
        pytest.param(["--namespaces=a,B_c"], {}, '"B_c" can be no namespace', id="no name of a namespace"),
        pytest.param(["--works=1"], {}, "unknown flag --works, did you mean --workers?", id="an unknown flag"),
        pytest.param([], {"JOBFLOW_WORKERS": "x"}, "JOBFLOW_WORKERS=x: must be a whole number", id="a wrong variable"),
        pytest.param(["--kubeconfig=/none"], {}, "--kubeconfig=/none: no such file", id="a file that is not there"),
        pytest.param(["--kubeconfig=/etc/hostname"], {}, "does not look like a kubeconfig", id="another kind of file"),
        pytest.param([], {}, "no cluster to talk to: give --kubeconfig", id="no cluster"),
        pytest.param(["--master=localhost"], {}, "must begin with https://", id="a master that is no URL"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(
    arguments: list[str], environ: dict[str, str], expected: str
) -> None:
    ended = run(*arguments, **environ)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("jobflow-controller: ")
    assert expected in ended.stderr


def test_an_address_in_use_is_one_line_and_no_traceback() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("--master", NOBODY, "--healthz-address", f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines()[-1].startswith("jobflow-controller: ")
    assert "address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_without_an_api_server_it_lives_unready_until_a_signal_ends_it_with_code_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    address = free_address()
    flags = ["--master", NOBODY, "--healthz-address", address, "--metrics-address", address]
    with controller(tmp_path / "log", *flags) as process:
        assert wait_for(f"http://{address}/healthz") == 200
        assert status(f"http://{address}/readyz") == 503
        assert status(f"http://{address}/metrics") == 200
        process.send_signal(number)
        assert process.wait(10) == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert lines[-1]["msg"] == "stopped"
    assert "list or watch failed" in {line["msg"] for line in lines}
