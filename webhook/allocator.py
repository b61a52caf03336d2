"""Has the memory of large bodies given back to the system, and not kept for the next one.

glibc keeps what was freed: in an arena for each thread, and, once it has seen a large block freed, blocks of that size
in the heap as well, where one small object behind them holds them there. A program that judges a few large bodies and
then small ones for days would keep tens of megabytes.
"""

import ctypes
from typing import Final

TRIM_THRESHOLD: Final = -1
MMAP_THRESHOLD: Final = -3
ARENA_MAX: Final = -8
"""Parameters of mallopt(3), as glibc's malloc.h numbers them."""

LARGE_BLOCK: Final = 288 * 1024
"""Bytes from which a block goes back at once. Each read of TLS takes 256 KiB for a moment, better from the heap."""

MOST_KEPT: Final = 1024 * 1024
"""Bytes that may stay free at the end of the heap."""


def give_large_blocks_back() -> bool:
    """Ask the allocator to; False where there is another one that knows nothing of this."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    wanted = {MMAP_THRESHOLD: LARGE_BLOCK, TRIM_THRESHOLD: MOST_KEPT, ARENA_MAX: 1}
    return all(mallopt(parameter, value) for parameter, value in wanted.items())
