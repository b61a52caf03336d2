"""The server over real TLS: what it answers, what it counts and logs, and how much it takes on."""

import asyncio
import gc
import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from shared.kube.errors import Forbidden, Unavailable
from tests.support.builders import a_jobflow_object
from tests.webhook.reviews import UID, a_review, creation, deletion, sent, template_deletion
from tests.webhook.serving import head, serving, until
from tests.webhook.tampering import spoilt
from tests.webhook.test_review import NO_REVIEWS, SENSELESS
from webhook.intake import MOST_BYTES, HttpRefusalError
from webhook.review import MalformedReviewError
from webhook.server import LARGE, WorkLimits


async def test_a_review_is_answered_with_its_uid() -> None:
    async with serving() as webhook:
        assert await webhook.post(creation("get", "train: get")) == (200, {"uid": UID, "allowed": True})


async def test_a_refusal_is_a_status_as_kubectl_prints_it() -> None:
    async with serving() as webhook:
        http, response = await webhook.post(creation("get", "train: gte"))
    assert http == 200
    assert response["allowed"] is False
    status = response["status"]
    assert (status["code"], status["reason"], status["status"]) == (422, "Invalid", "Failure")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.flows[1].dependsOn.targets[0]"]


async def test_a_jobtemplate_in_use_is_not_deleted() -> None:
    async def look_up(namespace: str, template: str) -> Sequence[str]:
        assert (namespace, template) == ("ml", "get")
        return ["etl"]

    async with serving(look_up=look_up) as webhook:
        _, response = await webhook.post(template_deletion("get"), "jobtemplates")
        assert (response["allowed"], response["status"]["code"]) == (False, 403)
        released = template_deletion("get", metadata={"annotations": {"flow.volcano.sh/allow-delete": "true"}})
        _, response = await webhook.post(released, "jobtemplates")
        assert response["allowed"]
        assert response["auditAnnotations"] == {"allow-delete": "annotation flow.volcano.sh/allow-delete"}


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Unavailable("down", status=500), id="500"),
        pytest.param(Forbidden("no", status=403), id="403"),
        pytest.param(Unavailable("connection refused"), id="connection refused"),
    ],
)
async def test_where_the_users_cannot_be_known_the_jobtemplate_stays(trouble: Exception) -> None:
    async def look_up(namespace: str, template: str) -> Sequence[str]:
        raise trouble

    async with serving(look_up=look_up) as webhook:
        _, response = await webhook.post(template_deletion("get"), "jobtemplates")
    assert (response["allowed"], response["status"]["code"]) == (False, 503)
    assert response["status"]["reason"] == "ServiceUnavailable"


async def test_an_api_server_that_does_not_answer_is_not_waited_for_and_holds_up_nobody() -> None:
    async def look_up(namespace: str, template: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with serving(look_up=look_up, work=WorkLimits(looked_up=2, wait=0.1, answer=0.3)) as webhook:
        clock = asyncio.get_running_loop().time
        began = clock()
        slow = [asyncio.create_task(webhook.post(template_deletion("get"), "jobtemplates")) for _ in range(6)]
        assert (await webhook.post(creation("get")))[1]["allowed"]
        answers = await asyncio.gather(*slow)
        took = clock() - began
    assert {response["status"]["code"] for _, response in answers} == {503}
    assert took < 2


async def test_the_patience_of_the_api_server_counts_where_it_is_shorter() -> None:
    async def look_up(namespace: str, template: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with serving(look_up=look_up, work=WorkLimits(answer=60)) as webhook:
        async with asyncio.timeout(10):
            _, response = await webhook.post(template_deletion("get"), "jobtemplates?timeout=500ms")
    assert response["status"]["code"] == 503


async def test_answers_are_never_mixed_up() -> None:
    async def ask(worker: int) -> None:
        for i in range(40):
            uid = f"{worker}-{i}"
            large = creation(*(f"x{n}" for n in range(2000)), uid="u")
            review = a_review(new=large["request"]["object"], uid=uid) if i % 20 == worker % 20 else creation("get")
            review["request"]["uid"] = uid
            status, response = await webhook.post(review)
            assert (status, response["uid"]) == (200, uid)

    async with serving(work=WorkLimits(wait=60)) as webhook:
        await asyncio.gather(*(ask(worker) for worker in range(64)))
        assert (
            webhook.counted("jobflow_admission_requests_total", resource="jobflows", operation="CREATE", allowed="true")
            > 2000
        )


async def test_a_large_review_is_judged_like_a_small_one() -> None:
    names = [f"flow-{i}" for i in range(999)]
    large = creation(*(f"{name}: {' '.join(names[max(0, i - 9) : i])}" for i, name in enumerate(names)))
    assert len(sent(large)) > LARGE
    async with serving() as webhook:
        assert (await webhook.post(large))[1]["allowed"]
        large["request"]["object"]["spec"]["flows"][0]["dependsOn"] = {"targets": ["flow-998"]}
        assert (await webhook.post(large))[1]["status"]["code"] == 422


async def test_whatever_is_sent_is_answered_and_never_with_500() -> None:
    """Spoilt reviews of every kind, one after the other on the same connections."""
    async with serving() as webhook:
        for resource, body in spoilt(2000, seed=11):
            status, response = await webhook.post(body, resource)
            assert status in (200, 400)
            if status == 200:
                assert response["uid"]
                assert response["allowed"] or response["status"]["code"] != 500, body
        assert not webhook.counted("jobflow_admission_denials_total", rule="broken")
        assert (await webhook.post(creation("get")))[1]["allowed"]


@pytest.mark.parametrize("body", NO_REVIEWS)
async def test_what_is_no_review_is_answered_with_400(body: bytes) -> None:
    async with serving() as webhook:
        status, answer = await webhook.post(body)
        assert (status, answer["kind"], answer["code"]) == (400, "Status", 400)
        assert (await webhook.post(creation("get")))[1]["allowed"]


@pytest.mark.parametrize("review", SENSELESS)
async def test_a_review_that_makes_no_sense_is_not_allowed_and_gets_its_uid(review: dict[str, Any]) -> None:
    async with serving() as webhook:
        status, response = await webhook.post(review)
        assert (status, response["uid"], response["allowed"]) == (200, UID, False)


def bombs() -> dict[str, tuple[dict[str, Any], str]]:
    """JobFlows that a careless judge takes for ever with, and the only rule that each of them breaks."""
    chain = ["x0", *(f"x{i}: x{i - 1}" for i in range(1, 100_000))]
    ladder = ["a0", "b0", *(f"{side}{i}: a{i - 1} b{i - 1}" for i in range(1, 50) for side in "ab")]
    names = [f"x{i}" for i in range(440)]
    complete = [f"{name}: {' '.join(names[:i])}" for i, name in enumerate(names)]
    return {
        "a chain of 100,000": (creation(*chain), "malformed"),  # more than an API server takes
        "a chain of 40,000": (creation(*chain[:40_000]), "not-too-many"),
        "2 to the 50 paths": (creation(*ladder), ""),
        "96,580 dependencies": (creation(*complete), ""),
        "a loop of two at the end of a chain": (creation(*chain[:999], "x0: x998"), "names-are-unique"),
        "1,000 entries in one loop": (creation("x0: x998", *chain[1:999]), "no-cycle"),
        "1,000 times the same name": (creation(*["same"] * 1000), "names-are-unique"),
        "1,000 unknown names": (creation(*(f"x{i}: nobody{i}" for i in range(1000))), "targets-exist"),
        "a name of a megabyte": (creation("x" * 1_000_000), "names-are-valid"),
        "each after itself": (creation(*(f"x{i}: x{i}" for i in range(1000))), "not-after-itself"),
    }


@pytest.mark.parametrize("what", list(bombs()))
async def test_no_graph_takes_long_and_none_holds_up_a_small_review(what: str) -> None:
    review, rule = bombs()[what]
    async with serving() as webhook:
        clock = asyncio.get_running_loop().time
        bomb = asyncio.create_task(webhook.post(review))
        waits = []
        while not bomb.done():
            began = clock()
            assert (await webhook.post(creation("get")))[1]["allowed"]
            waits.append(clock() - began)
        status, response = await bomb
        slowest = max(webhook.logged(), key=lambda line: line["seconds"])
    assert (status, response["allowed"]) == (200, not rule)
    assert slowest.get("rules", "") == rule
    assert slowest["seconds"] < 20, "on a busy machine; the figure is in tests/bench"
    assert max(waits) < 10


async def test_who_waits_too_long_for_room_is_sent_away_for_a_second() -> None:
    large = sent(creation("get", metadata={"annotations": {"a": "x" * 20 * LARGE}}))
    async with serving(work=WorkLimits(buffered=2 * LARGE, wait=0.2)) as webhook:
        stalled = []
        for _ in range(2):  # the first goes beyond, the second has what there is
            _, writer = await webhook.connect()
            writer.write(head(20 * LARGE) + b" " * 4 * LARGE)
            stalled.append(writer)
        await until(lambda: webhook.server._room.held > 2 * LARGE)
        async with webhook.http.post(webhook.url(), data=large, headers=JSON) as answer:
            assert answer.status == 503
            assert answer.headers["Retry-After"] == "1"
        assert (await webhook.post(creation("get")))[1]["allowed"], "small ones need no room"
        for writer in stalled:
            writer.transport.abort()
        await until(lambda: webhook.server._room.held == 0)
        assert (await webhook.post(large))[1]["allowed"]


async def test_slow_clients_that_announce_large_bodies_keep_no_large_review_out() -> None:
    large = sent(creation("get", metadata={"annotations": {"a": "x" * 2 * LARGE}}))
    async with serving() as webhook:
        slow = []
        for _ in range(50):
            _, writer = await webhook.connect()
            writer.write(head(MOST_BYTES) + b"{" * 1000)
            slow.append(writer)
        await until(lambda: webhook.server._room.held == 50_000)
        async with asyncio.timeout(2):
            assert (await webhook.post(large))[1]["allowed"]
        for writer in slow:
            writer.transport.abort()


async def test_no_body_is_kept_by_what_was_wrong_with_it() -> None:
    """An exception that knows itself is only found by the garbage collector, which may be long in coming."""
    gc.collect()
    gc.disable()
    try:
        async with serving() as webhook:
            for body in (b" " * (MOST_BYTES + 1), b'"' + b"x" * LARGE, b"[" * LARGE):
                assert (await webhook.post(body))[0] in (400, 413)
            await until(lambda: webhook.server._room.held == 0)
            kept = [
                type(each) for each in gc.get_objects() if isinstance(each, HttpRefusalError | MalformedReviewError)
            ]
            assert kept == []
    finally:
        gc.enable()


async def test_a_request_whose_client_has_gone_is_not_worked_on() -> None:
    begun, dropped = asyncio.Event(), asyncio.Event()

    async def look_up(namespace: str, template: str) -> Sequence[str]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()
        return []

    async with serving(look_up=look_up, work=WorkLimits(answer=60)) as webhook:
        body = sent(template_deletion("get"))
        _, writer = await webhook.connect()
        writer.write(head(len(body), "jobtemplates") + body)
        await begun.wait()
        writer.transport.abort()
        async with asyncio.timeout(5):
            await dropped.wait()
        await until(lambda: webhook.counted("jobflow_admission_http_errors_total", code="499"))


async def test_a_fault_of_ours_is_not_allowed_and_leaves_the_server_standing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret of ours")

    monkeypatch.setattr("webhook.admit.faults_on_create", fail)
    async with serving() as webhook:
        status, response = await webhook.post(creation("train: get", "get"))
        assert status == 200
        assert (response["uid"], response["allowed"], response["status"]["code"]) == (UID, False, 500)
        assert "secret" not in json.dumps(response)
        assert (await webhook.post(deletion(a_jobflow_object("get", phase="Failed"))))[1]["allowed"]
    assert any(record.exc_info for record in caplog.records)


async def test_one_line_is_logged_for_each_request_and_nothing_of_a_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    jobflow = a_jobflow_object("get", name="etl\n\x1b[31m\x9b", metadata={"annotations": {"password": "hunter2"}})
    async with serving() as webhook:
        await webhook.post(a_review(new=jobflow, name="é" * 100_000))
        await webhook.post(b"hunter2")
        await webhook.raw(b"hunter2\r\nAuthorization: hunter2\r\n\r\n")
        await webhook.raw(b"GET /%1b%5b31m HTTP/1.1\r\nHost: a\r\nAuthorization: hunter2\r\n\r\n")
        await webhook.post(a_review(new=jobflow, name=""))
        long = "\U0001f600" * 10_000
        await webhook.post(a_review(new=jobflow, name=long, namespace=long, user=long, uid="\U0001f600" * 256))
        lines = webhook.logged()
        assert [line["status"] for line in lines] == [200, 400, 400, 404, 200, 200]
        assert all(datetime.fromisoformat(line["ts"]) for line in lines)
        assert (lines[0]["rules"], lines[0]["code"], lines[4]["object"]) == (
            "child-names-fit",
            422,
            "etl\n\x1b[31m\x9b",
        )
        written = b"".join(webhook.lines)
    assert written.count(b"\n") == 6
    assert max(map(len, written.split(b"\n"))) <= 2048
    assert written.isascii()
    assert b"\x1b" not in written
    assert b"hunter2" not in written
    assert "hunter2" not in caplog.text


async def test_metrics_have_no_label_that_a_user_chose() -> None:
    async with serving() as webhook:
        for i in range(300):
            await webhook.post(creation("get", name=f"etl-{i}", namespace=f"ns-{i}", uid=f"u{i}"))
            await webhook.post(creation("get", "get"), f"jobflows?x={i}")
        series = [sample for metric in webhook.registry.collect() for sample in metric.samples]
        assert len(series) < 100
        assert webhook.counted("jobflow_admission_denials_total", rule="names-are-unique") == 300
        assert webhook.counted(
            "jobflow_admission_requests_total", resource="jobflows", operation="CREATE", allowed="true"
        ) == 300  # fmt: skip
        assert webhook.counted(
            "jobflow_admission_duration_seconds_count", resource="jobflows", operation="CREATE"
        ) == 600  # fmt: skip


async def test_a_body_of_exactly_the_most_is_read_and_one_byte_more_is_not() -> None:
    async with serving() as webhook:
        body = sent(creation("get"))
        body = body[:-1] + b" " * (MOST_BYTES - len(body)) + b"}"
        assert (await webhook.post(body))[0] == 200
        assert (await webhook.post(body + b" "))[0] == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "application/json;charset=UTF-8"}, 200),
        ({"Content-Encoding": "identity"}, 200),
        ({"Content-Type": "application/json; charset=utf-16"}, 415),
        ({"Content-Type": "application/yaml"}, 415),
        ({"Content-Type": "text/json"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Encoding": "identity, gzip"}, 415),
        ({"Expect": "miracles"}, 417),
    ],
)
async def test_a_body_is_json_in_utf_8_as_it_is(headers: dict[str, str], status: int) -> None:
    async with serving() as webhook:
        body = sent(creation("get"))
        answer = await webhook.raw(head(len(body), **{"Connection": "close", **headers}) + body)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer


async def test_who_asks_whether_to_send_the_body_is_told_to() -> None:
    async with serving() as webhook:
        body = sent(creation("get"))
        reader, writer = await webhook.connect()
        writer.write(head(len(body), Expect="100-continue", Connection="close"))
        async with asyncio.timeout(5):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(body)
            assert b'"allowed":true' in await reader.read()
            writer.close()
        assert (await webhook.raw(head(MOST_BYTES + 1, Expect="100-continue"))).startswith(b"HTTP/1.1 413 ")


async def test_a_draining_server_answers_and_asks_to_connect_anew() -> None:
    async with serving() as webhook:
        async with webhook.http.post(webhook.url(), data=sent(creation("get")), headers=JSON) as answer:
            assert "Connection" not in answer.headers
        webhook.server.draining = True
        async with webhook.http.post(webhook.url(), data=sent(creation("get")), headers=JSON) as answer:
            assert answer.status == 200
            assert answer.headers["Connection"] == "close"


JSON = {"Content-Type": "application/json"}
