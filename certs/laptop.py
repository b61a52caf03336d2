"""Write a CA and a server certificate for a laptop: `python -m certs --dir DIR`.

Run again, it keeps what still serves and renews what does not.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TypeVar

from certs.files import CertificateDirectory, UnusableFilesError
from certs.issue import LEAF_LIFE, Pair, ServerNames, issue_ca, issue_server
from certs.keys import new_key, new_serial
from certs.names import address, dns_name
from certs.renewal import Issue, decide

T = TypeVar("T")

MAX_DAYS = 5 * 365
LAPTOP = ServerNames(("localhost",), (IPv4Address("127.0.0.1"), IPv6Address("::1")))


def main(arguments: Sequence[str]) -> int:
    """Bring the certificates of a directory up to date; return the exit code."""
    args = parser().parse_args(arguments)
    directory = CertificateDirectory(args.dir)
    names = ServerNames(tuple(args.dns), tuple(args.ip)) if args.dns or args.ip else LAPTOP
    try:
        report = bring_up_to_date(directory, names, timedelta(days=args.days), force=args.force)
    except UnusableFilesError as error:
        sys.stderr.write(f"certs: {error}; --force replaces all certificates of this directory\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"certs: {error}\n")
        return 1
    sys.stdout.write(f"{report}\n")
    return 0


def bring_up_to_date(directory: CertificateDirectory, names: ServerNames, life: timedelta, *, force: bool) -> str:
    """Look, decide, issue and write; return what was done, for a person."""
    now = datetime.now(UTC).replace(microsecond=0)
    ca = None if force else directory.read_ca()
    server = None if force else directory.read_server()
    if ca is None and server is not None:
        raise UnusableFilesError(f"{directory.server_certificate} is there, but the CA that signed it is not")
    decision = decide(ca, server, names, now)
    if decision.issue is Issue.ALL or ca is None:
        ca = issue_ca(new_key(), serial=new_serial(), now=now)
        directory.write_ca(ca)
    if decision.issue is not Issue.NOTHING or server is None:
        serial = new_serial()
        server = issue_server(new_key(), ca=ca, names=names, serial=serial, now=now, life=life)
        directory.write_server(server)
    done = "Kept the certificates" if decision.issue is Issue.NOTHING else f"Issued {decision.issue.value}"
    return f"{done} in {directory.path}: {decision.why}.\n{describe(directory, ca, server, names)}"


def describe(directory: CertificateDirectory, ca: Pair, server: Pair, names: ServerNames) -> str:
    """Say which file is for what, and until when."""
    return (
        f"  clients trust {directory.ca_certificate} (until {ca.certificate.not_valid_after_utc:%Y-%m-%d})\n"
        f"  the server has {directory.server_certificate} and {directory.server_key} "
        f"(until {server.certificate.not_valid_after_utc:%Y-%m-%d}, for {names})"
    )


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        prog="python -m certs",
        description="Write a CA and a server certificate into a directory, as ca.crt, ca.key, tls.crt and tls.key. "
        "What is there and still serves is kept: a certificate is renewed after two thirds of its life, or when its "
        "names have changed. For the certificates of a cluster use the chart.",
    )
    made.add_argument("--dir", type=Path, required=True, help="where the files lie; it is made if it is missing")
    made.add_argument(
        "--dns",
        type=taken(dns_name),
        action="append",
        default=[],
        metavar="NAME",
        help="a DNS name of the server; repeat",
    )
    made.add_argument(
        "--ip",
        type=taken(address),
        action="append",
        default=[],
        metavar="ADDRESS",
        help="an IP address of the server; repeat",
    )
    made.add_argument(
        "--days",
        type=taken(days),
        default=LEAF_LIFE.days,
        help="how long the server's certificate is valid (default: %(default)s); the CA's is valid for five years",
    )
    made.add_argument("--force", action="store_true", help="issue all of them anew, whatever is there")
    made.epilog = "Without --dns and --ip the names are localhost, 127.0.0.1 and ::1."
    return made


def taken(read: Callable[[str], T]) -> Callable[[str], T]:
    """Let argparse say of a value what is wrong with it."""

    def take(value: str) -> T:
        try:
            return read(value)
        except ValueError as wrong:
            raise argparse.ArgumentTypeError(str(wrong)) from None

    return take


def days(value: str) -> int:
    """Take a number of days within the life of the CA."""
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= MAX_DAYS:
        raise ValueError(f"{value!r} is not a number of days from 1 to {MAX_DAYS}")
    return int(value)
