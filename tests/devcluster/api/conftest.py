"""The API under test is the embedded server's, and a real kube-apiserver's: what is promised holds on both.

Tests of this folder use `api`, and so run on both; those of what only the embedded server has use `embedded`.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import aiohttp
import pytest

from devcluster.server import ApiServer
from tests.devcluster.api.client import WIDGETS, Api
from tests.devcluster.api.webhook import Webhook
from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver

numbers = count(1)

REAL = pytest.param("real", marks=[pytest.mark.real, pytest.mark.xdist_group("real API server")])


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApiserver]:
    crd = tmp_path_factory.mktemp("crds") / "widgets.json"
    crd.write_text(json.dumps(WIDGETS))
    with KubeApiserver(require_binaries(), crds=[crd]) as server:
        yield server


@pytest.fixture(params=["embedded", REAL])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    if request.param == "embedded":
        async with embedded_api() as api:
            yield api
        return
    server: KubeApiserver = request.getfixturevalue("real_server")
    context = ssl.create_default_context(cafile=str(server.ca_file))
    name = f"test-{next(numbers)}"
    async with aiohttp.ClientSession() as session:
        api = Api(session, server.url, server.token, context, name)
        created = await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
        assert created.code == 201, created.body
        yield api
        await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def embedded() -> AsyncIterator[Api]:
    async with embedded_api() as api:
        yield api


@asynccontextmanager
async def embedded_api(**options: Any) -> AsyncIterator[Api]:
    """Run the embedded server with widgets and a namespace of the test's own."""
    async with ApiServer(**options) as server, aiohttp.ClientSession() as session:
        context = ssl.create_default_context(cadata=server.certificate.ca.decode())
        api = Api(session, server.url, server.admin_token, context, "test", server)
        await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
        await api.post("/api/v1/namespaces", {"metadata": {"name": "test"}})
        yield api


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with Webhook().serving() as webhook:
        yield webhook


Until = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]


async def until(holds: Callable[[], Awaitable[Any]], within: float = 30.0) -> Any:
    """Ask until the answer is true, and return it; fail when it takes too long."""
    async with asyncio.timeout(within):
        while not (answer := await holds()):  # noqa: ASYNC110 - what is waited for is on the other side of HTTP
            await asyncio.sleep(0.02)
        return answer
