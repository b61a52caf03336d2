"""New private keys and serial numbers: what of a certificate is random."""

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a private key, ECDSA P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def new_serial() -> int:
    """Make a serial number that no other certificate has."""
    return x509.random_serial_number()
