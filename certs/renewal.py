"""Decide whether certificates that lie in a directory still serve, or which of them are to be issued anew.

Pure: what was found, what is wanted and the time come in, an answer goes out.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from certs.issue import Pair, ServerNames, names_of


class Issue(Enum):
    """What is to be issued."""

    NOTHING = "nothing"
    SERVER = "a server certificate"
    ALL = "a CA and a server certificate"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be issued, and why, for a person."""

    issue: Issue
    why: str


def decide(ca: Pair | None, server: Pair | None, wanted: ServerNames, now: datetime) -> Decision:
    """Keep what serves, renew after two thirds of its life, and touch the CA only where it must be."""
    if ca is None:
        return Decision(Issue.ALL, "there is none yet")
    if is_worn(ca.certificate, now):
        return Decision(Issue.ALL, "the CA has come to two thirds of its life")
    why = _why_renew(ca, server, wanted, now)
    return Decision(Issue.SERVER, why) if why else Decision(Issue.NOTHING, "they are valid, and for the same names")


def _why_renew(ca: Pair, server: Pair | None, wanted: ServerNames, now: datetime) -> str | None:
    if server is None:
        return "there is none yet"
    if not signed_by(server.certificate, ca.certificate):
        return "another CA has signed it"
    if set(names_of(server.certificate).general_names()) != set(wanted.general_names()):
        return "its names have changed"
    if is_worn(server.certificate, now):
        return "it has come to two thirds of its life"
    return None


def is_worn(certificate: x509.Certificate, now: datetime) -> bool:
    """Two thirds of its life are over, or it is not valid at all yet."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return not begin <= now < begin + (end - begin) * 2 / 3


def signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    """Say whether the CA's own key has signed the certificate."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True
