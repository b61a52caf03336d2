"""Certificates and keys as PEM: what is stored, and what is read back from where anybody may have written.

Pure. What cannot be read raises ValueError, which never holds any part of a key.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey

from certs.issue import Pair

BLOCK: Final = re.compile(
    rb"^-----BEGIN CERTIFICATE-----[ \t]*\r?$[A-Za-z0-9+/=\s]*^-----END CERTIFICATE-----[ \t]*\r?$", re.MULTILINE
)
"""A certificate in armour of its own lines, as Go's reader asks for. It holds no dash, so that a block that was cut off
does not take the next one with it."""


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Write a certificate."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: EllipticCurvePrivateKey) -> bytes:
    """Write a private key."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def bundle_pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Write certificates one after the other, each once."""
    return b"".join(dict.fromkeys(certificate_pem(certificate) for certificate in certificates))


def read_certificate(pem: bytes) -> x509.Certificate:
    """Read the first certificate."""
    return x509.load_pem_x509_certificate(pem)


def read_key(pem: bytes) -> EllipticCurvePrivateKey:
    """Read a private key. It must be of ECDSA P-256, as all of ours are, and have no password."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError:
        raise ValueError("it has a password") from None
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise ValueError("it is not an ECDSA P-256 key")
    return key


def read_pair(certificate: bytes, key: bytes) -> Pair:
    """Read a certificate with the key that belongs to it."""
    pair = Pair(read_certificate(certificate), read_key(key))
    if not pair.fits():
        raise ValueError("the key is that of another certificate")
    return pair


def certificates_in(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """Find the certificates of a bundle, each once. Whatever else is in it is left out: it verifies nobody."""
    return tuple(dict.fromkeys(_readable(bundle)))


def _readable(bundle: bytes) -> Iterator[x509.Certificate]:
    for block in BLOCK.findall(bundle):
        try:
            yield read_certificate(block)
        except ValueError:
            continue
