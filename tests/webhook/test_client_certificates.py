"""Where clients need certificates, only those of the CA and of the names that were set are served."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from tests.webhook.reviews import creation, sent
from tests.webhook.serving import authority, head, serving, trusting
from tests.webhook.test_certificates import chain
from webhook.certificates import Certificates, Files

BODY = sent(creation("get"))
CLIENTS = trustme.CA()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    leaf = authority().issue_cert("127.0.0.1")
    (tmp_path / "tls.crt").write_bytes(chain(leaf))
    leaf.private_key_pem.write_to_path(tmp_path / "tls.key")
    CLIENTS.cert_pem.write_to_path(tmp_path / "ca.crt")
    return Files(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt")


def serving_with(files: Files, **about: frozenset[str]):  # type: ignore[no-untyped-def]
    certificates = Certificates(files)
    certificates.refresh()
    assert certificates.problem is None
    return serving(tls=lambda: certificates.context, **about)


async def ask(port: int, client: trustme.LeafCert | None) -> bytes:
    """What a client with that certificate is answered, nothing where TLS refuses it."""
    tls = trusting()
    if client:
        client.configure_cert(tls)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    except (ssl.SSLError, ConnectionError):
        return b""
    try:
        writer.write(head(len(BODY), Connection="close") + BODY)
        return await reader.read()
    except (ssl.SSLError, ConnectionError):  # TLS 1.3 tells a client of its refusal only when it reads
        return b""
    finally:
        writer.transport.abort()


YESTERDAY = datetime.now(UTC) - timedelta(days=1)


@pytest.mark.parametrize(
    ("client", "status"),
    [
        pytest.param(None, b"", id="none"),
        pytest.param(trustme.CA().issue_cert("apiserver", common_name="apiserver"), b"", id="of another CA"),
        pytest.param(CLIENTS.issue_cert("apiserver", not_after=YESTERDAY), b"", id="expired"),
        pytest.param(CLIENTS.issue_cert("other.example", common_name="other"), b"403", id="of another name"),
        pytest.param(CLIENTS.issue_cert("x.example", common_name="apiserver"), b"200", id="of the common name"),
        pytest.param(CLIENTS.issue_cert("apiserver", common_name="other"), b"200", id="of the DNS name"),
    ],
)
async def test_a_client_is_served_by_its_certificate(files: Files, client: trustme.LeafCert, status: bytes) -> None:
    async with serving_with(files, clients=frozenset({"apiserver", "front-proxy"})) as webhook:
        answer = await ask(webhook.port, client)
        assert answer[9:12] == status
        assert (b'"allowed":true' in answer) == (status == b"200")


async def test_without_names_every_certificate_of_the_ca_is_served(files: Files) -> None:
    async with serving_with(files) as webhook:
        assert b'"allowed":true' in await ask(webhook.port, CLIENTS.issue_cert("anybody"))
        assert await ask(webhook.port, None) == b""


def test_a_ca_file_that_is_none_is_not_served_with(files: Files) -> None:
    assert files.client_ca
    files.client_ca.write_text("nothing")
    certificates = Certificates(files)
    certificates.refresh()
    assert certificates.context is None
    assert "no CA certificates" in (certificates.problem or "")


async def test_a_new_ca_of_clients_is_picked_up(files: Files) -> None:
    certificates = Certificates(files)
    certificates.refresh()
    newer = trustme.CA()
    async with serving(tls=lambda: certificates.context) as webhook:
        assert await ask(webhook.port, newer.issue_cert("apiserver")) == b""
        assert files.client_ca
        newer.cert_pem.write_to_path(files.client_ca)
        certificates.refresh()
        assert b'"allowed":true' in await ask(webhook.port, newer.issue_cert("apiserver"))
        assert await ask(webhook.port, CLIENTS.issue_cert("apiserver")) == b""
