"""Offers the one way in which tests wait: until a claim comes true, with a deadline, never for a while."""

import time
from collections.abc import Callable


def eventually(claim: Callable[[], object], timeout: float = 20.0, every: float = 0.1) -> bool:
    """Ask whether a claim holds, again and again; True as soon as it does, False at the deadline."""
    deadline = time.monotonic() + timeout
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
