"""The webhook as a program: `python -m webhook`, or `jobflow-webhook`."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

from shared.kube.config import ConfigError
from shared.ops import logs
from shared.ops.settings import read_settings
from webhook.app import run
from webhook.settings import WebhookSettings

PROGRAM = "jobflow-webhook"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM; return the exit code."""
    settings = read_settings(WebhookSettings, PROGRAM, sys.argv[1:] if arguments is None else arguments, os.environ)
    logs.set_up(settings.verbosity)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(run(settings))
    except (ConfigError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 1
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed, and Python's own elsewhere."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    sys.exit(main())
