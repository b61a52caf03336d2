"""Certificates as files in a directory: ca.crt, ca.key, tls.crt, tls.key, all in PEM.

The two of the server bear the names that a Secret of type `kubernetes.io/tls` mounts.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from certs.issue import Pair
from certs.pem import certificate_pem, key_pem, read_certificate, read_key

PRIVATE = 0o600
PUBLIC = 0o644


class UnusableFilesError(Exception):
    """What lies in the directory cannot be read as a certificate and its key; says which file, and why."""


class CertificateDirectory:
    """A directory with a CA and a server certificate, or with neither yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ca_certificate, self.ca_key = path / "ca.crt", path / "ca.key"
        self.server_certificate, self.server_key = path / "tls.crt", path / "tls.key"

    def read_ca(self) -> Pair | None:
        """Read the CA; None if neither of its files is there."""
        return _read_pair(self.ca_certificate, self.ca_key)

    def read_server(self) -> Pair | None:
        """Read the server's certificate; None if neither of its files is there."""
        return _read_pair(self.server_certificate, self.server_key)

    def write_ca(self, pair: Pair) -> None:
        """Replace the CA."""
        self._write_pair(pair, self.ca_certificate, self.ca_key)

    def write_server(self, pair: Pair) -> None:
        """Replace the server's certificate."""
        self._write_pair(pair, self.server_certificate, self.server_key)

    def _write_pair(self, pair: Pair, certificate: Path, key: Path) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(key, key_pem(pair.key), PRIVATE)
        replace_file(certificate, certificate_pem(pair.certificate), PUBLIC)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file so that a reader sees the old content or the new, and never a part.

    It has its mode from the first byte on, so that a private key is never readable by others.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _read_pair(certificate_path: Path, key_path: Path) -> Pair | None:
    if not certificate_path.exists() and not key_path.exists():
        return None
    pair = Pair(_read_certificate(certificate_path), _read_key(key_path))
    if not pair.fits():
        raise UnusableFilesError(f"{key_path} is not the key of {certificate_path.name}")
    return pair


def _read_certificate(path: Path) -> x509.Certificate:
    try:
        return read_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UnusableFilesError(f"{path} cannot be read as a certificate: {error}") from error


def _read_key(path: Path) -> EllipticCurvePrivateKey:
    try:
        return read_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UnusableFilesError(f"{path} cannot be read as a private key: {error}") from error
