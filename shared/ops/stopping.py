"""How a program is asked to end: SIGTERM, which Kubernetes sends, or SIGINT, which is Control-C."""

import asyncio
import logging
import signal
from typing import Final

log = logging.getLogger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def stop_requested() -> asyncio.Event:
    """An event that is set once the program is asked to end.

    A second signal ends the process at once, for whoever presses Control-C twice means it.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def ask(number: signal.Signals) -> None:
        log.info("asked to stop", extra={"signal": number.name})
        stop.set()
        for each in SIGNALS:
            loop.remove_signal_handler(each)

    for each in SIGNALS:
        loop.add_signal_handler(each, ask, each)
    return stop
