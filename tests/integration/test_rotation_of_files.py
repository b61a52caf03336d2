"""A webhook process whose files change under it serves on: with each new pair that is good, and with no bad one."""

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from certs.issue import Pair, ServerNames
from certs.pem import bundle_pem
from devcluster.stack.programs import free_ports
from tests.certs.making import a_ca, a_server, pem
from tests.certs.mounting import Asked, Mount, background, strictly_trusting, until
from tests.support.programs import Program

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

NAMES = ServerNames(ips=(ip_address("127.0.0.1"),))
AUTHORITY = a_ca(now=datetime.now(UTC))


def a_pair(ca: Pair = AUTHORITY, age: timedelta = timedelta(hours=1)) -> Pair:
    return a_server(ca, age, NAMES, datetime.now(UTC))


def files(pair: Pair, key_of: Pair | None = None) -> dict[str, bytes]:
    return {"tls.crt": pem(pair)[0], "tls.key": pem(key_of or pair)[1]}


@dataclass
class Webhook:
    """The process, its mount, and those who ask it."""

    mount: Mount
    metrics_at: str
    asked: Asked

    async def takes_up(self, pair: Pair) -> None:
        """Wait until a client is served with it, which may take half a minute on a busy machine."""
        serial = f"{pair.certificate.serial_number:X}"
        await until(lambda: serial in {each.lstrip("0") for each in self.asked.serials}, 30)

    async def refused(self) -> int:
        """How many states of its files it could not use."""
        return int(await self._metric("jobflow_cert_reload_failures_total"))

    async def refuses(self, count: int) -> int:
        """Wait until it has refused so many, which may take as long; how many it then has."""
        for _ in range(600):
            if (refused := await self.refused()) >= count:
                return refused
            await asyncio.sleep(0.05)
        return await self.refused()

    async def expires(self) -> float:
        return await self._metric("jobflow_certificate_expiry_timestamp_seconds")

    async def _metric(self, name: str) -> float:
        said = (await asyncio.to_thread(fetch, self.metrics_at)).decode()
        samples = [sample for family in text_string_to_metric_families(said) for sample in family.samples]
        return next(sample.value for sample in samples if sample.name == name)


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bytes(answer.read())


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    """A webhook that serves, with no API server behind it, and is asked all the time on new connections."""
    mount = Mount(tmp_path / "mount")
    first = a_pair()
    mount.put(files(first))
    port, probes, metrics = free_ports(3)
    flags = {
        "master": "http://127.0.0.1:1",
        "bind-address": "127.0.0.1",
        "port": port,
        "tls-cert-file": mount.certificate,
        "tls-private-key-file": mount.key,
        "healthz-address": f"127.0.0.1:{probes}",
        "metrics-address": f"127.0.0.1:{metrics}",
    }
    trust = strictly_trusting(bundle_pem([AUTHORITY.certificate]))
    url = f"http://127.0.0.1:{metrics}/metrics"
    program = Program("webhook", [f"--{name}={value}" for name, value in flags.items()], tmp_path / "log")
    program.launch()
    try:
        made = Webhook(mount, url, Asked())
        await reachable(port)
        clients = [made.asked.straight(port, lambda: trust, 0.001) for _ in range(2)]
        async with background(*clients):
            await made.takes_up(first)
            yield made
    finally:
        program.kill()


async def reachable(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.transport.abort()
                return


async def test_twenty_certificates_in_four_seconds_and_two_thousand_requests_without_a_failure(
    webhook: Webhook,
) -> None:
    pairs = [a_pair() for _ in range(20)]
    for pair in pairs:
        webhook.mount.put(files(pair))
        await asyncio.sleep(0.2)
    await webhook.takes_up(pairs[-1])
    await until(lambda: webhook.asked.answered >= 2000, 60)
    assert webhook.asked.failed == []
    assert len(webhook.asked.serials) >= 4, "it looks twice a second"
    assert await webhook.refused() == 0
    assert await webhook.expires() == pairs[-1].certificate.not_valid_after_utc.timestamp()


ONE, OTHER = a_pair(), a_pair()
EXPIRED = a_pair(age=timedelta(days=91))
IN_SIX_MINUTES = timedelta(hours=-1, minutes=-6)
"""Age of a certificate that is valid in six minutes: an hour is what certificates are backdated by."""

BAD: Mapping[str, Callable[[], Mapping[str, bytes]]] = {
    "half of the certificate": lambda: files(ONE) | {"tls.crt": files(ONE)["tls.crt"][:200]},
    "half of the key": lambda: files(ONE) | {"tls.key": files(ONE)["tls.key"][:80]},
    "the key of another": lambda: files(ONE, key_of=OTHER),
    "an empty certificate": lambda: files(ONE) | {"tls.crt": b""},
    "two empty files": lambda: {"tls.crt": b"", "tls.key": b""},
    "one that has expired": lambda: files(EXPIRED),
    "one that is not valid yet": lambda: files(a_pair(age=IN_SIX_MINUTES)),
    "no PEM": lambda: {"tls.crt": b"\x00\xff" * 50, "tls.key": b"\x00\xff" * 50},
}


async def test_no_bad_pair_is_ever_served_and_each_is_counted_and_the_next_good_one_taken_up(webhook: Webhook) -> None:
    for refused, (what, bad) in enumerate(BAD.items(), start=1):
        webhook.mount.put(bad())
        assert await webhook.refuses(refused) == refused, what
        answered = webhook.asked.answered
        await until(lambda: webhook.asked.answered > answered + 5)  # noqa: B023
        webhook.mount.put(files(good := a_pair()))
        await webhook.takes_up(good)
    assert webhook.asked.failed == []


async def test_files_that_are_written_over_where_they_lie_are_taken_up_once_both_are_there(webhook: Webhook) -> None:
    """As `cp` does it: for a moment the certificate is the new one, and the key the old one."""
    new = files(pair := a_pair())
    for name in ("tls.crt", "tls.key"):
        for end in (0, len(new[name]) // 2, None):
            webhook.mount.put_in_place(name, new[name][:end])
            await asyncio.sleep(0.2)
    await webhook.takes_up(pair)
    assert webhook.asked.failed == []


async def test_what_was_issued_by_a_clock_that_is_far_ahead_is_served_and_taken(webhook: Webhook) -> None:
    webhook.mount.put(files(pair := a_pair(age=timedelta(minutes=-55))))
    await webhook.takes_up(pair)
    assert webhook.asked.failed == []
