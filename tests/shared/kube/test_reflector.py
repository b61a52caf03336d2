"""The reflector keeps a cache in line with the API server, whatever that does.

Time is simulated: a test that waits two minutes takes none.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import pytest

from shared.api.job import Job
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.errors import Unavailable
from shared.kube.reflector import Reflector
from shared.kube.resources import JOBS
from tests.shared.kube.fake_api import FakeApi, bookmark, event, failure, no_connection, page

pytestmark = pytest.mark.looptime

Told = list[tuple[Job | None, Job | None]]


class Follower:
    """A reflector at work, its cache, and what it told."""

    def __init__(self, api: FakeApi, pages: int = 500) -> None:
        self.api = api
        self.cache: Cache[Job] = Cache({"owner": lambda job: [job.owner_uid] if job.owner_uid else []})
        self.told: Told = []
        self.first: list[bool] = []
        self.client = KubeClient(api)
        self.reflector = Reflector(self.client, JOBS, self.cache, Random(7), self.hear, page=pages)

    def hear(self, old: Job | None, new: Job | None, /, *, initial: bool) -> None:
        if new:
            assert self.cache.get(new.key) is new, "told before the cache held it"
        elif old:
            assert self.cache.get(old.key) is None or self.cache.get(old.key).uid != old.uid  # type: ignore[union-attr]
        self.told.append((old, new))
        self.first.append(initial)

    def news(self) -> list[str]:
        """What was told since the last time, in words."""
        told, self.told = self.told, []
        return [f"{phase(old)} -> {phase(new)}" for old, new in told]

    def holds_what_is_there(self) -> bool:
        there = {
            key: (o["metadata"]["uid"], o["metadata"]["resourceVersion"]) for key, o in self.api.objects["jobs"].items()
        }
        return there == {job.key: (job.uid, job.metadata.resource_version) for job in self.cache}


def phase(job: Job | None) -> str:
    return f"{job.name} {job.phase}" if job else "nothing"


@asynccontextmanager
async def following(api: FakeApi, pages: int = 500) -> AsyncIterator[Follower]:
    follower = Follower(api, pages)
    task = asyncio.create_task(follower.reflector.run())
    try:
        yield follower
    finally:
        assert not task.done(), "the reflector has ended"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not api.watches, "a watch was left open"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def running(api: FakeApi, *names: str) -> None:
    for name in names:
        api.put("jobs", name, status={"state": {"phase": "Running"}})


def to(phase: str) -> dict[str, object]:
    return {"state": {"phase": phase}}


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


A_JOB = {"metadata": {"name": "a", "namespace": "ml", "uid": "u", "resourceVersion": "7"}}

NO_EVENTS = [
    pytest.param(b"<html>502 Bad Gateway</html>\n", id="no JSON"),
    pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"x"\n', id="a truncated line"),
    pytest.param(b'{"kind":"Status","code":500}\n', id="an object that is no event"),
    pytest.param(b'"ADDED"\n', id="a string"),
    pytest.param(b"null\n", id="null"),
    pytest.param(event("RENAMED", A_JOB), id="an unknown type"),
    pytest.param(event("ADDED", {"status": {}}), id="no metadata"),
    pytest.param(event("ADDED", {"metadata": {"name": "x", "namespace": "ml"}}), id="no version"),
    pytest.param(event("ADDED", [1, 2]), id="a list for an object"),
    pytest.param(event("BOOKMARK", {"metadata": {"resourceVersion": 7}}), id="a bookmark with a number"),
    pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n', id="no UTF-8"),
    pytest.param(b"[" * 5000 + b"\n", id="deep nesting"),
    pytest.param(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}), id="410 in the stream"),
    pytest.param(event("ERROR", {"kind": "Status", "code": 500}), id="500 in the stream"),
    pytest.param(event("ERROR", {"kind": "Status"}), id="an error without a code"),
    pytest.param(event("ERROR", "what"), id="an error that is none"),
]


class TestWhateverElseComes:
    @pytest.mark.parametrize("line", NO_EVENTS)
    async def test_what_is_no_event_makes_it_list_again_and_tell_the_difference(
        self, api: FakeApi, line: bytes
    ) -> None:
        running(api, "stays", "goes", "changes", "returns")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(0.1)
            follower.news()
            api.open("jobs").frozen = True
            api.delete("jobs", "goes")
            api.put("jobs", "changes", status=to("Completed"))
            api.delete("jobs", "returns")
            api.put("jobs", "returns", status=to("Pending"))
            running(api, "comes")
            api.open("jobs").frozen = False
            api.open("jobs").send(line)
            await asyncio.sleep(2)
            assert follower.holds_what_is_there()
            assert sorted(follower.news()) == [
                "changes Running -> changes Completed",
                "goes Running -> nothing",
                "nothing -> comes Running",
                "nothing -> returns Pending",
                "returns Running -> nothing",
            ]
            assert follower.first[-1] is False
        assert len(api.requests("list", "jobs")) == 2

    async def test_a_version_that_the_server_has_forgotten_makes_it_list_again(self, api: FakeApi) -> None:
        running(api, "a")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(10)
            api.open("jobs").end(Unavailable("connection reset", reason="ConnectionFailed"))
            api.delete("jobs", "a")
            running(api, "b")
            api.forget()
            await asyncio.sleep(5)
            assert follower.holds_what_is_there()
            assert follower.news() == ["nothing -> a Running", "nothing -> b Running", "a Running -> nothing"]
        assert len(api.requests("list", "jobs")) == 2

    async def test_an_event_that_comes_twice_changes_nothing(self, api: FakeApi) -> None:
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(0.1)
            running(api, "a")
            api.put("jobs", "a", status=to("Completed"))
            api.delete("jobs", "a")
            running(api, "b")
            again = [event(kind, obj) for _, _, kind, obj in api.history]
            api.open("jobs").send(*again, *reversed(again))
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()
            assert len(follower.news()) == 4

    async def test_an_object_that_cannot_be_read_stays_what_it_was_and_harms_no_other(self, api: FakeApi) -> None:
        running(api, "a", "b")
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            follower.news()
            api.put("jobs", "a", status={"state": "not an object"})
            api.put("jobs", "b", status=to("Completed"))
            await asyncio.sleep(0.1)
            assert follower.news() == ["b Running -> b Completed"]
            assert phase(follower.cache.get(Key("ml", "a"))) == "a Running"
            api.open("jobs").send(b"garbage\n")  # so that it lists
            await asyncio.sleep(2)
            assert len(api.requests("list", "jobs")) == 2
            assert follower.news() == []
            assert phase(follower.cache.get(Key("ml", "a"))) == "a Running"
            api.delete("jobs", "a")
            api.delete("jobs", "b")
            await asyncio.sleep(0.1)
            assert follower.holds_what_is_there()

    async def test_a_list_older_than_what_was_seen_is_refused_until_it_must_be_the_truth(self, api: FakeApi) -> None:
        running(api, "a")
        old = page(list(api.objects["jobs"].values()), api.version)
        api.put("jobs", "a", status=to("Completed"))
        async with following(api) as follower:
            await follower.reflector.synced.wait()
            await asyncio.sleep(10)
            api.when("list", "jobs", lambda _: old, times=3)
            api.open("jobs").send(b"garbage\n")
            await asyncio.sleep(60)
            assert phase(follower.cache.get(Key("ml", "a"))) == "a Completed"
            # A cluster that was restored from a backup stays in its past.
            follower.news()
            restored = json.loads(old.body)
            api.version = int(restored["metadata"]["resourceVersion"])
            api.objects["jobs"] = {Key("ml", "a"): restored["items"][0]}
            api.history.clear()
            api.open("jobs").send(b"garbage\n")
            await asyncio.sleep(120)
            assert follower.news() == ["a Completed -> a Running"]


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
