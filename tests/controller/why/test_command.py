"""`python -m controller why` and `jobflow-why` as whoever runs them meets them."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

NOBODY = "http://127.0.0.1:1"
"""An API server that is not there."""


def run(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """The command, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "controller", "why", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environ},
    )


def test_help_says_how_to_ask_and_what_it_needs() -> None:
    helped = run("--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    for expected in ("NAMESPACE/NAME [ENTRY]", "--kubeconfig FILE", "--master URL", "--output", "writes nothing"):
        assert expected in helped.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], "the following arguments are required: NAMESPACE/NAME", id="nothing"),
        pytest.param(["a/b/c"], "'a/b/c' is no NAMESPACE/NAME", id="too many slashes"),
        pytest.param(["/etl"], "'/etl' is no NAMESPACE/NAME", id="no namespace before the slash"),
        pytest.param(["ml/"], "'ml/' is no NAMESPACE/NAME", id="no name after it"),
        pytest.param(["-n", "web", "ml/etl"], "not the same namespace", id="two namespaces"),
        pytest.param(["ml/etl", "-o", "yaml"], "invalid choice: 'yaml'", id="an unknown form"),
        pytest.param(["ml/etl", "--frobnicate"], "unrecognized arguments: --frobnicate", id="an unknown flag"),
        pytest.param(["ml/etl"], "no cluster to talk to: give --kubeconfig", id="no cluster"),
        pytest.param(["ml/etl", "--kubeconfig=/none"], "/none", id="a kubeconfig that is not there"),
        pytest.param(["ml/etl", "--master", NOBODY], "the API server cannot be asked", id="a server that is not there"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(arguments: list[str], expected: str) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert ended.stderr.startswith("jobflow-why: ")
    assert expected in ended.stderr


def test_it_is_installed_as_a_console_script() -> None:
    (script,) = entry_points(group="console_scripts", name="jobflow-why")
    assert callable(script.load())
