"""Say when a status may be written, and when a Job that was refused is tried again."""

from typing import Final

SHORTEST_PAUSE: Final = 0.5
"""Seconds between two writes of one JobFlow's status, but for what is stored at once."""

BYTES_PER_SECOND: Final = 256 * 1024
"""What the writes of one JobFlow's status may cost at most: 3 s between writes of an object of 750 KB.

The API server works through the whole object at each of them, however small the patch is."""

EASY_BYTES_PER_SECOND: Final = 40 * 1024
EASY_SHARE: Final = 20
EASY_PAUSE: Final = 2.0
"""What they cost where nobody would notice that they come no sooner: writes of a middling object, or to an API server
that is slow because it has much to do, are this far apart: a twentieth of the time at most is spent on them."""

USUALLY: Final = 0.5
"""Seconds that a write of a large object takes on two busy cores. A server that takes longer is in trouble."""

FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 20.0
"""Seconds from a refusal to the next attempt: at first, and after many."""


def pause_after(size: int, took: float = 0.0) -> float:
    """Seconds from one write of a status to the next, where the object has `size` bytes and it `took` seconds.

    From begin to begin: what the next one is going to take is left out, so that people read something new in time.
    """
    easy = min(EASY_PAUSE, max(size / EASY_BYTES_PER_SECOND, took * EASY_SHARE))
    return max(SHORTEST_PAUSE, size / BYTES_PER_SECOND - min(took, USUALLY), easy)


def retry_after(attempts: int) -> float:
    """Seconds to wait after the `attempts`-th refusal in a row; half of it is left to chance by whoever waits."""
    return float(min(FIRST_RETRY * 2 ** min(attempts - 1, 10), LAST_RETRY))
