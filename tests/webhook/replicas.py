"""Offers the webhook several times, as processes behind a balancer, and the load of an API server on them.

async with fleet(directory, 3, "--shutdown-delay=2s") as replicas, Load(replicas.port, clients=6) as load:
    ...
assert load.failed == []
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Self

import trustme

from devcluster.stack.programs import free_ports
from tests.support.balancer import Balancer
from tests.support.programs import Program, answers
from tests.webhook.reviews import UID, creation, sent
from tests.webhook.serving import authority, head, trusting

BODY = sent(creation("get"))


class Replica:
    """One webhook, with no API server behind it unless there is a kubeconfig."""

    def __init__(self, name: str, directory: Path, flags: Sequence[str] = (), kubeconfig: Path | None = None) -> None:
        """Its certificate and key lie in `<name>.crt` and `<name>.key`, its log in `<name>.log`."""
        self.port, probes, self.metrics = free_ports(3)
        self._certificate, self._key = directory / f"{name}.crt", directory / f"{name}.key"
        self.renew(authority())
        values = {
            **({"kubeconfig": kubeconfig} if kubeconfig else {"master": "http://127.0.0.1:1"}),
            "bind-address": "127.0.0.1",
            "port": self.port,
            "tls-cert-file": self._certificate,
            "tls-private-key-file": self._key,
            "healthz-address": f"127.0.0.1:{probes}",
            "metrics-address": f"127.0.0.1:{self.metrics}",
        }
        arguments = [*(f"--{flag}={value}" for flag, value in values.items()), *flags]
        ready = partial(answers, f"http://127.0.0.1:{probes}/readyz")
        self.program = Program("webhook", arguments, directory / f"{name}.log", ready)

    def renew(self, ca: trustme.CA) -> None:
        """Give it a new certificate of that CA, which it takes in a moment."""
        leaf = ca.issue_cert("127.0.0.1")
        leaf.private_key_pem.write_to_path(self._key)
        self._certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))

    async def start(self) -> None:
        """Start it, and return once it is ready."""
        await asyncio.to_thread(self.program.start)

    async def stop(self) -> int:
        """Ask it to end; its exit code."""
        return await asyncio.to_thread(self.program.stop)

    def kill(self) -> None:
        """End it at once."""
        self.program.kill()


class Fleet:
    """Replicas behind a balancer."""

    def __init__(self, directory: Path, balancer: Balancer, flags: Sequence[str]) -> None:
        self._directory, self._balancer, self._flags = directory, balancer, flags
        self._made = 0
        self.replicas: list[Replica] = []

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self._balancer.port

    async def add(self) -> None:
        """Start one more, and send it new connections once it is ready."""
        replica = Replica(f"replica-{self._made}", self._directory, self._flags)
        self._made += 1
        self.replicas.append(replica)
        await replica.start()
        self._balancer.add(replica.port)

    async def retire(self, lag: float) -> int:
        """Ask the oldest to end, of which the balancer hears only `lag` seconds later; its exit code."""
        oldest = self.replicas.pop(0)
        ending = asyncio.create_task(oldest.stop())
        try:
            await asyncio.sleep(lag)
            self._balancer.remove(oldest.port)
            return await ending
        finally:
            oldest.kill()

    def crash(self) -> None:
        """Kill the oldest; the balancer does not hear of it."""
        self.replicas.pop(0).kill()


@asynccontextmanager
async def fleet(directory: Path, count: int, *flags: str) -> AsyncIterator[Fleet]:
    """So many replicas, ready."""
    async with Balancer([]) as balancer:
        running = Fleet(directory, balancer, flags)
        try:
            await asyncio.gather(*(running.add() for _ in range(count)))
            yield running
        finally:
            for replica in running.replicas:
                replica.kill()


class Load:
    """Clients that send reviews at a steady rate, half of them on connections that stay, half on a new one each time.

    They behave as an API server: a connection that the other side has closed, or has asked to close, is not used again,
    and a request that got no answer is not sent again, but has failed.
    """

    def __init__(self, port: int, clients: int, rate: float) -> None:
        self._port = port
        self._rate = rate
        self._clients = clients
        self._tls = trusting()
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()
        self.answered = 0
        self.failed: list[tuple[float, str]] = []
        """When on the monotonic clock, and how."""
        self.under_way = 0

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._client(i)) for i in range(self._clients)]
        return self

    async def __aexit__(self, *reason: object) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks)

    async def _client(self, number: int) -> None:
        """One request after the other, at its share of the rate."""
        keep = number % 2 == 0
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        clock, sequence = asyncio.get_running_loop().time, 0
        due = clock() + number / self._rate
        while not self._stop.is_set():
            await asyncio.sleep(max(0, due - clock()))
            due = max(due + self._clients / self._rate, clock() - 1)
            if connection and connection[0].at_eof():
                connection = self._hang_up(connection)
            uid = f"{number:06}{sequence:06}".ljust(len(UID), "0")
            sequence += 1
            self.under_way += 1
            try:
                async with asyncio.timeout(5):
                    if not connection:
                        connection = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls)
                    stays = await _ask(connection, uid)
                self.answered += 1
                if not stays or not keep:
                    connection = self._hang_up(connection)
            except Exception as error:
                self.failed.append((time.monotonic(), f"{type(error).__name__}: {error}"))
                connection = self._hang_up(connection)
            finally:
                self.under_way -= 1
        self._hang_up(connection)

    @staticmethod
    def _hang_up(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None) -> None:
        if connection:
            connection[1].transport.abort()


async def _ask(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], uid: str) -> bool:
    """Send one review, which must be allowed under its uid; whether the connection stays."""
    reader, writer = connection
    writer.write(head(len(BODY)) + BODY.replace(UID.encode(), uid.encode()))
    said = await reader.readuntil(b"\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200 "), said
    length = next(int(line[15:]) for line in said.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    answer = await reader.readexactly(length)
    assert b'"allowed":true' in answer, answer
    assert b'"uid":"%s"' % uid.encode() in answer, answer
    return b"connection: close" not in said.lower()
