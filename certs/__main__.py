"""Certificates: `python -m certs apply` and `remove` for a cluster, `python -m certs --dir DIR` for a laptop."""

import sys
from collections.abc import Sequence

COMMANDS = ("apply", "remove")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in COMMANDS:
        # What talks to a cluster takes a second to import, and a laptop needs none of it.
        from certs import commands  # noqa: PLC0415

        return commands.apply(given[1:]) if given[0] == "apply" else commands.remove(given[1:])
    from certs.laptop import main as laptop  # noqa: PLC0415

    return laptop(given)


if __name__ == "__main__":
    sys.exit(main())
