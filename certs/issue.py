"""Issue certificates: a CA, and the server certificates that it signs.

Everything here answers from its arguments: keys, serial numbers and the time come in. All keys are ECDSA P-256. The
extensions are those that RFC 5280 asks for and that Python 3.13 and newer verify strictly: subject and authority key
identifiers, key usage, and critical basic constraints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFE = timedelta(days=5 * 365)
LEAF_LIFE = timedelta(days=90)
CA_NAME = "jobflow webhook CA"

BACKDATED = timedelta(hours=1)
"""Certificates are valid from before now, for our clock may be ahead and that of a client behind."""


@dataclass(frozen=True, slots=True)
class ServerNames:
    """The names by which clients reach a server: at least one."""

    dns: tuple[str, ...] = ()
    ips: tuple[IPv4Address | IPv6Address, ...] = ()

    def general_names(self) -> list[x509.GeneralName]:
        """Return the names as a certificate holds them."""
        return [*map(x509.DNSName, self.dns), *map(x509.IPAddress, self.ips)]

    def __str__(self) -> str:
        return ", ".join([*self.dns, *map(str, self.ips)])


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and the private key that belongs to it."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    def fits(self) -> bool:
        """Say whether the key is the certificate's own."""
        return self.certificate.public_key() == self.key.public_key()


def issue_ca(
    key: EllipticCurvePrivateKey,
    *,
    serial: int,
    now: datetime,
    life: timedelta = CA_LIFE,
    name: x509.Name | None = None,
) -> Pair:
    """Issue a certificate authority that may sign server certificates, but no further authorities."""
    name = name or authority_name()
    public = key.public_key()
    certificate = (
        _begin(public, subject=name, issuer=name, issuer_key=public, serial=serial, now=now, life=life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key)


def authority_name(common_name: str = CA_NAME, *, namespace: str = "", secret: str = "") -> x509.Name:
    """Name a CA, in a cluster also by where its key lies, so that no two of them are taken for each other."""
    parts = {
        NameOID.COMMON_NAME: common_name,
        NameOID.ORGANIZATION_NAME: namespace,
        NameOID.ORGANIZATIONAL_UNIT_NAME: secret,
    }
    # RFC 5280 lets each have 64 characters.
    return x509.Name([x509.NameAttribute(kind, text[:64]) for kind, text in parts.items() if text])


def issue_server(
    key: EllipticCurvePrivateKey,
    *,
    ca: Pair,
    names: ServerNames,
    serial: int,
    now: datetime,
    life: timedelta = LEAF_LIFE,
) -> Pair:
    """Issue a certificate for a TLS server of these names. It ends no later than its CA."""
    alternatives = names.general_names()
    if not alternatives:
        raise ValueError("a server certificate needs at least one name")
    certificate = (
        _begin(
            key.public_key(),
            subject=_subject(names),
            issuer=ca.certificate.subject,
            issuer_key=_public_key(ca.certificate),
            serial=serial,
            now=now,
            life=min(life, ca.certificate.not_valid_after_utc - now),
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(ca.key, hashes.SHA256())
    )
    return Pair(certificate, key)


def names_of(certificate: x509.Certificate) -> ServerNames:
    """Return the names that a server certificate was issued for; none if it has no such extension."""
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ServerNames()
    addresses: Sequence[object] = held.get_values_for_type(x509.IPAddress)
    return ServerNames(
        dns=tuple(held.get_values_for_type(x509.DNSName)),
        ips=tuple(a for a in addresses if isinstance(a, IPv4Address | IPv6Address)),
    )


def _begin(
    key: EllipticCurvePublicKey,
    *,
    subject: x509.Name,
    issuer: x509.Name,
    issuer_key: EllipticCurvePublicKey,
    serial: int,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _subject(names: ServerNames) -> x509.Name:
    # A common name holds 64 characters at most; clients look at the alternative names alone.
    first = str(names).split(", ", maxsplit=1)[0]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, first[:64])])


def _public_key(certificate: x509.Certificate) -> EllipticCurvePublicKey:
    key = certificate.public_key()
    if not isinstance(key, EllipticCurvePublicKey):
        raise TypeError("a certificate with another kind of key than ECDSA")
    return key


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
