"""Has the memory of large bodies given back to the system, and not kept for the next one.

glibc keeps what was freed: in an arena for each thread, and, once it has seen a large block freed, blocks of that size
in the heap as well, where one small object behind them holds them there. A program that judges a few large bodies and
then small ones for days would keep tens of megabytes.
"""

import ctypes
from typing import Final

MMAP_THRESHOLD: Final = -3
ARENA_MAX: Final = -8
"""Parameters of mallopt(3), as glibc's malloc.h numbers them."""

LARGE_BLOCK: Final = 128 * 1024
"""glibc's own value at its start, which it raises unless it is told."""


def give_large_blocks_back() -> bool:
    """Ask the allocator to; False where there is another one that knows nothing of this."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGE_BLOCK) and mallopt(ARENA_MAX, 1))
