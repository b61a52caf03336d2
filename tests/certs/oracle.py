"""Judges a history: could any API server, at any moment, have failed to verify any replica of the webhook?

Not one lag is drawn but all of them are judged: a replica may serve with a certificate from when it was stored until
the next one has reached even the slowest, and an API server may verify by a bundle from when it was written until even
the slowest has heard of the next. Wherever two such times overlap, the one has to verify by the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from cryptography import x509

from certs.pem import certificates_in, read_certificate
from tests.certs.making import can_be_served, can_be_trusted, verifies
from tests.certs.model import CA, CONFIGURATION, SERVER, Change, World, bundles_of, data_of

REPLICAS_LAG = timedelta(seconds=110)
"""100 s of the kubelet, and 10 s until the webhook has read its files again."""

API_SERVERS_LAG = timedelta(seconds=10)
CLOCKS = timedelta(minutes=5)
"""How far those who verify may be off."""

T = TypeVar("T")


@dataclass(frozen=True)
class Spell(Generic[T]):
    """Something, and while somebody might use it."""

    what: T
    begin: datetime
    end: datetime


def unverified(history: Sequence[Change], since: datetime, until: datetime) -> list[str]:
    """Say where an API server may not verify a replica, of the times between the two."""
    return list(_unverified(history, since, until))


def _unverified(history: Sequence[Change], since: datetime, until: datetime) -> Iterator[str]:
    served = spells(_servable(history), REPLICAS_LAG, until)
    configurations = [(change.at, bundles_of(change.new)) for change in history if change.path == CONFIGURATION]
    trusted = spells(configurations, API_SERVERS_LAG, until)
    for leaf in served:
        for bundles in trusted:
            begin, end = max(leaf.begin, bundles.begin, since), min(leaf.end, bundles.end, until)
            if begin > end:
                continue
            for i, bundle in enumerate(bundles.what):
                for at in (begin - CLOCKS, end + CLOCKS):
                    if not verifies(leaf.what, certificates_in(bundle), at):
                        yield f"webhook {i}: {leaf.what.serial_number} by the bundle of {bundles.begin} at {at}"


def _servable(history: Sequence[Change]) -> Iterator[tuple[datetime, x509.Certificate]]:
    """What replicas take up: a Secret that is of no use leaves them with what they have."""
    for change in history:
        held = data_of(change.new) if change.path == SERVER else {}
        if can_be_served(held.get("tls.crt", b""), held.get("tls.key", b"")):
            leaf = read_certificate(held["tls.crt"])
            if leaf.not_valid_after_utc > change.at:
                yield change.at, leaf


def spells(
    changes: Sequence[tuple[datetime, T]] | Iterator[tuple[datetime, T]], lag: timedelta, until: datetime
) -> list[Spell[T]]:
    """From each change until the next one has reached everybody."""
    made = list(changes)
    ends = [at + lag for at, _ in made[1:]] + [until]
    return [Spell(what, at, end) for (at, what), end in zip(made, ends, strict=True)]


def complaints(world: World, foreign: Sequence[x509.Certificate] = ()) -> list[str]:
    """Say what is not as it should be once all is done; `foreign` are the certificates of others in every bundle."""
    return list(_complaints(world, foreign))


def _complaints(world: World, foreign: Sequence[x509.Certificate]) -> Iterator[str]:
    server, ca = world.data(SERVER), world.data(CA)
    if not can_be_served(server.get("tls.crt", b""), server.get("tls.key", b"")):
        yield "what the webhook mounts is no pair"
        return
    if not can_be_served(ca.get("ca.crt", b""), ca.get("ca.key", b"")):
        yield "the CA is no pair"
        return
    if set(server) != {"tls.crt", "tls.key", "ca.crt"} or ca["ca.key"] in server.values():
        yield "the webhook mounts what it should not"
    for i, bundle in enumerate(world.bundles()):
        if not can_be_trusted(bundle):
            yield f"bundle {i} cannot be read to its end"
        if set(certificates_in(bundle)) != {read_certificate(ca["ca.crt"]), *foreign}:
            yield f"bundle {i} has other certificates than the CA's and those of others"
        leaf = read_certificate(server["tls.crt"])
        for at in (world.now, world.now + timedelta(days=29)):
            if not verifies(leaf, certificates_in(bundle), at):
                yield f"bundle {i} does not verify what is served at {at}"
