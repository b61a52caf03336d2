"""A server that is down, says no or hangs up is caught up with soon, and never asked more often than it can bear."""

import asyncio
from itertools import pairwise

import pytest

from shared.kube.errors import Unavailable
from tests.shared.kube.fake_api import FakeApi, bookmark, no_connection
from tests.shared.kube.following import following, running

pytestmark = pytest.mark.looptime


class TestAServerInTrouble:
    async def test_is_asked_ever_more_rarely_and_caught_up_with_when_it_is_back(self, api: FakeApi) -> None:
        running(api, "a")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(200)
            began, before = asyncio.get_running_loop().time(), len(api.seen)
            api.when("*", "*", no_connection, times=100_000)
            api.open("jobs").end(Unavailable("connection reset", reason="ConnectionFailed"))
            await asyncio.sleep(120)
            down = api.seen[before:]
            assert 12 <= len(down) <= 28
            pauses = [later.at - sooner.at for sooner, later in pairwise(down)]
            assert 0.4 <= down[0].at - began <= 0.8
            assert max(pauses) <= 10
            assert pauses[-1] > pauses[0]
            api.scripts.clear()
            running(api, "b")
            await asyncio.sleep(30)
            assert follower.holds_what_is_there()
        assert len(api.requests("list", "jobs")) == 1, "it knew its place"

    async def test_that_answers_no_again_and_again_is_asked_for_a_list(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(10)
            api.fail("watch", "jobs", 500, times=1000)
            api.open("jobs").end()
            running(api, "a")
            await asyncio.sleep(60)
            assert follower.holds_what_is_there()

    async def test_that_ends_every_watch_at_once_is_not_hammered(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            for _ in range(600):
                await asyncio.sleep(0.5)
                for watch in api.watches:
                    watch.end()
        assert len(api.seen) <= 60

    async def test_that_ends_every_watch_after_a_word_that_is_no_news_is_not_hammered(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            for _ in range(600):
                await asyncio.sleep(0.5)
                for watch in api.watches:
                    watch.send(bookmark(api.version))
                    watch.end()
        assert len(api.seen) <= 60

    async def test_that_ends_the_watch_of_a_slow_reader_is_caught_up_with_at_once(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            for number in range(50):
                await asyncio.sleep(0.1)
                running(api, f"job-{number}")
                api.open("jobs").end()
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()
        assert len(api.requests("list", "jobs")) == 1

    async def test_that_is_well_for_two_minutes_is_asked_at_once_again(self, api: FakeApi) -> None:
        api.fail("list", "jobs", 500, times=8)
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(180)
            broken = asyncio.get_running_loop().time()
            api.open("jobs").end(Unavailable("connection reset", reason="ConnectionFailed"))
            await asyncio.sleep(2)
            assert api.requests("watch", "jobs")[-1].at - broken <= 0.8

    async def test_that_asks_to_wait_is_not_asked_sooner(self, api: FakeApi) -> None:
        api.fail("list", "jobs", 429, Retry_After="17")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(1)
            api.fail("watch", "jobs", 429, Retry_After="11")
            api.open("jobs").end()
            await asyncio.sleep(60)
        first, second = api.requests("list", "jobs")
        assert second.at - first.at >= 17
        _, refused, served, *_ = api.requests("watch", "jobs")
        assert served.at - refused.at >= 11

    async def test_makes_readiness_say_so_after_five_minutes(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(1)
            api.when("*", "*", no_connection, times=100_000)
            api.open("jobs").end(Unavailable("connection reset", reason="ConnectionFailed"))
            await asyncio.sleep(200)
            assert follower.reflector.trouble() is None
            await asyncio.sleep(200)
            assert "connection refused" in (follower.reflector.trouble() or "")
            api.scripts.clear()
            await asyncio.sleep(31)
            assert follower.reflector.trouble() is None
