"""Moments, lengths of time and lists of names as a person reads them."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

NAMED: Final = 3
"""Names that are told before the rest is counted."""


def length(seconds: float) -> str:
    """`45s`, `3m20s`, `42m`, `2h5m`, `3d4h`: two units where the first is a small number, as kubectl writes ages."""
    total = max(0, round(seconds))
    if total < 60:
        return f"{total}s"
    if total < 600:
        return _two(total // 60, "m", total % 60, "s")
    if total < 3600:
        return f"{total // 60}m"
    if total < 86_400:
        return _two(total // 3600, "h", total % 3600 // 60, "m")
    return _two(total // 86_400, "d", total % 86_400 // 3600, "h")


def _two(first: int, unit: str, second: int, smaller: str) -> str:
    return f"{first}{unit}{second}{smaller}" if second else f"{first}{unit}"


def clock(moment: datetime, now: datetime, zone: tzinfo | None) -> str:
    """`14:02:09` today (as `zone` has it), `14:02` on the hours around, `Mar 1 14:02` on another day."""
    then, today = moment.astimezone(zone), now.astimezone(zone)
    if abs(now - moment) < timedelta(minutes=10):
        return then.strftime("%H:%M:%S")
    if then.date() == today.date():
        return then.strftime("%H:%M")
    day = f"{then.strftime('%b')} {then.day}"
    return f"{day} {then.strftime('%H:%M')}" if then.year == today.year else f"{day} {then.year}"


def since(moment: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    """` since 14:02 (3m)`, with the blank before it; nothing where the moment is not known."""
    if moment is None:
        return ""
    return f" since {clock(moment, now, zone)} ({length((now - moment).total_seconds())})"


def ago(moment: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    """` (14:02, 3m ago)`, with the blank before it; nothing where the moment is not known."""
    if moment is None:
        return ""
    return f" ({clock(moment, now, zone)}, {length((now - moment).total_seconds())} ago)"


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """`a`, `a, b`, `a, b, c and 4 more`. One more is named, for to count it takes as much room."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `1,000 entries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def entries(number: int) -> str:
    """`1 entry`, `3 entries`."""
    return counted(number, "entry", "entries")
