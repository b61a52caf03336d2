"""Addresses to listen at, written as Volcano and Kubernetes write them: `:11251`, `127.0.0.1:8081`, `[::1]:0`."""

import ipaddress
import re
from typing import NamedTuple

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:\[\]\s/]*):([0-9]{1,5})", re.ASCII)


class Address(NamedTuple):
    """Host and port. An empty host means every interface, port 0 any port that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address that `text` names. Raises ValueError with words for whoever wrote it."""
    match = _ADDRESS.fullmatch(text)
    if not match or int(match[2]) > 65535:
        raise ValueError("must be HOST:PORT, such as 127.0.0.1:8081, or :8081 for every interface")
    host = match[1].strip("[]")
    if match[1].startswith("["):
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"has no IPv6 address between its brackets: {host}") from None
    return Address(host, int(match[2]))
