"""Times and durations as they travel: RFC 3339 in UTC with whole seconds or microseconds, and Go's duration strings."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d{1,19}(?:\.\d{1,19})?)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


def format_time(moment: datetime) -> str:
    """`2025-07-08T08:21:04Z`: whole seconds, as Kubernetes' metav1.Time is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """`2025-07-08T08:21:04.000000Z`: always six digits, as Kubernetes' metav1.MicroTime is written and read."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str | None) -> datetime | None:
    """The moment that `text` names, None for what is missing or no RFC 3339 time."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_duration(text: str | None) -> timedelta | None:
    """The length of a Go duration such as `1h0m0s`, `2m45s` or `300ms`; None for what is missing or none."""
    if not text or len(text) > 64:
        return None
    sign, rest = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return timedelta(0)
    at, seconds = 0, 0.0
    while at < len(rest):
        part = _PART.match(rest, at)
        if not part:
            return None
        seconds += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    try:
        return sign * timedelta(seconds=seconds) if at else None
    except OverflowError:
        return None


def format_duration(length: timedelta) -> str:
    """Whole seconds as Go writes them: `45s`, `2m45s`, `1h0m0s`."""
    total = round(length.total_seconds())
    sign, total = ("-", -total) if total < 0 else ("", total)
    hours, minutes, seconds = total // 3600, total // 60 % 60, total % 60
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    return f"{sign}{minutes}m{seconds}s" if minutes else f"{sign}{seconds}s"
