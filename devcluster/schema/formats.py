"""What a text must look like to be of a `format`, for those formats that CustomResourceDefinitions may use.

Kubernetes ignores a format that it does not know, and so does this; of those that it knows, the numbers of books and
credit cards are missing. The table's keys have no dashes, because
Kubernetes compares them that way (`date-time` and `datetime` are one).
"""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_GO_DURATION = re.compile(r"[-+]?(0|([0-9]*(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDY_DURATION = re.compile(
    r"([0-9]+)\s*(nanoseconds?|ns|microseconds?|us|milliseconds?|ms|seconds?|s|minutes?|m|hours?|h|days?|d|weeks?|w)",
    re.IGNORECASE,
)
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}([:-][0-9a-f]{2}){0,14}|([0-9a-f]{4}\.){2,9}[0-9a-f]{4}", re.I)
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, separator, time = text.lower().partition("t")
    found = _TIME.fullmatch(time)
    return bool(separator and found and _is_date(day)) and time[:2] <= "23" and time[3:5] <= "59" and time[6:8] <= "59"


def _is_duration(text: str) -> bool:
    plain = _GO_DURATION.fullmatch(text) is not None and any(c.isdigit() for c in text)
    return plain or _WORDY_DURATION.search(text) is not None


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return text != ""


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text and "%" not in text


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme and (parts.netloc or parts.path))


def _is_email(text: str) -> bool:
    name, at, domain = text.rpartition("@")
    return bool(name and at and domain) and " " not in domain


def _is_hostname(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return len(text) <= 255 and all(re.fullmatch(r"[^\W_]([^\W_]|-){0,62}", label) for label in labels)


def _matching(pattern: str, flags: re.RegexFlag = re.ASCII | re.IGNORECASE) -> Callable[[str], bool]:
    expression = re.compile(pattern, flags)
    return lambda text: expression.fullmatch(text) is not None


def _short_name(text: str) -> bool:
    return len(text) <= 63 and re.fullmatch(_LABEL, text, re.ASCII) is not None


def _long_name(text: str) -> bool:
    return len(text) <= 253 and re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", text, re.ASCII) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": _is_date_time,
    "date": _is_date,
    "duration": _is_duration,
    "byte": _is_base64,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "uuid": _matching(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
    "uuid3": _matching(r"[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
    "uuid4": _matching(r"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"),
    "uuid5": _matching(r"[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"),
    "hexcolor": _matching(r"#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "ssn": _matching(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "rgbcolor": _matching(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)"),
    "bsonobjectid": _matching(r"[0-9a-f]{24}"),
    "password": lambda _: True,
    "k8sshortname": _short_name,
    "k8slongname": _long_name,
}
