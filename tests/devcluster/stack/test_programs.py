"""Programs as processes: started in order, watched, and always ended."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from devcluster.stack.programs import Program, ProgramError, Programs, free_ports, without_settings

WAITS = "import time; print('hello', flush=True); time.sleep(60)"
IGNORES_TERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"


class Script(Program):
    """A program that is a line of Python."""

    def __init__(self, code: str, directory: Path, name: str = "script") -> None:
        module = directory / f"{name}_module.py"
        module.write_text(code)
        super().__init__(name, [f"{name}_module"], directory / f"{name}.log")

    async def has_said_hello(self) -> bool:
        return "hello" in self.log.read_text()


@pytest.fixture(autouse=True)
def modules_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


async def never() -> bool:
    return False


async def run_and(work: Callable[[], Awaitable[object]], *scripts: Script) -> None:
    """Start scripts, one after the other, and do some work while they run."""
    async with Programs() as programs:
        for script in scripts:
            await programs.start(script)
        await programs.meanwhile(work())


def is_running(program: Program) -> bool:
    process = program._process
    assert process is not None
    return process.returncode is None


async def test_on_leaving_every_program_is_ended(tmp_path: Path) -> None:
    first, second = Script(WAITS, tmp_path, "first"), Script(WAITS, tmp_path, "second")
    async with Programs() as programs:
        for script in (first, second):
            await programs.start(script)
            await script.ready(script.has_said_hello)
        assert is_running(first)
        assert is_running(second)
    assert not is_running(first)
    assert not is_running(second)


async def test_so_they_are_when_something_fails(tmp_path: Path) -> None:
    script = Script(WAITS, tmp_path)

    async def fails() -> None:
        await script.ready(script.has_said_hello)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_and(fails, script)
    assert not is_running(script)


async def test_one_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devcluster.stack.programs.STOP_TIMEOUT", 0.2)
    script = Script(IGNORES_TERM, tmp_path)
    async with Programs() as programs:
        await programs.start(script)
        await script.ready(script.has_said_hello)
    assert not is_running(script)


async def test_one_that_dies_ends_the_work_and_its_last_words_are_shown(tmp_path: Path) -> None:
    steady, dying = Script(WAITS, tmp_path, "steady"), Script("raise SystemExit('no certificate')", tmp_path, "dying")
    with pytest.raises(ProgramError, match=r"the dying ended with exit code 1[^$]*no certificate"):
        await run_and(asyncio.Event().wait, steady, dying)
    assert not is_running(steady)


async def test_one_that_dies_while_it_starts_is_named(tmp_path: Path) -> None:
    script = Script("raise SystemExit('the port is taken')", tmp_path)

    with pytest.raises(ProgramError, match=r"the script ended with exit code 1[^$]*the port is taken"):
        await run_and(lambda: script.ready(never), script)


async def test_one_that_is_never_ready_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devcluster.stack.programs.START_TIMEOUT", 0.3)
    script = Script(WAITS, tmp_path)

    with pytest.raises(ProgramError, match="the script was not ready"):
        await run_and(lambda: script.ready(never), script)


async def test_what_the_work_brings_is_handed_on(tmp_path: Path) -> None:
    async def work() -> int:
        return 42

    async with Programs() as programs:
        await programs.start(Script(WAITS, tmp_path))
        assert await programs.meanwhile(work()) == 42


async def test_control_c_reaches_us_alone(tmp_path: Path) -> None:
    script = Script("import os, time; print('hello', os.getpgrp(), flush=True); time.sleep(60)", tmp_path)
    async with Programs() as programs:
        await programs.start(script)
        await script.ready(script.has_said_hello)
        assert int(script.log.read_text().split()[1]) != os.getpgrp()


def test_settings_of_the_environment_do_not_reach_the_programs() -> None:
    assert without_settings({"JOBFLOW_PORT": "1", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_free_ports_are_all_different() -> None:
    assert len(set(free_ports(8))) == 8
