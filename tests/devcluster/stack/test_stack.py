"""`make up` and `make down`: everything left running behind the terminal, and ended again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.stack.kubectl import Kubectl
from tests.support.processes import processes_with
from tests.support.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[3]


def stack(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devcluster", "stack", "--dir", str(directory), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stack(tmp_path, "--stop")
    assert processes_with(str(tmp_path)) == []


async def test_it_prints_the_line_for_the_shell_alone_and_leaves_everything_running(place: Path) -> None:
    begun = stack(place, "--detach")
    assert (begun.returncode, begun.stdout) == (0, f"export KUBECONFIG={place / 'kubeconfig'}\n"), begun.stderr
    async with Kubectl(place / "kubeconfig") as kubectl:
        lines = [line async for line in kubectl.apply([ROOT / "examples" / "diamond.yaml"])]
        assert lines[-1] == "jobflow.flow.volcano.sh/diamond created"
        listed = await kubectl.list("flow.volcano.sh/v1alpha1", "JobFlow")
        assert [each["metadata"]["name"] for each in listed["items"]] == ["diamond"]

    again = stack(place, "--detach")
    assert (again.returncode, again.stdout) == (0, begun.stdout)
    assert len(processes_with(str(place), "-m controller")) == 1

    ended = stack(place, "--stop")
    assert ended.returncode == 0
    assert processes_with(str(place)) == []


def test_stopping_what_does_not_run_is_no_error(place: Path) -> None:
    assert stack(place, "--stop").returncode == 0


def test_when_a_program_dies_later_everything_ends(place: Path) -> None:
    assert stack(place, "--detach").returncode == 0
    (webhook,) = processes_with(str(place), "-m webhook ")
    os.kill(webhook, signal.SIGKILL)
    assert eventually(lambda: not processes_with(str(place)), timeout=40)
    assert "the webhook ended with exit code -9" in (place / "stack.log").read_text()


def test_what_cannot_start_says_why_and_leaves_nothing_behind(place: Path) -> None:
    (place / "tls.crt").write_text("something of somebody's")
    failed = stack(place, "--detach")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "python -m certs ended with exit code 1" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert processes_with(str(place)) == []
