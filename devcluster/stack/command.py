"""`python -m devcluster stack`: run the whole of it, in the foreground or behind the terminal, and end it again."""

import argparse
import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from devcluster.stack.programs import ROOT, START_TIMEOUT, STOP_TIMEOUT, ProgramError
from devcluster.stack.stack import Stack

WAIT_FOR_START = 3 * START_TIMEOUT
WAIT_FOR_STOP = 3 * STOP_TIMEOUT + 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.description = (
        "Run the embedded API server, the webhook and the controller. Prints, alone on standard output, the line that "
        'points kubectl at them: eval "$(python -m devcluster stack --detach)".'
    )
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(".devcluster"),
        help="for kubeconfig, certificates and logs (default: %(default)s)",
    )
    parser.add_argument("--port", type=int, default=0, help="the API server's port (default: one that is free)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--detach", action="store_true", help="return once all is ready, and leave it running")
    what.add_argument("--stop", action="store_true", help="end what was left running with this --dir")


def main(args: argparse.Namespace) -> int:
    """Run, start or stop, as the arguments say; return the exit code."""
    place = Place(args.dir.resolve())
    if args.stop:
        return stop(place)
    if args.detach:
        return detach(place, args.port)
    try:
        place.hold()
        return asyncio.run(run(place, args.port))
    except AlreadyRunningError:
        print(f"devcluster: it runs already, with its files in {place.directory}; --stop ends it", file=sys.stderr)
        return 1


class AlreadyRunningError(Exception):
    """Another process holds the place."""


class Place:
    """The directory of one stack. Its lock is held by the process that runs it, and dies with that."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.log = directory / "stack.log"
        self.ready = directory / "ready"
        self._lock = directory / "lock"

    def hold(self) -> None:
        """Hold the place until this process ends; raises AlreadyRunningError if another does."""
        self.directory.mkdir(parents=True, exist_ok=True)
        # Never closed, not even while the interpreter tidies up: it is the end of the process that lets go.
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise AlreadyRunningError from None
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())

    def is_held(self) -> bool:
        """Say whether a process runs the stack."""
        try:
            with self._lock.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            pass
        return False

    def holder(self) -> int | None:
        """Return the process that runs the stack, None if none does or it has only just begun."""
        with suppress(ValueError):
            return int(self._lock.read_text()) if self.is_held() else None
        return None

    @property
    def export(self) -> str:
        """The line for a shell."""
        return f"export KUBECONFIG={self.kubeconfig}"


async def run(place: Place, port: int) -> int:
    """Run everything until asked to end, or until one of the programs ends."""
    asked = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, asked.set)
    try:
        async with Stack(place.directory, port, tell=say) as stack:
            starting, stopping = asyncio.ensure_future(stack.start()), asyncio.ensure_future(asked.wait())
            await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                starting.cancel()
                return 130
            await starting
            place.ready.touch()
            print(place.export, flush=True)
            say(NEXT_STEPS.format(logs=place.directory))
            await stack.meanwhile(asked.wait())
            say("Ending")
    except ProgramError as error:
        say(f"devcluster: {error}")
        return 1
    finally:
        place.ready.unlink(missing_ok=True)
    return 0


NEXT_STEPS = """
Then, for example:
  kubectl apply -f examples/diamond.yaml
  kubectl get jobflows -w
  kubectl explain jobflow.spec.flows
Everything is kept in memory, and gone at the end. The logs are in {logs}. Control-C, or `make down`, ends it."""


def detach(place: Place, port: int) -> int:
    """Start a process that runs everything, and return once it is ready."""
    if place.holder() is not None and place.ready.exists():
        say("It runs already.")
        print(place.export)
        return 0
    place.directory.mkdir(parents=True, exist_ok=True)
    if not place.is_held():
        place.ready.unlink(missing_ok=True)  # of one that was killed
    command = [sys.executable, "-m", "devcluster", "stack", "--dir", str(place.directory), "--port", str(port)]
    with place.log.open("wb") as log:
        runner = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + WAIT_FOR_START
    while not (place.ready.exists() and place.holder() == runner.pid):
        if runner.poll() is not None or time.monotonic() > deadline:
            if runner.poll() is None:
                runner.terminate()
            say(place.log.read_text(errors="replace"))
            return 1
        time.sleep(0.05)
    for line in place.log.read_text(errors="replace").splitlines():
        print(line, file=sys.stdout if line == place.export else sys.stderr)
    return 0


def stop(place: Place) -> int:
    """Ask the process that runs everything to end, and wait for it."""
    holder = place.holder()
    if holder is None:
        say("Nothing runs there.")
        return 0
    os.kill(holder, signal.SIGTERM)
    deadline = time.monotonic() + WAIT_FOR_STOP
    while place.is_held():
        if time.monotonic() > deadline:
            say(f"devcluster: process {holder} does not end; see {place.log}")
            return 1
        time.sleep(0.05)
    say("Ended.")
    return 0


def say(text: str) -> None:
    """Tell the person at the terminal; standard output is for the one line that a shell reads."""
    print(text, file=sys.stderr, flush=True)
