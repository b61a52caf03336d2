"""`make demo`, as a whole: real processes, the real webhook and controller, the embedded API server."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import processes_with
from tests.support.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo that has just been started; all that it writes lies in tmp_path."""
    process = subprocess.Popen(
        [sys.executable, "-m", "devcluster", "demo"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def test_it_shows_everything_and_ends_by_itself(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    out, errors = demo.communicate(timeout=150)
    assert (demo.returncode, errors) == (0, "")
    for said in (
        'The JobFlow "in-circles" is invalid: ',
        "must not close a loop: extract -> clean -> publish -> extract",
        'spec.flows[2].name: Duplicate value: "extract"',
        'did you mean "extract"?',
        "spec: Forbidden: may not be changed once the JobFlow exists",
        'Error from server (Forbidden): admission webhook "jobflows.flow.volcano.sh" denied the request:',
        "3 JobFlows with 18 Jobs came to Succeed",
        "4 mistakes of 4 were refused",
    ):
        assert said in out
    for jobflow in ("diamond", "churn-model", "nightly-report"):
        assert f"{jobflow} is Succeed" in " ".join(out.split())
    assert "job.batch.volcano.sh/nightly-report" not in out
    assert "job.batch.volcano.sh/churn-model-report" in out
    assert "\x1b" not in out  # no colours where nobody looks
    assert processes_with(str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", ["webhook", "controller", "devcluster"])
def test_when_a_program_dies_it_is_named_and_all_ends(
    program: str, demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert demo.stdout is not None
    assert any("is ready" in line and "controller" in line for line in demo.stdout)
    (victim,) = processes_with(str(tmp_path), f"-m {program} ")
    os.kill(victim, signal.SIGKILL)
    _, errors = demo.communicate(timeout=60)
    assert demo.returncode == 1
    name = "API server" if program == "devcluster" else program
    assert f"the {name} ended with exit code -9; the end of its log" in errors
    assert "Traceback" not in errors
    assert processes_with(str(tmp_path)) == []


def test_control_c_ends_all_of_it(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    assert eventually(lambda: processes_with(str(tmp_path), "-m devcluster up"))
    demo.send_signal(signal.SIGINT)
    _, errors = demo.communicate(timeout=60)
    assert (demo.returncode, errors.strip()) == (130, "demo: ended before its end")
    assert processes_with(str(tmp_path)) == []
