"""`python -m devcluster`: a Kubernetes API server on this machine, for trying things out; see `--help`."""

import argparse
import sys

from devcluster import up
from devcluster.demo import command as demo
from devcluster.player import command as player
from devcluster.stack import command as stack


def parser() -> argparse.ArgumentParser:
    """Return what the command line takes."""
    top = argparse.ArgumentParser(
        prog="python -m devcluster",
        description="A small Kubernetes API server that runs in one process on this machine and keeps its data in "
        "memory: for trying JobFlows out and for tests, not for real work.",
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, summary, add_arguments, run in (
        ("up", "start the API server, and a player that takes Jobs through their phases", up.add_arguments, up.run),
        ("play", "play Jobs on the API server of a kubeconfig", player.add_arguments, player.run),
        ("stack", "run the API server, the webhook and the controller together", stack.add_arguments, stack.main),
        ("demo", "show JobFlow at work, from start to end", demo.add_arguments, demo.main),
    ):
        command = commands.add_parser(name, help=summary)
        add_arguments(command)
        command.set_defaults(run=run)
    return top


def main() -> int:
    """Run the command that the arguments name; return the exit code."""
    arguments = parser().parse_args()
    code: int = arguments.run(arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
