"""Decide what a cluster's certificates need next: the CA, the server's certificate, and the CA bundle of its clients.

Pure: what was seen, what is wanted and the time come in, one step goes out. `upkeep.py` carries it out, looks again,
and asks again, until there is nothing left to do. Each step is one write of one object, so that whoever dies between
two leaves a state like any other, and may be followed by anybody.

What is promised, to all who hold to the steps:

- The API server always trusts what the webhook serves. A new CA is published beside the old one, and only once every
  API server knows it the webhook gets a certificate of it; only once every replica has that the old CA is dropped.
- A server certificate is renewed under the same CA without any wait, for both verify all the while.
- Of a bundle only certificates of our CA are ever dropped, by its name. What somebody else has put there stays.
- From any state at all, damaged by whomever, it comes to the same good end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from certs.issue import Pair, ServerNames, names_of
from certs.pem import bundle_pem, certificates_in
from certs.renewal import is_worn, signed_by

AT_ONCE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is stored, as far as it can be used: what cannot be read is as good as missing."""

    ca: Pair | None
    """The CA that signs, from the CA's own Secret."""
    server: Pair | None
    """What the webhook serves with, from the Secret that it mounts."""
    issuer: x509.Certificate | None
    """The CA that is told beside it, which has signed it."""
    bundles: tuple[bytes, ...]
    """The CA bundle of each webhook in the configuration, in its order."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to come of it."""

    names: ServerNames
    """Those of the server."""
    authority: x509.Name
    """That of the CA, by which its certificates are known as ours."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long the world needs to follow."""

    published: timedelta
    """Until every API server verifies by a bundle that was written."""
    mounted: timedelta
    """Until every replica serves with what was written into its Secret: the kubelet's part, and its own."""


@dataclass(frozen=True, slots=True)
class IssueAuthority:
    """Issue a CA, and store it in place of whatever is there."""

    why: str
    after: timedelta = AT_ONCE


@dataclass(frozen=True, slots=True)
class IssueServer:
    """Issue a server certificate by this CA, and store it for the webhook."""

    ca: Pair
    why: str
    after: timedelta
    """For how long all that was seen must have stood as it is before this may be done."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Write the CA bundles, one for each webhook."""

    bundles: tuple[bytes, ...]
    why: str
    after: timedelta


Step = IssueAuthority | IssueServer | Publish


def next_step(seen: Seen, wanted: Wanted, now: datetime, waits: Waits) -> Step | None:
    """Return what is to be done next, None once all is well."""
    ca = seen.ca if seen.ca and _why_not_sign(seen.ca.certificate, wanted.authority, now) is None else None
    published = [certificates_in(bundle) for bundle in seen.bundles]
    needed = [each for each in (ca and ca.certificate, _in_service(seen, wanted, now)) if each]
    if any(_lacks(bundle, held, needed) for bundle, held in zip(seen.bundles, published, strict=True)):
        return Publish(
            tuple(bundle_pem([*held, *needed]) for held in published), "a CA is not published everywhere", AT_ONCE
        )
    if ca is None:
        return IssueAuthority(_why_not(seen, wanted, now))
    if why := _why_renew(seen, ca, wanted.names, now):
        return IssueServer(ca, why, _until_known(seen, ca, published, waits))
    if any(_superseded(held, ca, wanted.authority) for held in published):
        kept = tuple(_without(held, _superseded(held, ca, wanted.authority)) for held in published)
        return Publish(kept, "no replica serves with a certificate of the old CA any more", waits.mounted)
    return None


def _in_service(seen: Seen, wanted: Wanted, now: datetime) -> x509.Certificate | None:
    """The CA of ours by which replicas may be serving, while it is valid: it stays published until all is told anew."""
    issuer = seen.issuer
    return issuer if issuer and issuer.subject == wanted.authority and _is_valid(issuer, now) else None


def _lacks(bundle: bytes, held: tuple[x509.Certificate, ...], needed: Iterable[x509.Certificate]) -> bool:
    """Something is missing, or beside the certificates there is what a stricter reader might stumble over."""
    return not set(needed) <= set(held) or bundle.split() != bundle_pem(held).split()


def _why_not(seen: Seen, wanted: Wanted, now: datetime) -> str:
    return (seen.ca and _why_not_sign(seen.ca.certificate, wanted.authority, now)) or "there is none yet"


def _why_not_sign(certificate: x509.Certificate, authority: x509.Name, now: datetime) -> str | None:
    """Say why this CA should sign nothing more, None if it may."""
    if certificate.subject != authority:
        return "the CA bears another name"
    if not signed_by(certificate, certificate) or not _may_sign(certificate):
        return "it is not the certificate of a CA"
    return "the CA has come to two thirds of its life" if is_worn(certificate, now) else None


def _may_sign(certificate: x509.Certificate) -> bool:
    """Its extensions are those of a CA that strict clients take."""
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
        certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return False
    return constraints.critical and constraints.value.ca and usage.value.key_cert_sign


def _why_renew(seen: Seen, ca: Pair, names: ServerNames, now: datetime) -> str | None:
    if seen.server is None:
        return "there is no usable one"
    certificate = seen.server.certificate
    if seen.issuer != ca.certificate or not signed_by(certificate, ca.certificate):
        return "another CA has signed it"
    if set(names_of(certificate).general_names()) != set(names.general_names()):
        return "its names have changed"
    return "it has come to two thirds of its life" if is_worn(certificate, now) else None


def _until_known(seen: Seen, ca: Pair, published: Iterable[tuple[x509.Certificate, ...]], waits: Waits) -> timedelta:
    """Wait only where another CA is published as well: what is served now may be verified by that one alone."""
    if seen.server and signed_by(seen.server.certificate, ca.certificate):
        return AT_ONCE
    others = {each for held in published for each in held} - {ca.certificate}
    return waits.published if others else AT_ONCE


def _superseded(held: Iterable[x509.Certificate], ca: Pair, authority: x509.Name) -> set[x509.Certificate]:
    return {each for each in held if each.subject == authority and each != ca.certificate}


def _without(held: Iterable[x509.Certificate], dropped: set[x509.Certificate]) -> bytes:
    return bundle_pem(each for each in held if each not in dropped)


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
