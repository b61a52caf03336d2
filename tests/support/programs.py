"""Offers the project's programs as processes of their own, started, stopped and killed as operators and fate do."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from devcluster.stack.programs import without_settings

READY_TIMEOUT = 30.0


class ProgramError(Exception):
    """A program did not become ready, or did not stay; the message has the end of its log."""


class Program:
    """`python -m <module> <arguments>`, for as long as the `with` lasts, again and again if asked.

    Its output goes to the file `log`, one after the other for all its lives. `is_ready` says whether it is; without
    that it counts as ready at once. It gets no settings from the environment of whoever runs the tests.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], log: Path, is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self.module = module
        self.log = log
        self._command = [sys.executable, "-m", module, *arguments]
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and return once it is ready."""
        self.launch()
        deadline = time.monotonic() + READY_TIMEOUT
        while not self._is_ready():
            self.check_alive()
            if time.monotonic() > deadline:
                said = self.tail()
                self.kill()
                raise ProgramError(f"{self.module} is not ready after {READY_TIMEOUT:.0f} s:\n{said}")
            time.sleep(0.05)

    def launch(self) -> None:
        """Start it and wait for nothing."""
        assert self._process is None, f"{self.module} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=without_settings(os.environ)
            )

    def kill(self) -> None:
        """End it as a crash does (SIGKILL), if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int:
        """Ask it to end (SIGTERM), and return its exit code."""
        assert self._process is not None, f"{self.module} does not run"
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=30)
        self._process = None
        return code

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended since."""
        return self._process is not None and self._process.poll() is None

    def check_alive(self) -> None:
        """Raise what it said last if it has ended by itself."""
        if self._process is not None and (code := self._process.poll()) is not None:
            raise ProgramError(f"{self.module} ended with {code}:\n{self.tail()}")

    def tail(self, characters: int = 4000) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""


def answers(url: str, within: float = 2) -> bool:
    """Whether a GET is answered with success in so many seconds, as the probes of a program are once it is ready."""
    try:
        with urllib.request.urlopen(url, timeout=within):
            return True
    except urllib.error.HTTPError as unready:
        unready.close()
        return False
    except OSError:
        return False
