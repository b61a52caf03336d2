"""Run programs of this project as processes of their own, each with a log file, and notice when one ends unasked."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

START_TIMEOUT = 30.0
STOP_TIMEOUT = 15.0
LOG_LINES = 20

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


class ProgramError(Exception):
    """A program did not start, or ended unasked; says which, and shows the end of its log."""


class Program:
    """One `python -m MODULE ...`, whose output goes to a file."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path) -> None:
        self.name = name
        self.arguments = arguments
        self.log = log
        self.started = 0.0  # by the monotonic clock
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and do not wait."""
        self.started = time.monotonic()
        with self.log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *self.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=without_settings(os.environ),
                # A group of its own: Control-C reaches us alone, and we end the programs in order.
                start_new_session=True,
            )

    async def ready(self, asks: Callable[[], Awaitable[bool]]) -> None:
        """Wait until it says that it is ready; raises ProgramError if it ends or takes too long."""
        try:
            async with asyncio.timeout(START_TIMEOUT):
                while not await asks():
                    self.check()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise ProgramError(self._report(f"was not ready after {START_TIMEOUT:.0f} s")) from None

    def check(self) -> None:
        """Raise ProgramError if it has ended."""
        if self._process is not None and self._process.returncode is not None:
            raise ProgramError(self._report(f"ended with exit code {self._process.returncode}"))

    async def ended(self) -> None:
        """Wait until it ends; raises ProgramError then."""
        if self._process is not None:
            await self._process.wait()
        self.check()

    async def stop(self) -> None:
        """End it: politely, and if it does not listen, by force."""
        if self._process is None or self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def _report(self, what: str) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        shown = "\n".join(f"  {line}" for line in lines[-LOG_LINES:]) or "  (it has said nothing)"
        return f"the {self.name} {what}; the end of its log, {self.log}:\n{shown}"


class Programs:
    """Several programs that belong together. On leaving, all are ended, the last started first."""

    def __init__(self) -> None:
        self._running: list[Program] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in reversed(self._running):
            await program.stop()

    async def start(self, program: Program) -> None:
        """Start one more."""
        self._running.append(program)
        await program.start()

    async def meanwhile(self, work: Awaitable[T]) -> T:
        """Do some work while all of them run; raises ProgramError as soon as one of them ends."""
        working = asyncio.ensure_future(work)
        watching = [asyncio.ensure_future(program.ended()) for program in self._running]
        try:
            await asyncio.wait([working, *watching], return_when=asyncio.FIRST_COMPLETED)
            if working.done() and not working.cancelled() and working.exception():
                # It may have failed because a program has just died: then that is the news.
                await asyncio.wait(watching, timeout=1, return_when=asyncio.FIRST_COMPLETED)
            for program in self._running:
                program.check()
            return await working
        finally:
            for task in (working, *watching):
                task.cancel()
            await asyncio.gather(working, *watching, return_exceptions=True)


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out the settings of our programs, so that only the flags count."""
    return {name: value for name, value in environ.items() if not name.startswith("JOBFLOW_")}


def free_ports(count: int) -> list[int]:
    """Find ports of this machine that nobody listens at, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
