"""What the webhook knows of the cluster, and what it asks."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import msgspec
import pytest

from shared.api.meta import ObjectMeta
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, Gone, Unreadable
from shared.kube.transport import Answer, Request
from shared.rules.jobflow_warnings import Room
from tests.shared.kube.fake_api import FakeApi, failure, no_connection, page
from tests.webhook.serving import until
from webhook.facts import PAGE, Templates, Users
from webhook.known_template import KnownSpec, KnownTemplate


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def jobflow(api: FakeApi, name: str, *flows: str, phase: str = "Running", **metadata: Any) -> None:
    spec = {"flows": [{"name": flow} for flow in flows]}
    api.put("jobflows", name, spec=spec, status={"state": {"phase": phase}}, metadata=metadata)


async def users(api: FakeApi, template: str) -> list[str]:
    return await Users(KubeClient(api)).of("ml", template)


async def test_who_names_a_template_and_has_not_finished_uses_it(api: FakeApi) -> None:
    jobflow(api, "running", "get", "train")
    jobflow(api, "new", "get", phase="")
    jobflow(api, "other", "getter")
    jobflow(api, "done", "get", phase="Succeed")
    jobflow(api, "broken", "get", phase="Failed")
    jobflow(api, "ending", "get", phase="Terminating")
    jobflow(api, "leaving", "get", deletionTimestamp="2026-11-21T12:00:00Z")
    api.put("jobflows", "empty")
    assert await users(api, "get") == ["new", "running"]
    assert await users(api, "train") == ["running"]
    assert await users(api, "nobody") == []


async def test_the_list_is_consistent_of_one_namespace_and_paged(api: FakeApi) -> None:
    for i in range(2 * PAGE + 1):
        jobflow(api, f"flow-{i:03}", "other")
    jobflow(api, "z-last", "get")
    assert await users(api, "get") == ["z-last"]
    requests = api.requests("list", "jobflows")
    assert [request.query.get("limit") for request in requests] == [str(PAGE)] * 3
    assert all(request.request.path.endswith("/namespaces/ml/jobflows") for request in requests)
    assert "resourceVersion" not in requests[0].query, "that would allow an old state"


async def test_the_list_ends_at_the_fifth_user(api: FakeApi) -> None:
    for i in range(4 * PAGE):
        jobflow(api, f"flow-{i:03}", "get")
    assert await users(api, "get") == [f"flow-{i:03}" for i in range(5)]
    assert len(api.requests("list", "jobflows")) == 1


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lambda _: failure(500), id="500"),
        pytest.param(lambda _: failure(403), id="403"),
        pytest.param(no_connection, id="no connection"),
        pytest.param(lambda _: Answer(200, {}, b"<html>"), id="no list"),
    ],
)
async def test_what_cannot_be_known_is_an_error(api: FakeApi, script: Any) -> None:
    api.when("list", "jobflows", script)
    with pytest.raises(ApiError):
        await users(api, "get")


async def test_a_list_that_breaks_off_between_two_pages_is_an_error(api: FakeApi) -> None:
    for i in range(PAGE + 1):
        jobflow(api, f"flow-{i:03}", "other")

    def expired(request: Request) -> Answer | None:
        return failure(410, "expired", "Expired") if "continue" in dict(request.query) else None

    api.when("list", "jobflows", expired, times=2)
    with pytest.raises(Gone):
        await users(api, "get")


async def test_a_jobflow_that_cannot_be_read_might_be_a_user(api: FakeApi) -> None:
    api.when("list", "jobflows", lambda _: page([{"metadata": {"name": "odd"}, "spec": {"flows": 7}}], 100))
    with pytest.raises(Unreadable):
        await users(api, "get")


@pytest.fixture
async def templates(api: FakeApi) -> AsyncIterator[Templates]:
    api.put("jobtemplates", "get", spec={})
    api.put("jobtemplates", "leaving", spec={}, metadata={"deletionTimestamp": "2026-11-21T12:00:00Z"})
    api.put("jobtemplates", "elsewhere", namespace="other", spec={})
    templates = Templates(KubeClient(api), Random(1))
    following = asyncio.create_task(templates.follow())
    yield templates
    following.cancel()


async def test_nothing_is_known_before_the_first_list(api: FakeApi) -> None:
    assert Templates(KubeClient(api), Random(1)).now()("ml") is None


async def test_templates_are_known_by_namespace(templates: Templates) -> None:
    await until(lambda: templates.now()("ml"))
    known = templates.now()("ml")
    assert known
    assert [name for name in ("get", "leaving", "elsewhere") if name in known.existing] == ["get", "leaving"]
    assert [name for name in ("get", "leaving") if name in known.deleting] == ["leaving"]


async def test_what_is_known_follows_the_cluster(api: FakeApi, templates: Templates) -> None:
    await until(lambda: api.watches)
    api.put("jobtemplates", "train", spec={})
    api.delete("jobtemplates", "get")
    known = templates.now()("ml")
    assert known
    await until(lambda: "train" in known.existing and "get" not in known.existing)


async def test_the_room_that_names_need_is_known_and_nothing_else_is_kept(api: FakeApi) -> None:
    task = {"name": "work", "replicas": 101, "template": {"spec": {"containers": [{"image": "x" * 100_000}]}}}
    spec = {"tasks": [task], "plugins": {"ray": [], "x": None}, "volumes": [{"mountPath": "/v"}]}
    api.put("jobtemplates", "get", spec=spec, metadata={"annotations": {"last-applied": "x" * 100_000}})
    templates = Templates(KubeClient(api), Random(1))
    following = asyncio.create_task(templates.follow())
    try:
        await until(lambda: templates.now()("ml"))
        known = templates.now()("ml")
        assert known
        assert known.rooms["get"] == Room(for_pods=len("-work-100"), for_labels=len("-123456789012"))
    finally:
        following.cancel()
    (kept,) = msgspec.json.decode(msgspec.json.encode([spec]), type=list[KnownSpec])
    template = KnownTemplate(ObjectMeta("get", annotations={"a": "b"}), kept)
    assert (template.spec, template.metadata) == (None, ObjectMeta("get"))
    assert template.room == known.rooms["get"]
