"""The certificate is read again when its files change, and a bad pair never takes the place of a good one."""

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509

from tests.webhook.reviews import creation, sent
from tests.webhook.serving import head, serving, until
from webhook.certificates import Certificates, Files, Served, load

NOW = datetime.now(UTC)


class Mounted:
    """A directory with a certificate and its key, as Kubernetes mounts a Secret: `..data` is a link that moves."""

    def __init__(self, path: Path, ca: trustme.CA) -> None:
        self.path, self._ca, self._count = path, ca, 0
        for name in ("tls.crt", "tls.key"):
            (path / name).symlink_to(Path("..data") / name)
        self.files = Files(path / "tls.crt", path / "tls.key")

    def issue(self, **about: object) -> trustme.LeafCert:
        return self._ca.issue_cert("127.0.0.1", **about)  # type: ignore[arg-type]

    def put(self, certificate: bytes, key: bytes) -> None:
        self._count += 1
        version = self.path / f"..{self._count}"
        version.mkdir()
        (version / "tls.crt").write_bytes(certificate)
        (version / "tls.key").write_bytes(key)
        (self.path / "..new").symlink_to(version.name)
        os.replace(self.path / "..new", self.path / "..data")

    def put_pair(self, leaf: trustme.LeafCert) -> None:
        self.put(chain(leaf), leaf.private_key_pem.bytes())


def chain(leaf: trustme.LeafCert) -> bytes:
    return b"".join(pem.bytes() for pem in leaf.cert_chain_pems)


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def mounted(tmp_path: Path, ca: trustme.CA) -> Mounted:
    return Mounted(tmp_path, ca)


class Heard:
    """What certificates told."""

    def __init__(self) -> None:
        self.served: list[Served] = []
        self.failures = 0

    def failed(self) -> None:
        self.failures += 1

    def certificates(self, mounted: Mounted, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Certificates:
        return Certificates(mounted.files, now, self.served.append, self.failed)


def test_a_good_pair_is_served_with(mounted: Mounted) -> None:
    heard = Heard()
    certificates = heard.certificates(mounted)
    assert certificates.not_ready()
    leaf = mounted.issue()
    mounted.put_pair(leaf)
    certificates.refresh()
    assert certificates.not_ready() is None
    parsed = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    assert heard.served[0].expires == parsed.not_valid_after_utc


def test_what_has_not_changed_is_not_loaded_again(mounted: Mounted) -> None:
    heard = Heard()
    certificates = heard.certificates(mounted)
    mounted.put_pair(mounted.issue())
    certificates.refresh()
    context = certificates.context
    certificates.refresh()
    assert certificates.context is context
    assert len(heard.served) == 1


def test_there_is_nothing_to_serve_with_before_there_are_files(mounted: Mounted) -> None:
    heard = Heard()
    certificates = heard.certificates(mounted)
    for _ in range(3):
        certificates.refresh()
    assert certificates.context is None
    assert "No such file" in (certificates.not_ready() or "")
    assert heard.failures == 1, "the same trouble is told once"


def bad_pairs(ca: trustme.CA) -> dict[str, Callable[[Mounted], tuple[bytes, bytes]]]:
    one, other = ca.issue_cert("127.0.0.1"), ca.issue_cert("127.0.0.1")
    rsa = ca.issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
    key = one.private_key_pem.bytes()
    expired = ca.issue_cert("127.0.0.1", not_after=NOW - timedelta(seconds=1))
    early = ca.issue_cert("127.0.0.1", not_before=NOW + timedelta(hours=12), not_after=NOW + timedelta(days=1))
    return {
        "half of the certificate": lambda _: (chain(one)[:200], key),
        "half of the key": lambda _: (chain(one), key[:100]),
        "the key of another certificate": lambda _: (chain(one), other.private_key_pem.bytes()),
        "a key of another kind": lambda _: (chain(one), rsa.private_key_pem.bytes()),
        "an empty certificate": lambda _: (b"", key),
        "an empty key": lambda _: (chain(one), b""),
        "no PEM at all": lambda _: (b"\x00\xff" * 100, b"\x00\xff" * 100),
        "the two swapped": lambda _: (key, chain(one)),
        "an expired certificate": lambda _: (chain(expired), expired.private_key_pem.bytes()),
        "a certificate of the future": lambda _: (chain(early), early.private_key_pem.bytes()),
    }


@pytest.mark.parametrize("what", list(bad_pairs(trustme.CA())))
def test_a_bad_pair_leaves_the_old_one_and_counts_once(what: str, mounted: Mounted, ca: trustme.CA) -> None:
    heard = Heard()
    certificates = heard.certificates(mounted)
    mounted.put_pair(mounted.issue())
    certificates.refresh()
    good = certificates.context
    mounted.put(*bad_pairs(ca)[what](mounted))
    for _ in range(3):
        certificates.refresh()
    assert certificates.context is good
    assert certificates.problem
    assert certificates.not_ready() is None, "with the old one it can serve"
    assert heard.failures == 1
    mounted.put_pair(mounted.issue())
    certificates.refresh()
    assert certificates.context is not good
    assert certificates.problem is None


def test_files_that_change_while_they_are_read_are_read_again(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    certificates = heard.certificates(mounted)
    mounted.put_pair(mounted.issue())
    newer = mounted.issue()

    def load_slowly(*about: Any) -> Served:
        monkeypatch.undo()
        mounted.put_pair(newer)
        return load(*about)

    monkeypatch.setattr("webhook.certificates.load", load_slowly)
    certificates.refresh()
    assert (heard.served, heard.failures) == ([], 0)
    certificates.refresh()
    assert len(heard.served) == 1


def test_a_clock_that_is_five_minutes_behind_is_no_trouble(mounted: Mounted) -> None:
    leaf = mounted.issue(not_before=NOW, not_after=NOW + timedelta(days=1))
    mounted.put_pair(leaf)
    heard = Heard()
    certificates = heard.certificates(mounted, lambda: NOW - timedelta(minutes=5))
    certificates.refresh()
    assert certificates.context


def test_a_certificate_of_the_future_is_served_with_once_its_time_has_come(mounted: Mounted) -> None:
    times = [NOW - timedelta(minutes=6), NOW]
    mounted.put_pair(mounted.issue(not_before=NOW, not_after=NOW + timedelta(days=1)))
    certificates = Heard().certificates(mounted, lambda: times.pop(0))
    certificates.refresh()
    assert certificates.context is None
    certificates.refresh()
    assert certificates.context


def test_nobody_is_asked_for_the_password_of_a_key(mounted: Mounted) -> None:
    from cryptography.hazmat.primitives import serialization

    leaf = mounted.issue()
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    mounted.put(chain(leaf), locked)
    certificates = Heard().certificates(mounted)
    certificates.refresh()
    assert certificates.context is None


def test_no_part_of_a_key_is_logged(mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    one, other = mounted.issue(), mounted.issue()
    mounted.put(chain(one), other.private_key_pem.bytes())
    with caplog.at_level(logging.DEBUG):
        Heard().certificates(mounted).refresh()
    assert caplog.records
    assert not any(line in caplog.text for line in other.private_key_pem.bytes().decode().splitlines() if line)


@pytest.mark.timeout(300)
async def test_the_certificate_turns_without_a_failed_request(mounted: Mounted, ca: trustme.CA) -> None:
    """Twenty certificates and some bad ones in between, while one client connects anew each time and one stays."""
    heard = Heard()
    certificates = heard.certificates(mounted)
    mounted.put_pair(mounted.issue())
    certificates.refresh()
    trust = ssl.create_default_context()
    ca.configure_trust(trust)
    body = sent(creation("get"))
    answered, serials, done = 0, set[int](), asyncio.Event()

    async def ask_anew(port: int) -> None:
        nonlocal answered
        while not done.is_set():
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
            serials.add(int(writer.get_extra_info("peercert")["serialNumber"], 16))
            writer.write(head(len(body), Connection="close") + body)
            assert b'"allowed":true' in await reader.read()
            writer.close()
            answered += 1

    async def stay(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        while not done.is_set():
            writer.write(head(len(body)) + body)
            await reader.readuntil(b'"allowed":true}}')
        writer.close()

    async with serving(tls=lambda: certificates.context) as webhook:
        following = asyncio.create_task(certificates.follow(0.01))
        async with asyncio.TaskGroup() as clients:
            clients.create_task(ask_anew(webhook.port))
            clients.create_task(stay(webhook.port))
            bad = list(bad_pairs(ca).values())
            for i in range(20):
                if i % 2:
                    failures = heard.failures
                    mounted.put(*bad[i // 2](mounted))
                    await until(lambda: heard.failures > failures)  # noqa: B023
                mounted.put_pair(mounted.issue())
                await until(lambda: len(heard.served) == i + 2)  # noqa: B023
                await until(lambda: len(serials) == i + 2)  # noqa: B023
                await until(lambda: answered >= 100 * (i + 1))  # noqa: B023
            done.set()
        following.cancel()
    assert len(serials) == 21


async def rotate_the_ca(directory: Path, *, overlap: bool) -> tuple[int, int]:
    """Move three replicas, one after the other, from one CA to the next; how many requests succeed, and fail.

    With an overlap clients trust both CAs from before the first replica moves until after the last has.
    """
    old, new = trustme.CA(), trustme.CA()
    replicas = []
    for i in range(3):
        (directory / f"{i}").mkdir()
        replicas.append(Mounted(directory / f"{i}", old))
        replicas[i].put_pair(replicas[i].issue())
    certificates = [Certificates(replica.files) for replica in replicas]
    answered, failed, done = 0, 0, asyncio.Event()
    trust = trusted(old)
    body = sent(creation("get"))

    async def ask(port: int) -> None:
        nonlocal answered, failed
        while not done.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
                writer.write(head(len(body), Connection="close") + body)
                answered += b'"allowed":true' in await reader.read()
                writer.close()
            except ssl.SSLCertVerificationError:
                failed += 1

    async def some_more(count: int = 60) -> None:
        enough = answered + failed + count
        await until(lambda: answered + failed >= enough, 30)

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as clients:
        for each in certificates:
            each.refresh()
            webhook = await stack.enter_async_context(serving(tls=lambda each=each: each.context))  # type: ignore[misc]
            clients.create_task(ask(webhook.port))
        await some_more()
        if overlap:
            trust = trusted(old, new)
        for replica, its in zip(replicas, certificates, strict=True):
            await some_more()
            leaf = new.issue_cert("127.0.0.1")
            replica.put(chain(leaf), leaf.private_key_pem.bytes())
            its.refresh()
        await some_more()
        trust = trusted(new)
        await some_more()
        done.set()
    return answered, failed


def trusted(*cas: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for ca in cas:
        ca.configure_trust(context)
    return context


async def test_the_ca_turns_without_a_failed_request_if_both_are_trusted_meanwhile(tmp_path: Path) -> None:
    answered, failed = await rotate_the_ca(tmp_path, overlap=True)
    assert answered >= 300
    assert failed == 0


async def test_without_an_overlap_requests_fail_while_the_ca_turns(tmp_path: Path) -> None:
    """The control of the test above: it can fail."""
    _, failed = await rotate_the_ca(tmp_path, overlap=False)
    assert failed > 0
