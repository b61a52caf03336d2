"""The tour in README.md, followed to the letter: each command prints what the README says that it prints."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster.stack.test_stack import ROOT, stack
from tests.support.binaries import require_binaries
from tests.support.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.real, pytest.mark.timeout(240)]

# What is another each time: ages, how wide a column is, and which Jobs run at that very moment.
CHANGING = (
    (re.compile(r"\b\d+(ms|s|m)\b"), "AGE"),
    (re.compile(r"with (these Jobs running: [^;]+|none of its Jobs running right now)"), "JOBS"),
    (re.compile(r" +"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)
PATIENT = ("kubectl get", "kubectl wait")
"""What may be asked again until the answer is as expected, for it looks and changes nothing."""


def tour() -> list[tuple[str, str]]:
    """The commands of the tour, each with what it prints."""
    text = (ROOT / "README.md").read_text().split("## A tour", 1)[1].split("\n## ", 1)[0]
    blocks = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL))
    return [
        (command, printed) for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", blocks, re.MULTILINE)
    ]


def settled(text: str) -> str:
    for changing, word in CHANGING:
        text = changing.sub(word, text)
    return text.strip()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment after the tour's first line, in which a real kubectl comes first."""
    kubectl = require_binaries().kubectl
    begun = stack(tmp_path / "stack", "--detach")
    assert begun.returncode == 0, begun.stderr
    kubeconfig = begun.stdout.strip().removeprefix("export KUBECONFIG=")
    yield os.environ | {"KUBECONFIG": kubeconfig, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
    stack(tmp_path / "stack", "--stop")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The examples, with a first Job that lasts long enough for the slowest machine to look at it."""
    examples = shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples")
    diamond = examples / "diamond.yaml"
    diamond.write_text(diamond.read_text().replace('["sleep", "2"]', '["sleep", "8"]', 1))
    return tmp_path / "checkout"


def test_each_command_prints_what_the_readme_says(shell: dict[str, str], checkout: Path) -> None:
    (first, nothing), *commands = tour()
    assert (first, nothing) == ('eval "$(make -s up)"', "")
    assert len(commands) >= 8
    for command, expected in commands:
        printed: list[str] = []

        def prints(command: str = command, expected: str = expected, printed: list[str] = printed) -> bool:
            done = subprocess.run(
                ["bash", "-c", f"{command} 2>&1"],
                cwd=checkout,
                env=shell,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            printed[:] = [settled(done.stdout)]
            return printed == [settled(expected)]

        if not eventually(prints, timeout=40 if command.startswith(PATIENT) else 0):
            assert [f"$ {command}", *printed] == [f"$ {command}", settled(expected)]
