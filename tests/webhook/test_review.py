"""The door: what is malformed is refused, whatever it is; the rest is read as the API server means it."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_jobflow_object
from tests.webhook.reviews import UID, a_review, creation, deletion, sent, template_deletion
from tests.webhook.tampering import spoilt
from webhook.admit import AskUsers, Judged, Known, judge
from webhook.review import MalformedReviewError, Operation, parse, read_review

CREATION = creation("get", "train: get")


def read(review: object) -> Any:
    return read_review(sent(review), "jobflows", "JobFlow")


def with_request(**changes: Any) -> dict[str, Any]:
    return {**CREATION, "request": {**CREATION["request"], **changes}}


def without_request(name: str) -> dict[str, Any]:
    return {**CREATION, "request": {key: value for key, value in CREATION["request"].items() if key != name}}


def test_a_review_is_read() -> None:
    request = read(CREATION)
    assert (request.uid, request.operation, request.namespace) == (UID, Operation.CREATE, "ml")
    assert request.user_info.username == "alice"
    assert request.new["spec"]["flows"][1]["name"] == "train"


NO_REVIEWS = [
    pytest.param(b"", id="empty"),
    pytest.param(b"null", id="null"),
    pytest.param(b"[]", id="an array"),
    pytest.param(b"{", id="cut off"),
    pytest.param(sent(CREATION) + b"}", id="something behind it"),
    pytest.param(b"\xef\xbb\xbf" + sent(CREATION), id="BOM"),
    pytest.param(json.dumps(CREATION).encode("utf-16"), id="UTF-16"),
    pytest.param(sent(CREATION).replace(b"alice", b"al\xffice"), id="not UTF-8"),
    pytest.param(sent({**CREATION, "request": None}), id="no request"),
    pytest.param(sent({**CREATION, "request": []}), id="a request that is a list"),
    pytest.param(sent(without_request("uid")), id="no uid"),
    pytest.param(sent(with_request(uid=7)), id="a uid that is a number"),
    pytest.param(sent(with_request(uid="")), id="an empty uid"),
    pytest.param(sent(with_request(uid="u" * 1_000_000)), id="an endless uid"),
    pytest.param(sent({**CREATION, "apiVersion": "admission.k8s.io/v1beta1"}), id="v1beta1"),
    pytest.param(sent({**CREATION, "kind": "TokenReview"}), id="another kind of review"),
    pytest.param(sent(CREATION).replace(b'"dryRun":false', b'"dryRun":NaN'), id="NaN"),
    pytest.param(sent(CREATION).replace(b'"dryRun":false', b'"x":-Infinity'), id="Infinity"),
    pytest.param(sent(CREATION).replace(b'"dryRun":false', b'"x":1e400'), id="a float beyond all"),
    pytest.param(sent(CREATION).replace(b'"dryRun":false', b'"x":' + b"9" * 5000), id="an integer of 5,000 digits"),
    pytest.param(sent(CREATION).replace(b"alice", b"\\ud800"), id="half a surrogate pair"),
    pytest.param(sent(CREATION).replace(b'"alice"', b'"a","username":"b"'), id="a duplicate key"),
    pytest.param(sent(CREATION).replace(b"alice", b"a\nb"), id="a control character in a string"),
    pytest.param(b"[" * 100_000, id="100,000 levels, never closed"),
    pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="100,000 levels"),
    pytest.param(b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", id="201 levels"),
    pytest.param(b'{"x":[' + b"[]," * 2_000_000 + b"1]}", id="2,000,000 empty lists"),
]


@pytest.mark.parametrize("body", NO_REVIEWS)
def test_what_is_no_review_is_refused_and_cannot_be_answered_with_one(body: bytes) -> None:
    with pytest.raises(MalformedReviewError) as caught:
        judge(body, "jobflows", Known())
    assert caught.value.uid is None
    assert len(str(caught.value)) < 300


SENSELESS = [
    pytest.param(with_request(object=None), id="CREATE of nothing"),
    pytest.param(with_request(object=[]), id="CREATE of a list"),
    pytest.param(with_request(object="x" * 1_000_000), id="CREATE of an endless string"),
    pytest.param(with_request(operation="DELETE"), id="DELETE of nothing"),
    pytest.param(with_request(operation="UPDATE"), id="UPDATE of nothing"),
    pytest.param(with_request(operation="CONNECT"), id="CONNECT"),
    pytest.param(with_request(operation=1), id="an operation that is a number"),
    pytest.param(without_request("operation"), id="no operation"),
    pytest.param(without_request("resource"), id="no resource"),
    pytest.param(with_request(resource="jobflows"), id="a resource that is a string"),
    pytest.param(with_request(userInfo=None), id="nobody asks"),
    pytest.param(with_request(userInfo={"username": 1}), id="a user who is a number"),
    pytest.param(with_request(object={"kind": "JobFlow"}), id="an object without a version"),
    pytest.param(with_request(object={**a_jobflow_object("a"), "kind": "Pod"}), id="another kind"),
    pytest.param(with_request(object={**a_jobflow_object("a"), "apiVersion": "v1"}), id="another group"),
    pytest.param(with_request(object={**a_jobflow_object("a"), "metadata": None}), id="no metadata"),
    pytest.param(template_deletion(), id="a JobTemplate at the path of JobFlows"),
    pytest.param(with_request(resource={"group": "flow.volcano.sh", "resource": "x"}), id="another resource"),
    pytest.param(with_request(resource={"group": "x", "resource": "jobflows"}), id="a resource of another group"),
    pytest.param(creation(*["x"] * 140_000), id="more objects than any object has"),
    pytest.param(with_request(object={"x": [0] * 600_000}), id="more values than any object has"),
]


@pytest.mark.parametrize("review", SENSELESS)
def test_a_review_that_makes_no_sense_is_answered_with_its_uid_and_never_allowed(review: dict[str, Any]) -> None:
    judged = judge(sent(review), "jobflows", Known())
    answer = answer_of(judged)
    assert answer["uid"] == UID
    assert answer["allowed"] is False
    assert answer["status"]["code"] == 400


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", id="201 levels"),
        pytest.param(b'{"a":1,"a":2}', id="a duplicate key"),
        pytest.param(b'{"a":1,"a":2,"b":1e9,"c":1e9}', id="a duplicate key and numbers that grow when written"),
        pytest.param(b'{"a": 1, "\\u0061": 2}', id="a duplicate key, once escaped"),
        pytest.param(b'["\\udc00"]', id="half a surrogate pair"),
        pytest.param(b'[1e400, "<"]', id="a float beyond all"),
        pytest.param(b"[01]", id="a number with a zero before it"),
        pytest.param(b"[1,]", id="a comma too many"),
        pytest.param(b"{'a':1}", id="other quotes"),
    ],
)
def test_json_that_two_readers_may_understand_differently_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedReviewError):
        parse(body)


def test_nesting_of_200_levels_is_read() -> None:
    assert parse(b'{"x":' + b"[" * 199 + b"]" * 199 + b"}")
    assert parse(b'"' + b"[" * 5000 + b'"'), "brackets in a string are no nesting"


def test_a_whole_surrogate_pair_and_an_escaped_backslash_are_read() -> None:
    assert parse(rb'"\ud83d\ude00 \\ud800"') == "\U0001f600 \\ud800"


def test_a_deletion_of_a_whole_collection_has_its_name_in_the_object() -> None:
    request = read(deletion(a_jobflow_object("get", name="etl"), name=""))
    assert request.object_name == "etl"


def test_names_of_a_refusal_come_from_the_request() -> None:
    status = answer_of(judge(sent(creation()), "jobflows", Known()))["status"]
    assert status["details"] == {
        "group": "flow.volcano.sh",
        "kind": "JobFlow",
        "name": "etl",
        "causes": [
            {
                "reason": "FieldValueRequired",
                "message": status["details"]["causes"][0]["message"],
                "field": "spec.flows",
            }
        ],
    }
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"].startswith("spec.flows: Required value")


@pytest.mark.parametrize("field", ["name", "uid", "operation"])
def test_an_answer_stays_under_8_kib_whatever_a_client_writes(field: str) -> None:
    long = "\x01\u2028é" * 100_000
    for review in (
        with_request(**{field: long}),
        creation(*(f"x{i}: {'y' * 300}" for i in range(900)), name=long),
        creation(*["same"] * 1000),
        creation(long, f"b: {long}"),
        deletion(a_jobflow_object("a", name=long, status={"runningJobs": [long] * 10})),
    ):
        try:
            judged = judge(sent(review), "jobflows", Known())
        except MalformedReviewError:
            continue
        assert len(sent_answer(judged)) < 8192


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PLACES = ["metadata", "spec", "status", "apiVersion", "kind"]


@given(place=st.sampled_from(PLACES), value=json_values, operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
def test_any_json_anywhere_in_an_object_is_judged(place: str, value: Any, operation: str) -> None:
    jobflow = a_jobflow_object("get", "train: get", phase="Running")
    review = a_review(operation, new=jobflow, old=jobflow)
    for side in ("object", "oldObject"):
        changed = {**review["request"], side: {**jobflow, place: value}}
        assert_in_order(sent({**review, "request": changed}))


@given(json_values)
def test_any_json_is_answered_or_refused(value: Any) -> None:
    assert_in_order(sent(value))


@pytest.mark.timeout(300)
def test_twenty_thousand_spoilt_reviews_are_answered_or_refused() -> None:
    """Of every kind and operation, half of them spoilt in their bytes, half in what they say."""
    allowed = Counter[bool | None]()
    for resource, body in spoilt(20_000, seed=7):
        allowed[assert_in_order(body, resource)] += 1
    assert min(allowed[True], allowed[False], allowed[None]) > 1000, "some are still right, some wrong, some no reviews"


def assert_in_order(body: bytes, resource: str = "jobflows") -> bool | None:
    """Whether it is allowed; None for what cannot be answered with a review."""
    try:
        judged = judge(body, resource, Known())
    except MalformedReviewError:
        return None
    assert judged.error is None, body
    verdict = judged.verdict
    if isinstance(verdict, AskUsers):
        verdict = verdict.give_up()
    said = judged.answer(verdict)
    assert len(said) < 8192
    answer = json.loads(said)["response"]
    assert answer["uid"] == judged.uid
    if judged.request is None:
        assert answer["allowed"] is False
    return bool(answer["allowed"])


def answer_of(judged: Judged) -> dict[str, Any]:
    answer = json.loads(sent_answer(judged))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answer["response"]
    return response


def sent_answer(judged: Judged) -> bytes:
    assert not isinstance(judged.verdict, AskUsers)
    return judged.answer(judged.verdict)
