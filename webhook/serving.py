"""The webhook as a program that serves."""

import os
import sys
from collections.abc import Sequence

from shared.kube.config import ConfigError
from shared.ops import logs
from shared.ops.running import run_program
from shared.ops.settings import read_settings
from webhook.app import run
from webhook.settings import WebhookSettings


def serve(arguments: Sequence[str], program: str) -> int:
    """Serve until SIGTERM, as flags and environment say; return the exit code."""
    settings = read_settings(WebhookSettings, program, arguments, os.environ)
    logs.set_up(settings.verbosity)
    try:
        run_program(run(settings))
    except (ConfigError, OSError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    return 0
