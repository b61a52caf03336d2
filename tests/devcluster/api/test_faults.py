"""Faults that the embedded server makes on demand: in requests and in watches, where and when a test says."""

import asyncio
import json

import aiohttp
import pytest

from devcluster.faults import (
    Answer,
    BookmarksOnly,
    Call,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Freeze,
    Hold,
    Lag,
    Match,
    Valve,
    expire,
    garble,
    truncate,
)
from tests.devcluster.api.client import Api, a_widget

CREATES = Match("create", "widgets.tests.example")
WATCHES = Match("watch", "widgets")


async def version_of(api: Api) -> str:
    version: str = (await api.get(api.widgets)).body["metadata"]["resourceVersion"]
    return version


async def is_there(api: Api, name: str) -> bool:
    return (await api.get(f"{api.widgets}/{name}")).code == 200


async def test_a_request_may_be_answered_with_an_error_and_then_changes_nothing(embedded: Api):
    embedded.server.faults.add(Fault(CREATES, Answer(429, retry_after=7)))

    answer = await embedded.post(embedded.widgets, a_widget("a"))

    assert (answer.code, answer.body["reason"], answer.headers["Retry-After"]) == (429, "TooManyRequests", "7")
    assert not await is_there(embedded, "a")


async def test_the_nth_request_alone_may_be_hit(embedded: Api):
    embedded.server.faults.add(Fault(CREATES, Answer(503), nth=2))

    codes = [(await embedded.post(embedded.widgets, a_widget(name))).code for name in "abc"]

    assert codes == [201, 503, 201]


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        (Match(), True),
        (Match("write"), True),
        (Match("update"), False),
        (Match(resource="widgets"), True),
        (Match(resource="configmaps"), False),
        (Match(namespace="test"), True),
        (Match(namespace="other"), False),
        (Match(subresource="status"), False),
        (Match(subresource=""), True),
    ],
)
async def test_a_fault_hits_what_it_matches(embedded: Api, match: Match, hit: bool):
    embedded.server.faults.add(Fault(match, Answer(503)))

    answer = await embedded.post(embedded.widgets, a_widget("a"))

    assert (answer.code == 503) is hit


@pytest.mark.parametrize("committed", [False, True])
async def test_the_connection_may_be_cut_before_or_after_the_write(embedded: Api, committed: bool):
    embedded.server.faults.add(Fault(CREATES, Drop(committed=committed)))

    with pytest.raises(aiohttp.ClientConnectionError):
        await embedded.post(embedded.widgets, a_widget("a"))

    assert await is_there(embedded, "a") is committed


@pytest.mark.parametrize("committed", [False, True])
async def test_an_answer_may_be_late_and_the_write_with_it_or_not(embedded: Api, committed: bool):
    embedded.server.faults.add(Fault(CREATES, Delay(0.5, committed=committed)))

    request = asyncio.create_task(embedded.post(embedded.widgets, a_widget("a")))
    await asyncio.sleep(0.2)
    early = await is_there(embedded, "a")

    assert (early, request.done()) == (committed, False)
    assert (await request).code == 201


async def test_a_request_may_be_held_until_the_test_lets_it_go(embedded: Api):
    hold = Hold()
    embedded.server.faults.add(Fault(CREATES, hold))

    request = asyncio.create_task(embedded.post(embedded.widgets, a_widget("a")))
    await embedded.get(embedded.widgets)
    assert not await is_there(embedded, "a")
    hold.release.set()

    assert (await request).code == 201


async def test_something_may_be_called_right_after_a_write(embedded: Api):
    called: list[bool] = []
    stored = lambda: called.append(embedded.server.store.get("widgets.tests.example", "test", "a") is not None)  # noqa: E731
    embedded.server.faults.add(Fault(CREATES, Call(stored)))

    await embedded.widget("a")

    assert called == [True]


async def test_something_may_be_called_right_before_a_write_that_is_lost(embedded: Api):
    called: list[bool] = []
    stored = lambda: called.append(embedded.server.store.get("widgets.tests.example", "test", "a") is not None)  # noqa: E731
    embedded.server.faults.add(Fault(CREATES, Call(stored, committed=False)))
    embedded.server.faults.add(Fault(CREATES, Drop()))

    with pytest.raises(aiohttp.ClientConnectionError):
        await embedded.post(embedded.widgets, a_widget("a"))

    assert called == [False]
    assert not await is_there(embedded, "a")


async def test_the_requests_of_one_user_alone_may_be_hit(embedded: Api):
    embedded.server.faults.add(Fault(Match(user="somebody-else"), Answer(503)))

    assert (await embedded.post(embedded.widgets, a_widget("a"))).code == 201


async def test_the_nth_write_is_that_of_what_is_counted(embedded: Api):
    embedded.server.faults.add(Fault(Match("write"), Answer(503), nth=2))
    lease = "/apis/coordination.k8s.io/v1/namespaces/test/leases"

    codes = [
        (await embedded.post(embedded.widgets, a_widget("a"))).code,
        (await embedded.post(lease, {"metadata": {"name": "a"}})).code,
        (await embedded.post(embedded.widgets, a_widget("b"))).code,
    ]

    assert codes == [201, 201, 503]


async def test_writes_are_counted_but_for_leases_and_events(embedded: Api):
    before = embedded.server.faults.writes

    await embedded.widget("a")
    await embedded.patch(f"{embedded.widgets}/a/status", {"status": {"phase": "x"}})
    await embedded.get(embedded.widgets)
    await embedded.post("/apis/coordination.k8s.io/v1/namespaces/test/leases", {"metadata": {"name": "a"}})

    assert embedded.server.faults.writes == before + 2


async def test_a_plan_can_be_cleared(embedded: Api):
    embedded.server.faults.add(Fault(Match(), Answer(503)))
    embedded.server.faults.clear()

    assert (await embedded.get(embedded.widgets)).code == 200


async def test_a_watch_may_fall_silent_and_stay_open(embedded: Api):
    freeze = Freeze(after_events=1)
    embedded.server.faults.add(Fault(WATCHES, freeze))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        await embedded.widget("b")
        assert await events.names(1) == ["ADDED a"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(events.line(), timeout=0.2)
        freeze.release.set()
        assert await events.names(1) == ["ADDED b"]


async def test_a_watch_may_fall_silent_again_and_again(embedded: Api):
    valve = Valve()
    valve.opened.set()
    embedded.server.faults.add(Fault(WATCHES, valve))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        for name in "ab":
            valve.opened.clear()
            await embedded.widget(name)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(events.line(), timeout=0.2)
            valve.opened.set()
            assert await events.names(1) == [f"ADDED {name}"]


async def test_a_watch_may_be_told_410_in_its_stream(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, expire(after_events=1)))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        await embedded.widget("b")
        assert await events.names(1) == ["ADDED a"]
        kind, status = await events.next()
        assert (kind, status["code"]) == ("ERROR", 410)
        assert await events.line() == b""


async def test_a_watch_may_break_off_in_the_middle_of_a_line(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, truncate()))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        with pytest.raises(aiohttp.ClientPayloadError):
            await events.line()


async def test_a_watch_may_have_a_line_that_is_no_event(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, garble()))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        with pytest.raises(json.JSONDecodeError):
            await events.next()


async def test_a_watch_may_repeat_itself(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, Duplicate()))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        assert await events.names(2) == ["ADDED a", "ADDED a"]


async def test_a_watch_may_lag(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, Lag(0.4)))
    loop = asyncio.get_running_loop()

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        begin = loop.time()
        await events.next()

    assert loop.time() - begin >= 0.3


async def test_a_watch_may_show_its_bookmarks_alone(embedded: Api):
    embedded.server.faults.add(Fault(WATCHES, BookmarksOnly()))

    async with embedded.watch(
        embedded.widgets, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    ) as events:
        await embedded.widget("a")
        kind, _ = await events.next()

    assert kind == "BOOKMARK"


async def test_other_watches_go_on_as_ever(embedded: Api):
    embedded.server.faults.add(Fault(Match("watch", "configmaps"), Freeze()))

    async with embedded.watch(embedded.widgets, resourceVersion=await version_of(embedded)) as events:
        await embedded.widget("a")
        assert await events.names(1) == ["ADDED a"]
