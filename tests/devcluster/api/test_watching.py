"""Watching objects: from a version on, with what there is first, with bookmarks, and when it is too late."""

import asyncio

import pytest

from tests.devcluster.api.client import TABLE, Api
from tests.devcluster.api.conftest import embedded_api


async def version_of(api: Api) -> str:
    version: str = (await api.get(api.widgets)).body["metadata"]["resourceVersion"]
    return version


async def test_a_watch_tells_what_happens_after_its_version(api: Api):
    await api.widget("before")
    version = await version_of(api)

    async with api.watch(api.widgets, resourceVersion=version) as events:
        await api.widget("a")
        await api.patch(f"{api.widgets}/a", {"spec": {"size": 5}})
        await api.delete(f"{api.widgets}/a")

        told = [await events.next() for _ in range(3)]

    assert [kind for kind, _ in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert [obj["spec"]["size"] for _, obj in told] == [3, 5, 5]
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in told]
    assert versions == sorted(set(versions))


async def test_a_watch_goes_on_where_another_ended(api: Api):
    version = await version_of(api)
    await api.widget("a")
    await api.widget("b")

    async with api.watch(api.widgets, resourceVersion=version) as events:
        _, first = await events.next()
    async with api.watch(api.widgets, resourceVersion=first["metadata"]["resourceVersion"]) as events:
        assert await events.names(1) == ["ADDED b"]


@pytest.mark.parametrize("version", [{}, {"resourceVersion": "0"}])
async def test_a_watch_without_a_version_begins_with_what_there_is(api: Api, version: dict[str, str]):
    await api.widget("a")
    await api.widget("b")
    # A real server's watch cache may be a little behind, and then version 0 begins a little earlier.
    await version_of(api)

    async with api.watch(api.widgets, **version) as events:
        assert sorted(await events.names(2)) == ["ADDED a", "ADDED b"]
        await api.widget("c")
        assert await events.names(1) == ["ADDED c"]


async def test_a_streaming_list_ends_with_a_bookmark_that_says_so(api: Api):
    await api.widget("a")
    await api.widget("b")
    version = await version_of(api)

    async with api.watch(
        api.widgets, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    ) as events:
        told = [await events.next() for _ in range(3)]
        await api.widget("c")
        after = await events.names(1)

    assert [kind for kind, _ in told] == ["ADDED", "ADDED", "BOOKMARK"]
    _, bookmark = told[2]
    assert (bookmark["kind"], bookmark["metadata"]["annotations"]) == ("Widget", {"k8s.io/initial-events-end": "true"})
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)
    assert after == ["ADDED c"]


async def test_a_streaming_list_needs_a_version_match(api: Api):
    answer = await api.get(api.widgets, watch="true", sendInitialEvents="true", allowWatchBookmarks="true")

    assert answer.code == 422


async def test_a_watch_sees_its_namespace_alone(api: Api):
    version = await version_of(api)
    other = f"{api.namespace}-other"
    await api.post("/api/v1/namespaces", {"metadata": {"name": other}})

    async with api.watch(api.widgets, resourceVersion=version) as events:
        elsewhere = api.widgets.replace(api.namespace, other)
        await api.post(elsewhere, {"metadata": {"name": "x"}, "apiVersion": "tests.example/v1", "kind": "Widget"})
        await api.widget("a")
        assert await events.names(1) == ["ADDED a"]
    await api.delete(f"/api/v1/namespaces/{other}")


async def test_a_watch_of_one_name_sees_no_other(api: Api):
    version = await version_of(api)

    async with api.watch(api.widgets, resourceVersion=version, fieldSelector="metadata.name=b") as events:
        await api.widget("a")
        await api.widget("b")
        assert await events.names(1) == ["ADDED b"]


async def test_what_comes_to_fit_a_selector_is_added_and_what_ceases_to_is_deleted(api: Api):
    await api.widget("a", labels={"tier": "back"})
    version = await version_of(api)

    async with api.watch(api.widgets, resourceVersion=version, labelSelector="tier=front") as events:
        await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"tier": "front"}}})
        await api.patch(f"{api.widgets}/a", {"spec": {"size": 5}})
        changed = await api.patch(f"{api.widgets}/a", {"metadata": {"labels": {"tier": "back"}}})
        told = [await events.next() for _ in range(3)]

    assert [kind for kind, _ in told] == ["ADDED", "MODIFIED", "DELETED"]
    _, last = told[2]
    assert last["metadata"]["labels"] == {"tier": "front"}
    assert last["metadata"]["resourceVersion"] == changed.body["metadata"]["resourceVersion"]


async def test_a_watch_ends_in_order_when_its_time_is_over(api: Api):
    version = await version_of(api)

    async with api.watch(api.widgets, resourceVersion=version, timeoutSeconds="1") as events:
        assert await asyncio.wait_for(events.line(), timeout=10) == b""


async def test_a_watch_may_be_of_tables_whose_first_names_the_columns(api: Api):
    version = await version_of(api)

    async with api.watch(api.widgets, accept=TABLE, resourceVersion=version) as events:
        await api.widget("a", size=7)
        await api.widget("b", size=8)
        told = [await events.next() for _ in range(2)]

    assert [table["kind"] for _, table in told] == ["Table", "Table"]
    assert [table["rows"][0]["cells"][:2] for _, table in told] == [["a", 7], ["b", 8]]
    assert [bool(table["columnDefinitions"]) for _, table in told] == [True, False]


async def test_a_version_that_makes_no_sense_is_refused(api: Api):
    answer = await api.get(api.widgets, watch="true", resourceVersion="x")

    assert answer.message.startswith('resourceVersion: Invalid value: "x": ')


async def test_a_watch_from_a_forgotten_version_is_told_410_in_its_stream(embedded: Api):
    version = await version_of(embedded)
    await embedded.widget("a")
    embedded.server.store.compact()

    async with embedded.watch(embedded.widgets, resourceVersion=version) as events:
        kind, status = await events.next()
        rest = await events.line()

    assert events.code == 200
    assert (kind, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")
    assert status["message"].startswith(f"too old resource version: {version} (")
    assert rest == b""


async def test_a_watch_that_follows_is_not_hurt_when_the_past_is_forgotten(embedded: Api):
    version = await version_of(embedded)

    async with embedded.watch(embedded.widgets, resourceVersion=version) as events:
        await embedded.widget("a")
        assert await events.names(1) == ["ADDED a"]
        embedded.server.store.compact()
        await embedded.widget("b")
        assert await events.names(1) == ["ADDED b"]


async def test_bookmarks_say_how_far_a_quiet_watch_has_come():
    async with embedded_api(bookmark_every=0.05) as api:
        version = await version_of(api)

        async with api.watch(api.widgets, resourceVersion=version, allowWatchBookmarks="true") as events:
            await api.post(api.configmaps, {"metadata": {"name": "a"}})
            current = str(api.server.store.version)
            async with asyncio.timeout(10):
                while (bookmark := await events.next())[1]["metadata"]["resourceVersion"] != current:
                    assert bookmark[0] == "BOOKMARK"

        assert bookmark[1]["kind"] == "Widget"


async def test_watches_see_every_change_in_order_when_many_are_made_at_once(api: Api):
    version = await version_of(api)

    async with api.watch(api.widgets, resourceVersion=version) as events:
        await asyncio.gather(*(api.widget(f"w{i}") for i in range(100)))
        told = [await events.next() for _ in range(100)]

    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in told]
    assert versions == sorted(versions)
    assert {obj["metadata"]["name"] for _, obj in told} == {f"w{i}" for i in range(100)}


async def test_the_watches_of_a_kind_end_with_its_definition(embedded: Api):
    version = await version_of(embedded)

    async with embedded.watch(embedded.widgets, resourceVersion=version) as events:
        await embedded.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.tests.example")
        assert await asyncio.wait_for(events.line(), timeout=10) == b""
