"""`python -m devcluster play`: play Jobs on the API server of a kubeconfig until told to stop."""

import argparse
import asyncio
import contextlib
import signal
import sys

from devcluster.player.phases import Rules
from devcluster.player.player import Player
from devcluster.player.script import __doc__ as SCRIPT_TABLE  # noqa: N812 - it is a text that never changes
from shared.kube.client import KubeClient
from shared.kube.config import ConfigError

EPILOG = f"{SCRIPT_TABLE}\nStop it with Ctrl-C; started again, it goes on where it was."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Take Volcano Jobs through their phases, as Volcano's Job controller would; nothing runs."
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--kubeconfig", default="", help="the kubeconfig file (default: as kubectl finds it)")
    parser.add_argument("--namespace", default=None, help="play the Jobs of this namespace only (default: all)")
    parser.add_argument(
        "--writes", type=int, default=64, metavar="N", help="status writes in flight at the same time (default: 64)"
    )
    add_rules(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Say how Jobs may be played; for any command that has a player."""
    parser.add_argument(
        "--delay",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="seconds that a Job runs whose commands do not say (default: 0)",
    )
    parser.add_argument(
        "--pending", type=_seconds, default=0.0, metavar="S", help="seconds that a Job is Pending (default: 0)"
    )
    parser.add_argument(
        "--speed",
        type=_factor,
        default=1.0,
        metavar="X",
        help="play what commands say X times faster, `sleep 10` in a second with 10 (default: 1)",
    )
    parser.add_argument(
        "--brief",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="write as little as possible: Running (unless the Job takes no time), then the whole end at once; "
        "otherwise Pending, Running, the end, and once more with runningDuration, as Volcano does "
        "(default: brief with --delay 0)",
    )


def rules_of(arguments: argparse.Namespace) -> Rules:
    """Return what the arguments of `add_rules` say."""
    brief = arguments.delay == 0 if arguments.brief is None else arguments.brief
    return Rules(arguments.delay, arguments.pending, arguments.speed, brief)


def run(arguments: argparse.Namespace) -> int:
    """Play until SIGINT or SIGTERM; return the exit code."""
    try:
        asyncio.run(_play(arguments))
    except ConfigError as wrong:
        print(f"devcluster play: {wrong}", file=sys.stderr)
        return 2
    return 0


async def _play(arguments: argparse.Namespace) -> None:
    client = await KubeClient.connect("jobflow-player", kubeconfig=arguments.kubeconfig or None)
    player = Player(client, rules_of(arguments), namespace=arguments.namespace, writes=arguments.writes)
    try:
        playing = asyncio.create_task(player.run())
        for stop in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(stop, playing.cancel)
        print("playing Jobs; Ctrl-C ends it", flush=True)
        with contextlib.suppress(asyncio.CancelledError):
            await playing
    finally:
        await client.close()


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def _factor(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0")
    return value
