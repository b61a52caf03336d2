"""`python -m devcluster up`: run the embedded API server until told to stop."""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import yaml

from devcluster.builtin import CRDS
from devcluster.calls import Call
from devcluster.identity import ADMIN
from devcluster.player.command import add_rules, rules_of
from devcluster.player.player import Player
from devcluster.resources import JSON
from devcluster.server import ApiServer
from shared.kube.client import KubeClient, Limits

ROOT = Path(__file__).parents[1]
CRD_FOLDERS = (ROOT / "devcluster" / "crds", ROOT / "charts" / "jobflow" / "crds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run a Kubernetes API server on 127.0.0.1 until Ctrl-C. Everything that it stores is kept in memory and is "
        "gone when it ends. Any kubectl works with the kubeconfig that it writes."
    )
    parser.add_argument("--dir", type=Path, required=True, help="where to write the file `kubeconfig`")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: one that is free)")
    parser.add_argument("--no-player", action="store_true", help="leave Jobs as they are")
    parser.add_argument("--no-crds", action="store_true", help="begin without the CRDs of JobFlow, JobTemplate and Job")
    add_rules(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(arguments))
    except OSError as error:
        print(f"devcluster up: {error}", file=sys.stderr)
        return 1
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the event loop that does TLS with less work, where it is installed; None for Python's own."""
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return uvloop.new_event_loop


def crds() -> Iterator[JSON]:
    """Yield the CustomResourceDefinitions of JobFlow, JobTemplate and Job."""
    for folder in CRD_FOLDERS:
        for file in sorted(folder.glob("*.yaml")):
            yield from (document for document in yaml.safe_load_all(file.read_text()) if document)


async def install_crds(server: ApiServer) -> None:
    """Have a server serve JobFlow, JobTemplate and Job."""
    for crd in crds():
        await server.objects.create(Call(ADMIN, manager="devcluster"), CRDS, "", crd)


async def _serve(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    arguments.dir.mkdir(parents=True, exist_ok=True)
    async with ApiServer(arguments.port) as server:
        if not arguments.no_crds:
            await install_crds(server)
        kubeconfig = server.kubeconfig(arguments.dir / "kubeconfig").resolve()
        async with contextlib.AsyncExitStack() as stack:
            if not arguments.no_player:
                await stack.enter_async_context(_playing(kubeconfig, arguments))
            print(f"serving {server.url}, data in memory only: export KUBECONFIG={kubeconfig}", flush=True)
            await stop.wait()


@contextlib.asynccontextmanager
async def _playing(kubeconfig: Path, arguments: argparse.Namespace) -> AsyncIterator[None]:
    """Play Jobs beside the server, over HTTP as everybody else."""
    client = await KubeClient.connect("jobflow-player", kubeconfig=str(kubeconfig), limits=Limits())
    playing = asyncio.create_task(Player(client, rules_of(arguments)).run())
    try:
        yield
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
        await client.close()
