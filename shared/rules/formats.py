"""Texts that Kubernetes reads: quantities, durations, names of ports and variables, labels.

Each function answers whether Kubernetes, or Volcano where that is stricter, takes a text, and if so what it means.
"""

import ipaddress
import re
from decimal import Decimal
from typing import Final

from shared.flow.names import LONGEST_LABEL, is_subdomain

_QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]++)?", re.ASCII
)
_FACTORS: Final[dict[str, Decimal]] = {
    **{
        suffix: Decimal(1000) ** power
        for suffix, power in zip("numkMGTPE", (-3, -2, -1, 1, 2, 3, 4, 5, 6), strict=True)
    },
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_LARGEST: Final = Decimal(2**63 - 1)
_SMALLEST: Final = Decimal("1e-9")
_LONGEST_QUANTITY: Final = 256

_DURATION_PART: Final = re.compile(r"([0-9]++\.?[0-9]*+|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_NANOSECONDS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_LONGEST_DURATION: Final = 256

_ENV_NAME: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*", re.ASCII)
_PORT_NAME: Final = re.compile(r"(?=[a-z0-9-]{1,15}\Z)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)


def quantity(value: float | str) -> Decimal | None:
    """What a quantity comes to, None for what is none: `2`, `"500m"`, `"1.5Gi"`, `"1e3"`.

    As Kubernetes' CRDs take it, a number is a whole one within 64 bits; `0.5` without quotes is refused. A text that
    means more than 64 bits counts as those, and what is smaller than a billionth as that, as Kubernetes itself reads.
    """
    if not isinstance(value, str):
        return Decimal(value) if value % 1 == 0 and -(2**63) <= value < 2**63 else None
    found = _QUANTITY.fullmatch(value) if len(value) <= _LONGEST_QUANTITY else None
    if not found:
        return None
    number, suffix = Decimal(found[1]), found[2]
    if suffix and suffix not in _FACTORS:
        exponent = max(-400, min(400, int(suffix[1:])))
        return _bounded(number.scaleb(exponent) if number else number)
    return _bounded(number * _FACTORS[suffix] if suffix else number)


def _bounded(amount: Decimal) -> Decimal:
    if 0 < abs(amount) < _SMALLEST:
        return _SMALLEST.copy_sign(amount)
    return max(-_LARGEST, min(_LARGEST, amount))


def is_duration(text: str) -> bool:
    """Go's `time.ParseDuration` takes it: `300ms`, `-1.5h`, `2h45m`; some 292 years are the most."""
    if len(text) > _LONGEST_DURATION:
        return False
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return True
    at, total = 0, Decimal(0)
    while at < len(rest):
        part = _DURATION_PART.match(rest, at)
        if not part:
            return False
        total += Decimal(part[1]) * _NANOSECONDS[part[2]]
        at = part.end()
    return at > 0 and total <= 2**63 - 1


def is_env_name(name: str) -> bool:
    """A variable that Volcano takes. Newer API servers take more, Volcano's webhook does not."""
    return bool(_ENV_NAME.fullmatch(name)) and name != "." and not name.startswith("..")


def is_port_name(name: str) -> bool:
    """An IANA service name: at most 15 lower case letters, digits and single hyphens inside, one letter at least."""
    return _PORT_NAME.fullmatch(name) is not None


def is_port(number: int | None) -> bool:
    """The number of a port."""
    return number is not None and 1 <= number <= 65535


def is_ip(text: str) -> bool:
    """An address of IPv4, without leading zeros, or of IPv6 without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and text.isascii()


def is_label_value(value: str) -> bool:
    """The value of a label: empty, or at most 63 letters, digits, `-`, `_` and `.`, no mark at either end."""
    return len(value) <= LONGEST_LABEL and (not value or _QUALIFIED.fullmatch(value) is not None)


def is_qualified_name(name: str) -> bool:
    """The key of a label, or the name of a resource: a name like a label's value, with or without `<subdomain>/`."""
    prefix, slash, last = name.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return 0 < len(last) <= LONGEST_LABEL and _QUALIFIED.fullmatch(last) is not None
