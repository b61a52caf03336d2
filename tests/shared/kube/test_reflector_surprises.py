"""Whatever comes in the place of the next event or of an honest list, the reflector's cache ends up right."""

import asyncio
import json

import pytest

from shared.api.meta import Key
from shared.kube.errors import Unavailable
from tests.shared.kube.fake_api import FakeApi, event, page
from tests.shared.kube.following import following, phase, running, to

pytestmark = pytest.mark.looptime


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
