"""Offers certificates of every kind that a test may find stored, and the judge of what a client takes."""

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.issue import Pair, ServerNames, authority_name, issue_ca, issue_server
from certs.keys import new_key
from certs.pem import certificate_pem, key_pem

NOW = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
NAMES = ServerNames(("jobflow-webhook.flow.svc",))
AUTHORITY = authority_name(namespace="flow", secret="jobflow-webhook-ca")
SOMEBODY_ELSE = authority_name("Corporate Root", namespace="example")

CA_WORN = timedelta(days=5 * 365 * 2 // 3 + 1)
LEAF_WORN = timedelta(days=61)

serials = count(1000)


def a_ca(age: timedelta = timedelta(days=1), name: x509.Name = AUTHORITY, now: datetime = NOW) -> Pair:
    return issue_ca(new_key(), serial=next(serials), now=now - age, name=name)


def a_server(ca: Pair, age: timedelta = timedelta(hours=1), names: ServerNames = NAMES, now: datetime = NOW) -> Pair:
    return issue_server(new_key(), ca=ca, names=names, serial=next(serials), now=now - age)


def pem(pair: Pair) -> tuple[bytes, bytes]:
    """A certificate and its key as they are stored."""
    return certificate_pem(pair.certificate), key_pem(pair.key)


def verifies(
    certificate: x509.Certificate, trusted: Sequence[x509.Certificate], at: datetime, names: ServerNames = NAMES
) -> bool:
    """Whether a strict client that trusts these takes the certificate by every one of the names, then.

    This is no code of ours: RFC 5280 and the profile of the CA/Browser Forum, as the cryptography library has them.
    """
    if not trusted:
        return False
    policy = PolicyBuilder().store(Store(list(trusted))).time(at.astimezone(UTC).replace(tzinfo=None))
    subjects = [*map(x509.DNSName, names.dns), *map(x509.IPAddress, names.ips)]
    try:
        for subject in subjects:
            policy.build_server_verifier(subject).verify(certificate, [])
    except VerificationError:
        return False
    return True


def can_be_served(certificate: bytes, key: bytes) -> bool:
    """Whether a server can be given these files."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "tls.crt"), Path(folder, "tls.key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files, password="")
        except (OSError, ValueError):
            return False
    return True


def can_be_trusted(bundle: bytes) -> bool:
    """Whether OpenSSL, which is stricter with bundles than Go is, takes all that is in it."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=bundle.decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True
