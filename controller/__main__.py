"""`python -m controller`, and the console script `jobflow-controller`."""

import os
import sys

from controller.settings import ControllerSettings
from shared.kube.config import ConfigError
from shared.ops import logs
from shared.ops.running import run_program
from shared.ops.settings import read_settings


def main() -> None:
    """Run the controller until a signal ends it."""
    settings = read_settings(ControllerSettings, "jobflow-controller", sys.argv[1:], os.environ)
    logs.set_up(settings.verbosity)
    # What it takes to run is loaded only now, so that --help and a wrong flag are answered at once.
    from controller.app import PROGRAM, run  # noqa: PLC0415

    try:
        run_program(run(settings))
    except ConfigError as wrong:
        print(f"{PROGRAM}: {wrong}", file=sys.stderr)
        sys.exit(2)
    except OSError as wrong:
        sys.exit(f"{PROGRAM}: {wrong}")


if __name__ == "__main__":
    main()
