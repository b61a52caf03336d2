"""The certificate that the webhook serves with, read again when its files change.

Each state of the files gets a TLS context of its own, which is tried out before anybody is served with it: loading a
bad pair into the context in use would break it. New connections take the newest context that was good; those that are
open keep theirs. The files are looked at twice a second, which also sees the `..data` link of a mounted Secret move.
"""

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

log = logging.getLogger(__name__)

PERIOD: Final = 0.5
"""Seconds between two looks at the files."""

SKEW: Final = timedelta(minutes=5)
"""How far the clock of whoever issued a certificate may be ahead of ours."""

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""What TLS 1.2 may use; those of TLS 1.3 are all as good."""


class BadCertificateError(Exception):
    """These files cannot be served with; says why."""


@dataclass(frozen=True, slots=True)
class Files:
    """Where the certificate and its key lie, and the CA of the clients where those must have certificates too."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def read(self) -> tuple[bytes, ...]:
        """The content of all of them. Raises BadCertificateError."""
        paths = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        try:
            return tuple(path.read_bytes() for path in paths)
        except OSError as error:
            raise BadCertificateError(f"{error.filename}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Served:
    """A certificate that is good to serve with."""

    context: ssl.SSLContext
    expires: datetime
    digest: str


class Certificates:
    """The certificate in use.

    `on_change` hears of each new one, `on_failure` once of each state of the files that is no good.
    """

    def __init__(
        self,
        files: Files,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_change: Callable[[Served], None] = lambda served: None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self._files = files
        self._now = now
        self._on_change = on_change
        self._on_failure = on_failure
        self._served: Served | None = None
        self._refused = ""
        self.problem: str | None = "not read yet"
        """What is wrong with the files as they are, None where they are those in use."""

    @property
    def context(self) -> ssl.SSLContext | None:
        """What the next connection is served with, None before there was a good pair."""
        return self._served.context if self._served else None

    def not_ready(self) -> str | None:
        """For readiness: there must be a certificate. An old one is better than none."""
        return None if self._served else f"no certificate: {self.problem}"

    def refresh(self) -> None:
        """Look at the files, and serve with them from now on if they are good."""
        try:
            content = self._files.read()
        except BadCertificateError as missing:
            self._refuse(str(missing), missing)
            return
        digest = hashlib.sha256(b"\0".join(content)).hexdigest()
        if self._served and digest == self._served.digest:
            self.problem = None
            return
        try:
            served = load(self._files, content, digest, self._now())
            bad = None
        except BadCertificateError as error:
            bad = error
        if not self._still_has(content):
            return  # they are being replaced, and what was loaded may be half of each: look again in a moment
        if bad:
            self._refuse(digest, bad)
            return
        self._served, self.problem = served, None
        log.info("certificate loaded", extra={"file": self._files.certificate, "expires": served.expires.isoformat()})
        self._on_change(served)

    def _still_has(self, content: tuple[bytes, ...]) -> bool:
        try:
            return self._files.read() == content
        except BadCertificateError:
            return False

    def _refuse(self, state: str, problem: BadCertificateError) -> None:
        """Keep the old one; say so once for each state of the files."""
        self.problem = str(problem)
        if state == self._refused:
            return
        self._refused = state
        still = "the old one stays in use" if self._served else "there is none to serve with"
        log.error("certificate not loaded", extra={"reason": self.problem, "consequence": still})
        self._on_failure()

    async def follow(self, period: float = PERIOD) -> None:
        """Keep looking."""
        while True:
            await asyncio.sleep(period)
            self.refresh()


def load(files: Files, content: tuple[bytes, ...], digest: str, now: datetime) -> Served:
    """A context that serves with these files. Raises BadCertificateError."""
    certificate, _, *client_ca = content
    try:
        leaf = x509.load_pem_x509_certificates(certificate)[0]
    except ValueError as error:
        raise BadCertificateError(f"{files.certificate}: no certificate in PEM: {error}") from None
    if leaf.not_valid_after_utc <= now:
        raise BadCertificateError(f"{files.certificate}: expired at {leaf.not_valid_after_utc.isoformat()}")
    if leaf.not_valid_before_utc > now + SKEW:
        raise BadCertificateError(f"{files.certificate}: not valid before {leaf.not_valid_before_utc.isoformat()}")
    context = server_context()
    try:
        context.load_cert_chain(files.certificate, files.key, password="")
    except (OSError, ValueError) as error:
        raise BadCertificateError(f"{files.key}: not the key of {files.certificate}: {error}") from None
    if client_ca:
        try:
            context.load_verify_locations(cadata=client_ca[0].decode("ascii"))
        except (OSError, ValueError) as error:
            raise BadCertificateError(f"{files.client_ca}: no CA certificates in PEM: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return Served(context, leaf.not_valid_after_utc, digest)


def server_context() -> ssl.SSLContext:
    """TLS 1.2 and 1.3, with forward secrecy and authenticated encryption alone, and HTTP/1.1 on top."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    return context
