"""The certificates that are issued are ones that strict clients take."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from certs.files import CertificateDirectory
from certs.issue import Pair, ServerNames, issue_ca, issue_server, names_of

NOW = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
NAMES = ServerNames(("jobflow-webhook.jobflow.svc", "localhost"), (ip_address("127.0.0.1"), ip_address("::1")))


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def a_ca(now: datetime = NOW) -> Pair:
    return issue_ca(new_key(), serial=1, now=now)


def a_server(ca: Pair, now: datetime = NOW, names: ServerNames = NAMES) -> Pair:
    return issue_server(new_key(), ca=ca, names=names, serial=2, now=now)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """Let both sides talk in memory until each has finished; raises what either objects to."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert sides == []


def contexts(directory: CertificateDirectory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(directory.server_certificate, directory.server_key)
    client = ssl.create_default_context(cafile=str(directory.ca_certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return server, client


@pytest.mark.parametrize("name", ["jobflow-webhook.jobflow.svc", "localhost", "127.0.0.1", "::1"])
def test_a_strict_client_takes_the_server_by_each_of_its_names(name: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    directory = CertificateDirectory(tmp_path)
    ca = a_ca(now)
    directory.write_ca(ca)
    directory.write_server(a_server(ca, now))
    handshake(*contexts(directory), name)


def test_a_client_refuses_the_server_by_another_name(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    directory = CertificateDirectory(tmp_path)
    ca = a_ca(now)
    directory.write_ca(ca)
    directory.write_server(a_server(ca, now))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"(?i)hostname"):
        handshake(*contexts(directory), "elsewhere.example")


def test_a_client_refuses_a_server_of_another_ca_of_the_same_name(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    directory = CertificateDirectory(tmp_path)
    directory.write_ca(a_ca(now))
    directory.write_server(a_server(a_ca(now), now))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(*contexts(directory), "localhost")


def test_the_server_is_valid_for_90_days_and_the_ca_for_five_years() -> None:
    ca = a_ca()
    server = a_server(ca)
    assert server.certificate.not_valid_after_utc == NOW + timedelta(days=90)
    assert ca.certificate.not_valid_after_utc == NOW + timedelta(days=5 * 365)


def test_clocks_take_them_too_that_are_five_minutes_behind_one_that_is_five_minutes_ahead() -> None:
    ca = a_ca(NOW + timedelta(minutes=5))
    for pair in (ca, a_server(ca, NOW + timedelta(minutes=5))):
        assert pair.certificate.not_valid_before_utc < NOW - timedelta(minutes=5)


def test_a_server_certificate_ends_no_later_than_its_ca() -> None:
    ca = a_ca()
    late = ca.certificate.not_valid_after_utc - timedelta(days=3)
    assert a_server(ca, late).certificate.not_valid_after_utc == ca.certificate.not_valid_after_utc


def test_what_may_be_done_with_each_is_marked_critical() -> None:
    ca = a_ca()
    for pair, is_ca in ((ca, True), (a_server(ca), False)):
        constraints = pair.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        usage = pair.certificate.extensions.get_extension_for_class(x509.KeyUsage)
        assert (constraints.critical, constraints.value.ca) == (True, is_ca)
        assert (usage.critical, usage.value.key_cert_sign, usage.value.digital_signature) == (True, is_ca, not is_ca)


def test_the_server_points_to_the_key_of_its_ca() -> None:
    ca = a_ca()
    server = a_server(ca)
    subject = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = server.certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert authority.key_identifier == subject.key_identifier


def test_a_name_too_long_for_a_common_name_is_still_a_name() -> None:
    long = ServerNames((f"{'a' * 60}.{'b' * 60}.svc",))
    assert names_of(a_server(a_ca(), names=long).certificate) == long


def test_a_server_without_any_name_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one name"):
        a_server(a_ca(), names=ServerNames())
