"""The webhook as a program of its own: its flags, and one clear line about what is wrong with them."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from webhook.__main__ import main

PAIR = (f"--tls-cert-file={__file__}", f"--tls-private-key-file={__file__}")


@dataclass
class Ended:
    code: object
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """The command, as far as it comes without serving anything."""
    for variable in [variable for variable in os.environ if variable.startswith("JOBFLOW_")]:
        monkeypatch.delenv(variable)

    def run(*arguments: str, **environment: str) -> Ended:
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Ended(ended.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port=http"], "--port=http: must be a whole number"),
        (["--port=70000"], "--port=70000"),
        (["--tls-cert-file=/nowhere/tls.crt"], "no such file"),
        ([*PAIR, "--shutdown-delay=soon"], "must be a duration"),
        ([*PAIR, "--max-flows=0"], "--max-flows=0"),
        (["--prot=1"], "did you mean --port?"),
        (["serve"], "unexpected argument 'serve'"),
        ([], "--tls-cert-file is required (or set JOBFLOW_TLS_CERT_FILE)"),
    ],
)
def test_a_wrong_value_is_one_clear_line_and_code_2(run: Callable[..., Ended], arguments: list[str], said: str) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_every_flag_is_also_an_environment_variable(run: Callable[..., Ended]) -> None:
    ended = run(*PAIR, JOBFLOW_MAX_FLOWS="none")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "JOBFLOW_MAX_FLOWS=none" in ended.err


def test_the_help_explains_every_flag(run: Callable[..., Ended]) -> None:
    ended = run("--help")
    assert ended.code == 0
    for flag in ("--kubeconfig", "--port", "--tls-cert-file", "--healthz-address", "--metrics-address", "--max-flows"):
        assert flag in ended.out
    assert "JOBFLOW_TLS_CERT_FILE" in ended.out


def test_a_port_that_is_taken_is_one_clear_line_and_code_1(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("not yet")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [
                sys.executable,
                *("-m", "webhook", "--master=http://127.0.0.1:1", "-v=0", "--bind-address=127.0.0.1"),
                *("--healthz-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0"),
                *(f"--tls-cert-file={tmp_path / 'tls.crt'}", f"--tls-private-key-file={tmp_path / 'tls.crt'}"),
                f"--port={taken.getsockname()[1]}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert "Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr
