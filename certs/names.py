"""The names of a server, as a person writes them on a command line. Each function raises ValueError, saying why."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from certs.issue import ServerNames


def server_names(text: str) -> ServerNames:
    """Take names and addresses that are separated by commas: `webhook.flow.svc,127.0.0.1`."""
    dns: list[str] = []
    ips: list[IPv4Address | IPv6Address] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            ips.append(address(part))
        except ValueError:
            dns.append(dns_name(part))
    if not dns and not ips:
        raise ValueError("names no server")
    return ServerNames(tuple(dict.fromkeys(dns)), tuple(dict.fromkeys(ips)))


def dns_name(text: str) -> str:
    """Take a DNS name, with a wildcard at its front at most; a name in another script in its xn-- form."""
    labels = text.removeprefix("*.").split(".")
    # The last label of a name is never a number (RFC 3696), which tells a mistyped address from a name.
    if len(text) > 253 or not all(is_dns_label(label) for label in labels) or labels[-1].isdigit():
        raise ValueError(f"{text!r} is not a DNS name")
    return text


def address(text: str) -> IPv4Address | IPv6Address:
    """Take an IP address; a zone has no place in a certificate."""
    if "%" in text:
        raise ValueError(f"{text!r} is not an IP address")
    try:
        return ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address") from None


def is_dns_label(label: str) -> bool:
    """A part of a DNS name between dots (RFC 1123)."""
    inner = label.replace("-", "")
    return (
        0 < len(label) <= 63 and label.isascii() and inner.isalnum() and not label.startswith("-") and label[-1] != "-"
    )
