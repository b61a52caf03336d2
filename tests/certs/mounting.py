"""Offers what lies between a Secret and whoever is served: the kubelet's mount, and clients that never stop asking.

mount = Mount(directory)             # a volume of a pod
async with kubelet(client, mount, lag=2):
    ...                              # what is stored in the Secret comes into the mount, two seconds later
"""

import asyncio
import base64
import json
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from certs.cluster import CONFIGURATIONS, SECRETS, Place
from certs.pem import bundle_pem, certificates_in
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.resources import JOBFLOWS
from shared.kube.transport import Request
from tests.support.builders import a_jobflow_object
from tests.webhook.reviews import creation, sent
from tests.webhook.serving import head

POLL = 0.05
"""Seconds between two looks at the API server."""


class Mount:
    """A directory as Kubernetes mounts a Secret: `..data` is a link to a directory of one version, and moves."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._versions = count(1)
        path.mkdir()

    @property
    def certificate(self) -> Path:
        return self.path / "tls.crt"

    @property
    def key(self) -> Path:
        return self.path / "tls.key"

    def put(self, files: Mapping[str, bytes]) -> None:
        """Show another version, all of its files at once."""
        version = self.path / f"..version-{next(self._versions)}"
        version.mkdir()
        for name, content in files.items():
            (version / name).write_bytes(content)
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(Path("..data", name))
        (self.path / "..data_tmp").symlink_to(version.name)
        os.replace(self.path / "..data_tmp", self.path / "..data")

    def put_in_place(self, name: str, content: bytes) -> None:
        """Write over a file where it lies, as no kubelet does, and every copying script."""
        (self.path / name).write_bytes(content)


@asynccontextmanager
async def background(*work: Any) -> AsyncIterator[None]:
    """Do something as long as the block lasts; what fails in it fails the test."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ended:
        if isinstance(end, Exception):
            raise end


async def kubelet(client: KubeClient, place: Place, mount: Mount, lag: Callable[[], float]) -> None:
    """Bring each version of the Secret into the mount, `lag()` seconds after it was stored."""
    shown = ""
    while True:
        with suppress(ApiError):
            secret = await read(client, SECRETS.path(place.namespace, place.secret))
            version = secret["metadata"]["resourceVersion"]
            if version != shown:
                await asyncio.sleep(lag() if shown else 0)
                mount.put({name: base64.b64decode(value) for name, value in secret["data"].items()})
                shown = version
        await asyncio.sleep(POLL)


async def read(client: KubeClient, path: str) -> dict[str, Any]:
    """An object of the API server."""
    resource = SECRETS if "/secrets/" in path else CONFIGURATIONS
    return dict(json.loads(await client.read("get", resource, Request("GET", path))))


def bundle_in(configuration: Mapping[str, Any]) -> bytes:
    """The CA bundle, which all webhooks of a configuration have alike."""
    (bundle,) = {webhook["clientConfig"].get("caBundle", "") for webhook in configuration["webhooks"]}
    return base64.b64decode(bundle)


def strictly_trusting(bundle: bytes) -> ssl.SSLContext:
    """A client as Python 3.13 makes it, and older ones do not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=bundle_pem(certificates_in(bundle)).decode())
    return context


@dataclass
class Asked:
    """What came of asking."""

    answered: int = 0
    failed: list[str] = field(default_factory=list)
    serials: set[str] = field(default_factory=set)
    """Serial numbers of the certificates that were served."""

    async def straight(self, port: int, trust: Callable[[], ssl.SSLContext], pause: float = 0) -> None:
        """Ask the webhook for a review, on a new connection each time, without end."""
        body = sent(creation("get"))
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust())
                try:
                    self.serials.add(writer.get_extra_info("peercert")["serialNumber"])
                    writer.write(head(len(body), Connection="close") + body)
                    allowed = b'"allowed":true' in await reader.read()
                finally:
                    writer.transport.abort()
                self._count(None if allowed else "not allowed")
            except OSError as failed:
                self._count(f"{type(failed).__name__}: {failed}")
            await asyncio.sleep(pause)

    async def through(self, client: KubeClient, name: str, pause: float = 0.05) -> None:
        """Create JobFlows at the API server, two of three without storing them, without end."""
        for i in count():
            body = json.dumps(a_jobflow_object("get", name=f"{name}-{i}", namespace="default")).encode()
            query = (("dryRun", "All"),) if i % 3 else ()
            try:
                await client.write("create", JOBFLOWS, Request("POST", JOBFLOWS.path("default"), query, body))
                self._count(None)
            except ApiError as failed:
                self._count(str(failed))
            await asyncio.sleep(pause)

    def _count(self, failure: str | None) -> None:
        if failure is None:
            self.answered += 1
        else:
            self.failed.append(failure)


async def until(claim: Callable[[], object], seconds: float = 20) -> None:
    """Wait until the claim holds."""
    async with asyncio.timeout(seconds):
        while not claim():  # noqa: ASYNC110 - what is claimed is on disk or on the wire
            await asyncio.sleep(0.02)
