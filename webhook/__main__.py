"""The webhook as a program: `python -m webhook`, or `jobflow-webhook`. With `check` its rules alone, over files."""

import sys
from collections.abc import Sequence

PROGRAM = "jobflow-webhook"
CHECK = "check"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, or check files; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    return _check(given[1:]) if given and given[0] == CHECK else _serve(given)


def _check(arguments: Sequence[str]) -> int:
    """Judge files. Nothing of the server is imported for that, which would take longer than the check."""
    from webhook.check.__main__ import main as check  # noqa: PLC0415

    return check(arguments, program=f"{PROGRAM} {CHECK}")


def _serve(arguments: Sequence[str]) -> int:
    from webhook.serving import serve  # noqa: PLC0415

    return serve(arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
