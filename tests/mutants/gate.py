"""Try mutants, each in a copy of the tree: the checkout is never touched.

A mutant is killed if its named test fails with it. The test has to pass without it, and the text that a mutant replaces
has to be there exactly once, so that the list does not rot.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.mutants.mutant import Edit, Mutant

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = (
    *("certs", "charts", "controller", "devcluster", "examples", "shared", "tests", "webhook"),
    *("README.md", "pyproject.toml"),
)
KILLED: Final = "killed"
LONGEST: Final = 60
"""Seconds that a test may take; one that hangs fails."""


class Copy:
    """A copy of the tree in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            # Compiled files go with their sources, whose times stay: nothing is compiled a second time.
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(".*"))
            elif source.exists():
                shutil.copy2(source, folder / name)

    def verdict(self, mutant: Mutant) -> str:
        """How `mutant` fares: `killed`, or what is wrong instead."""
        for edit in mutant.edits:
            if (count := (self.folder / edit.file).read_text(encoding="utf-8").count(edit.old)) != 1:
                return f"does not apply: its text is {count} times in {edit.file}"
        with self._with(mutant.edits):
            code, said = self.run(mutant.killer)
        if code == 1:
            return KILLED
        return "survived" if code == 0 else f"its test does not run (pytest ends with {code}):\n{said}"

    def run(self, *tests: str) -> tuple[int, str]:
        """Run these tests here. Returns what pytest ends with, and what it says."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_"))}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, f"--timeout={LONGEST}", *tests],
            cwd=self.folder,
            env={**environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    @contextmanager
    def _with(self, edits: Sequence[Edit]) -> Iterator[None]:
        before: dict[Path, tuple[bytes, os.stat_result]] = {}
        try:
            for edit in edits:
                path = self.folder / edit.file
                before.setdefault(path, (path.read_bytes(), path.stat()))
                path.write_text(path.read_text(encoding="utf-8").replace(edit.old, edit.new), encoding="utf-8")
            yield
        finally:
            for path, (content, stat) in before.items():
                path.write_bytes(content)
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
