"""The webhook as a program that serves."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

from shared.kube.config import ConfigError
from shared.ops import logs
from shared.ops.settings import read_settings
from webhook.app import run
from webhook.settings import WebhookSettings


def serve(arguments: Sequence[str], program: str) -> int:
    """Serve until SIGTERM, as flags and environment say; return the exit code."""
    settings = read_settings(WebhookSettings, program, arguments, os.environ)
    logs.set_up(settings.verbosity)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(run(settings))
    except (ConfigError, OSError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed, and Python's own elsewhere."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        return None
    return uvloop.new_event_loop
