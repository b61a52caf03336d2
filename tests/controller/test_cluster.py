"""The API server as the reconcilers have it: what goes out, and what is asked before it does."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from controller.cluster import KubeCluster
from controller.runtime.leader import NotLeading
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import NotFound
from shared.kube.transport import Answer, Guard, Request, Stream

KEY = Key("ml", "etl")


class Silence:
    """Carries nothing, and notes what it was given."""

    def __init__(self, answer: bytes = b"{}") -> None:
        self.sent: list[Request] = []
        self.answer = answer
        self.status = 200

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        self.sent.append(request)
        return Answer(self.status, {}, self.answer)

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


@pytest.mark.parametrize(
    ("entries", "answer", "last", "query"),
    [
        pytest.param(5, b'{"metadata": {"uid": "u"}}', "/jobflows/etl", (), id="a small one, by its name"),
        pytest.param(
            1000,
            b'{"items": [{"metadata": {"uid": "u"}}]}',
            "/jobflows",
            (("fieldSelector", "metadata.name=etl"),),
            id="a wide one, from the memory of the API server",
        ),
    ],
)
async def test_the_metadata_of_a_jobflow_is_read_alone(
    entries: int, answer: bytes, last: str, query: tuple[tuple[str, str], ...]
) -> None:
    transport = Silence(answer)
    assert (await KubeCluster(KubeClient(transport)).get_jobflow_metadata(KEY, entries)).uid == "u"
    (request,) = transport.sent
    assert request.path.endswith(last)
    assert request.query == query
    assert "as=PartialObjectMetadata" in request.accept


@pytest.mark.parametrize("entries", [5, 1000])
async def test_of_a_jobflow_that_is_not_there_there_is_no_metadata(entries: int) -> None:
    transport = Silence(b'{"items": []}')
    transport.status = 200 if entries == 1000 else 404
    with pytest.raises(NotFound):
        await KubeCluster(KubeClient(transport)).get_jobflow_metadata(KEY, entries)
