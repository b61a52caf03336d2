"""The reflector lists what there is, watches what becomes of it, and tells each of it once its cache holds it."""

import asyncio

import pytest

from tests.shared.kube.fake_api import FakeApi, bookmark, event, failure, page
from tests.shared.kube.following import following, running, to

pytestmark = pytest.mark.looptime


class TestTheFirstList:
    async def test_comes_in_pages_and_counts_as_synced_only_when_all_was_told(self, api: FakeApi) -> None:
        running(api, *(f"job-{number:02}" for number in range(12)))
        async with following(api, pages=5) as follower:
            assert follower.reflector.trouble() == "not listed yet"
            await follower.reflector.synced.wait()
            assert follower.holds_what_is_there()
            assert len(follower.told) == 12
            assert all(follower.first)
            assert follower.reflector.trouble() is None
        assert [seen.query["limit"] for seen in api.requests("list", "jobs")] == ["5", "5", "5"]

    async def test_is_tried_for_ever_and_says_why_while_the_kind_is_not_installed(self, api: FakeApi) -> None:
        api.missing.add("jobs")
        async with following(api) as follower:
            await asyncio.sleep(600)
            assert "could not find the requested resource" in (follower.reflector.trouble() or "")
            assert 60 <= len(api.requests("list", "jobs")) <= 120
            api.missing.clear()
            running(api, "a")
            await asyncio.sleep(31)
            assert follower.reflector.trouble() is None
            assert follower.holds_what_is_there()

    async def test_that_is_outrun_by_the_servers_forgetting_is_asked_for_whole(self, api: FakeApi) -> None:
        running(api, "a", "b", "c")

        def forgotten(request: object) -> object:
            return failure(410, "the continue token has expired", "Expired") if "continue" in str(request) else None

        api.when("list", "jobs", forgotten, times=50)  # type: ignore[arg-type]
        async with following(api, pages=1) as follower:
            await asyncio.wait_for(follower.reflector.synced.wait(), 5)
            assert follower.holds_what_is_there()

    async def test_that_is_no_list_is_not_taken_for_an_empty_one(self, api: FakeApi) -> None:
        running(api, "a")
        for body in (b"{}", b"[]", b"<html>busy</html>", b'{"items":[]}', b'{"metadata":{},"items":[]}', b"\xff"):
            api.when("list", "jobs", lambda _, body=body: page([], 1)._replace(body=body))  # type: ignore[misc]
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            assert len(api.requests("list", "jobs")) == 7
            assert follower.holds_what_is_there()


class TestTheWatch:
    async def test_tells_what_was_and_what_is_once_the_cache_holds_it(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            running(api, "a")
            api.put("jobs", "a", status=to("Completed"))
            api.delete("jobs", "a")
            await asyncio.sleep(0.1)
            assert follower.news() == [
                "nothing -> a Running",
                "a Running -> a Completed",
                "a Completed -> nothing",
            ]
            assert not any(follower.first)

    async def test_hands_on_the_last_state_of_what_is_deleted_though_nobody_saw_it_alive(self, api: FakeApi) -> None:
        running(api, "a")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            follower.news()
            api.delete("jobs", "a", status=to("Completed"))
            await asyncio.sleep(0.1)
            assert follower.news() == ["a Completed -> nothing"]

    async def test_asks_for_bookmarks_and_for_an_end_at_a_random_moment(self, api: FakeApi) -> None:
        async with following(api):
            await asyncio.sleep(3600)
        asked = [seen.query for seen in api.requests("watch", "jobs")]
        assert all(query["allowWatchBookmarks"] == "true" for query in asked)
        lasting = {int(query["timeoutSeconds"]) for query in asked}
        assert all(300 <= seconds <= 600 for seconds in lasting)
        assert len(lasting) > 3

    async def test_goes_on_where_it_was_when_the_server_ends_it_in_peace(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            running(api, "a")
            await asyncio.sleep(60)
            last = api.version
            api.open("jobs").end()
            running(api, "b")
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()
        assert len(api.requests("list", "jobs")) == 1
        assert api.requests("watch", "jobs")[-1].query["resourceVersion"] == str(last)

    async def test_goes_on_from_the_last_bookmark(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(60)
            api.version += 500
            api.open("jobs").send(bookmark(api.version))
            await asyncio.sleep(0.1)
            api.forget()
            api.open("jobs").end()
            await asyncio.sleep(0.1)
            assert follower.news() == []
        assert len(api.requests("list", "jobs")) == 1

    async def test_is_opened_anew_when_nothing_comes_any_more_and_misses_nothing(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(1)
            api.open("jobs").frozen = True
            running(api, "a")
            frozen_at = asyncio.get_running_loop().time()
            await asyncio.sleep(150)
            assert follower.holds_what_is_there()
            assert api.requests("watch", "jobs")[1].at - frozen_at >= 100
        assert len(api.requests("list", "jobs")) == 1

    async def test_that_somebody_holds_back_gives_way_to_lists(self, api: FakeApi) -> None:
        api.held_back.add("jobs")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            for name in "abc":
                running(api, name)
                await asyncio.sleep(300)
                assert follower.holds_what_is_there()

    async def test_is_not_opened_anew_while_bookmarks_come(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(0.1)
            for _ in range(4):
                api.open("jobs").send(bookmark(api.version))
                await asyncio.sleep(60)
        assert len(api.requests("watch", "jobs")) == 1

    async def test_cuts_lines_wherever_the_network_cuts_them(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(0.1)
            watch = api.open("jobs")
            watch.frozen = True
            running(api, "a", "b", "c")
            watch.frozen = False
            everything = b"".join(event(kind, obj) for _, _, kind, obj in api.history)
            for at in range(0, len(everything), 7):
                watch.send(everything[at : at + 7])
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()
        assert len(api.requests("watch", "jobs")) == 1

    async def test_takes_objects_of_many_megabytes(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            api.put("jobs", "a", spec={"tasks": ["x" * 6_000_000]})
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()
