"""The API server as the reconcilers have it: what goes out, and what is asked before it does."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from controller.cluster import KubeCluster
from controller.runtime.leader import NotLeading
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.transport import Answer, Guard, Request, Stream

KEY = Key("ml", "etl")


class Silence:
    """Carries nothing, and notes what it was given."""

    def __init__(self) -> None:
        self.sent: list[Request] = []

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        self.sent.append(request)
        return Answer(200, {}, b"{}")

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""


def refuse() -> None:
    raise NotLeading


def allow() -> None:
    """Nothing speaks against it."""


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda it: it.create_job("ml", b"{}", allow), id="a create"),
        pytest.param(lambda it: it.delete_job(KEY, "uid", "7", allow), id="a delete"),
        pytest.param(lambda it: it.patch_jobflow_status(KEY, b"[]"), id="the status of a JobFlow"),
        pytest.param(lambda it: it.patch_jobtemplate_status(KEY, b"[]"), id="the status of a JobTemplate"),
    ],
)
async def test_the_guard_is_asked_before_every_write(write: Callable[[KubeCluster], Awaitable[object]]) -> None:
    transport = Silence()
    with pytest.raises(NotLeading):
        await write(KubeCluster(KubeClient(transport), refuse))
    assert transport.sent == []


async def test_reads_need_no_guard() -> None:
    transport = Silence()
    await KubeCluster(KubeClient(transport), refuse).get_job(KEY)
    assert [request.method for request in transport.sent] == ["GET"]
