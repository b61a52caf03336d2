"""A signal asks the program to end; a second one ends it."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import asyncio, sys
from shared.ops.running import run_program
from shared.ops.stopping import stop_requested

async def main():
    stop = stop_requested()
    print("ready", flush=True)
    await stop.wait()
    print("asked", flush=True)
    await asyncio.sleep(float(sys.argv[1]))
    print("ended", flush=True)

run_program(main())
"""


def start(lasting: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(lasting)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_program_end_by_itself(number: signal.Signals) -> None:
    with start(0) as process:
        os.kill(process.pid, number)
        assert process.stdout
        assert process.stdout.read() == "asked\nended\n"
    assert process.returncode == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with start(60) as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout
        assert process.stdout.readline() == "asked\n"
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        process.wait(10)
    assert process.returncode != 0
    assert time.monotonic() - began < 5
