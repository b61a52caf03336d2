"""The plan, from every state in which anybody may have left the objects: it comes to the same good end."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.issue import Pair, ServerNames, issue_ca, issue_server
from certs.keys import new_key
from certs.pem import certificate_pem, certificates_in
from certs.rotation import IssueAuthority, IssueServer, Publish, Seen, Step, Waits, Wanted, next_step
from tests.certs.making import (
    AUTHORITY,
    CA_WORN,
    LEAF_WORN,
    NAMES,
    NOW,
    SOMEBODY_ELSE,
    a_ca,
    a_server,
    can_be_trusted,
    serials,
    verifies,
)

WANTED = Wanted(NAMES, AUTHORITY)
WAITS = Waits(timedelta(seconds=60), timedelta(seconds=180))
AT_ONCE = timedelta(0)

OURS, BEFORE, UNKNOWN = a_ca(), a_ca(CA_WORN), a_ca()
FOREIGN = a_ca(name=SOMEBODY_ELSE)
NO_CA = a_server(OURS)
"""A certificate that bears no right to sign."""


def named_like_our_ca(*, signed_by_another: bool = False, is_ca: bool = True) -> Pair:
    """A certificate of our CA's name that is not one."""
    key = new_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(AUTHORITY)
        .issuer_name(AUTHORITY)
        .public_key(key.public_key())
        .serial_number(next(serials))
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1000))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(OURS.certificate.extensions.get_extension_for_class(x509.KeyUsage).value, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(OURS.key if signed_by_another else key, hashes.SHA256())
    )
    return Pair(certificate, key)


CAS: dict[str, Pair | None] = {
    "a good one": OURS,
    "none": None,
    "worn": BEFORE,
    "expired": a_ca(timedelta(days=2000)),
    "of the future": a_ca(timedelta(days=-1)),
    "of another name": FOREIGN,
    "no CA": NO_CA,
    "signed by another": named_like_our_ca(signed_by_another=True),
    "no CA, but named like ours": named_like_our_ca(is_ca=False),
}
SERVERS: dict[str, tuple[Pair | None, x509.Certificate | None]] = {
    "a good one": (a_server(OURS), OURS.certificate),
    "none": (None, None),
    "none but its issuer": (None, OURS.certificate),
    "of the CA before": (a_server(BEFORE), BEFORE.certificate),
    "of the CA before, and it is expired": (a_server(BEFORE, timedelta(days=91)), BEFORE.certificate),
    "of an unknown CA": (a_server(UNKNOWN), UNKNOWN.certificate),
    "of somebody else": (a_server(FOREIGN), FOREIGN.certificate),
    "worn": (a_server(OURS, LEAF_WORN), OURS.certificate),
    "expired": (a_server(OURS, timedelta(days=91)), OURS.certificate),
    "of the future": (a_server(OURS, timedelta(days=-1)), OURS.certificate),
    "of another name": (a_server(OURS, names=ServerNames(("other.svc",))), OURS.certificate),
    "without its issuer": (a_server(OURS), None),
    "with another issuer": (a_server(OURS), BEFORE.certificate),
}
PIECES: dict[str, bytes] = {
    "ours": certificate_pem(OURS.certificate),
    "the one before": certificate_pem(BEFORE.certificate),
    "a foreign one": certificate_pem(FOREIGN.certificate),
    "words": b"# made by hand\n",
    "half a certificate": certificate_pem(OURS.certificate)[:300],
    "no certificate inside": b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "a key": b"-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n",
    "bytes": b"\x00\xff\xfe\n",
}
BUNDLES = [
    (),
    ("ours",),
    ("the one before",),
    ("a foreign one",),
    ("the one before", "ours"),
    ("ours", "a foreign one", "ours"),
    ("half a certificate", "ours"),
    ("words", "bytes", "no certificate inside", "a key"),
]


def held(*pieces: str) -> bytes:
    return b"".join(PIECES[piece] for piece in pieces)


def carried_out(step: Step, seen: Seen, now: datetime = NOW) -> Seen:
    """The state once a step is done."""
    match step:
        case IssueAuthority():
            return replace(seen, ca=issue_ca(new_key(), serial=next(serials), now=now, name=AUTHORITY))
        case IssueServer(ca):
            server = issue_server(new_key(), ca=ca, names=NAMES, serial=next(serials), now=now)
            return replace(seen, server=server, issuer=ca.certificate)
        case Publish(bundles):
            return replace(seen, bundles=bundles)


def brought_to_its_end(seen: Seen, now: datetime = NOW) -> tuple[Seen, list[Step]]:
    """Do all steps; each must change something, and there are few."""
    steps: list[Step] = []
    while step := next_step(seen, WANTED, now, WAITS):
        after = carried_out(step, seen, now)
        assert after != seen, step
        seen = after
        steps.append(step)
        assert len(steps) <= 5, steps
    return seen, steps


def assert_good(end: Seen, start: Seen, now: datetime = NOW) -> None:
    assert end.ca
    assert end.ca.fits()
    assert end.server
    assert end.server.fits()
    assert end.issuer == end.ca.certificate
    for bundle, before in zip(end.bundles, start.bundles, strict=True):
        trusted = certificates_in(bundle)
        for at in (now, now + timedelta(days=29)):
            assert verifies(end.server.certificate, trusted, at)
        assert can_be_trusted(bundle)
        others = [each for each in certificates_in(before) if each.subject != AUTHORITY]
        assert set(trusted) == {end.ca.certificate, *others}, "what others have put there stays, and nothing else"


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("ca", CAS)
def test_from_every_state_all_is_well_in_the_end(ca: str, server: str) -> None:
    for one, other in (*zip(BUNDLES, BUNDLES, strict=True), *pairwise(BUNDLES)):
        seen = Seen(CAS[ca], *SERVERS[server], (held(*one), held(*other)))
        end, _ = brought_to_its_end(seen)
        assert_good(end, seen)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(list(CAS.values())),
    st.sampled_from(list(SERVERS.values())),
    st.lists(st.lists(st.sampled_from(list(PIECES.values())) | st.binary(max_size=40), max_size=5), max_size=3),
    st.integers(-10, 4000),
)
def test_from_any_state_at_any_time_all_is_well_in_the_end(
    ca: Pair | None,
    server: tuple[Pair | None, x509.Certificate | None],
    bundles: list[list[bytes]],
    days: int,
) -> None:
    now = NOW + timedelta(days=days)
    seen = Seen(ca, *server, tuple(b"".join(pieces) for pieces in bundles))
    end, _ = brought_to_its_end(seen, now)
    assert_good(end, seen, now)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("ca", CAS)
def test_what_was_trusted_is_trusted_after_each_step_beside_what_follows_it(ca: str, server: str) -> None:
    """Leaf and bundle, each from before or after the step: all four combinations, but where a wait parts them."""
    for bundle in BUNDLES:
        seen = Seen(CAS[ca], *SERVERS[server], (held(*bundle),))
        while step := next_step(seen, WANTED, NOW, WAITS):
            after = carried_out(step, seen)
            if seen.server and is_trusted(seen, seen):
                assert is_trusted(after, after), step
                if not isinstance(step, Publish) or step.after == AT_ONCE:
                    assert is_trusted(seen, after), "replicas still have the old leaf"
                assert is_trusted(after, seen) or step.after, "API servers still have the old bundle"
            seen = after


def is_trusted(served: Seen, trusted: Seen) -> bool:
    assert served.server
    return all(verifies(served.server.certificate, certificates_in(bundle), NOW) for bundle in trusted.bundles)


GOOD = Seen(OURS, *SERVERS["a good one"], (held("ours"), held("ours")))


def steps_from(seen: Seen) -> list[tuple[type[Step], timedelta]]:
    return [(type(step), step.after) for step in brought_to_its_end(seen)[1]]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(GOOD, [], id="what is good is left alone"),
        pytest.param(
            Seen(None, None, None, (b"", b"")),
            [(IssueAuthority, AT_ONCE), (Publish, AT_ONCE), (IssueServer, AT_ONCE)],
            id="the first install waits for nothing",
        ),
        pytest.param(
            replace(GOOD, server=SERVERS["worn"][0]),
            [(IssueServer, AT_ONCE)],
            id="a leaf is renewed under the same CA without a wait",
        ),
        pytest.param(
            replace(GOOD, server=SERVERS["worn"][0], bundles=(held("ours", "a foreign one"),)),
            [(IssueServer, AT_ONCE)],
            id="and whoever else is trusted has no part in that",
        ),
        pytest.param(
            Seen(BEFORE, *SERVERS["of the CA before"], (held("the one before"),)),
            [
                (IssueAuthority, AT_ONCE),
                (Publish, AT_ONCE),
                (IssueServer, WAITS.published),
                (Publish, WAITS.mounted),
            ],
            id="a CA is published, then followed, and only then the old one is dropped",
        ),
        pytest.param(
            replace(GOOD, bundles=(held("ours", "a foreign one"),) * 2),
            [],
            id="the certificate of somebody else stays where it is",
        ),
        pytest.param(
            replace(GOOD, bundles=(held("ours"), held("ours", "the one before"))),
            [(Publish, WAITS.mounted)],
            id="an old CA is dropped from the one bundle that still has it",
        ),
        pytest.param(
            replace(GOOD, bundles=(held("ours"), b"")),
            [(Publish, AT_ONCE)],
            id="a webhook that was added trusts the CA at once",
        ),
        pytest.param(
            replace(GOOD, server=None, bundles=(held("ours", "the one before"),)),
            [(IssueServer, WAITS.published), (Publish, WAITS.mounted)],
            id="replicas may still serve with a leaf of the old CA that is stored no more",
        ),
        pytest.param(replace(GOOD, bundles=()), [], id="a configuration without webhooks has no bundles"),
    ],
)
def test_steps_follow_in_this_order(seen: Seen, expected: list[tuple[type[Step], timedelta]]) -> None:
    assert steps_from(seen) == expected
