"""`python -m controller`, and the console script `jobflow-controller`."""

import logging
import os
import sys

from controller.settings import ControllerSettings
from shared.kube.config import ConfigError
from shared.ops import logs
from shared.ops.running import run_program
from shared.ops.settings import read_settings

log = logging.getLogger(__name__)


def main() -> None:
    """Run the controller until a signal ends it, or say why a JobFlow waits (`why NAMESPACE/NAME`)."""
    if sys.argv[1:2] == ["why"]:
        from controller.why.command import main as why  # noqa: PLC0415

        sys.exit(why(sys.argv[2:]))
    settings = read_settings(ControllerSettings, "jobflow-controller", sys.argv[1:], os.environ)
    logs.set_up(settings.verbosity)
    # What it takes to run is loaded only now, so that --help and a wrong flag are answered at once.
    from controller.app import PROGRAM, run  # noqa: PLC0415
    from controller.runtime.leader import LeaseLost  # noqa: PLC0415

    try:
        run_program(run(settings))
    except LeaseLost as lost:
        log.error(str(lost))
        sys.exit(1)
    except ConfigError as wrong:
        print(f"{PROGRAM}: {wrong}", file=sys.stderr)
        sys.exit(2)
    except OSError as wrong:
        sys.exit(f"{PROGRAM}: {wrong}")


if __name__ == "__main__":
    main()
