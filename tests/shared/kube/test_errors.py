"""What the API server refuses becomes the error that says what its caller can do."""

import pytest

from shared.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Refused,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_of,
)


def status(**parts: object) -> bytes:
    from msgspec.json import encode

    return encode({"kind": "Status", "apiVersion": "v1", "status": "Failure", **parts})


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", Refused),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", Refused),
        (408, "Timeout", Unavailable),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (413, "RequestEntityTooLarge", Refused),
        (415, "UnsupportedMediaType", Refused),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
        (302, "", Unavailable),
    ],
)
def test_a_status_is_an_error_named_by_what_it_means(code: int, reason: str, expected: type[ApiError]) -> None:
    error = error_of(code, status(code=code, reason=reason, message="because"))
    assert type(error) is expected
    assert (error.status, error.message) == (code, "because")


@pytest.mark.parametrize("code", [400, 403, 404, 405, 413, 422])
def test_a_definite_no_to_a_create_is_one_class_for_whoever_asks(code: int) -> None:
    assert isinstance(error_of(code, b"{}"), Refused)


@pytest.mark.parametrize("code", [401, 409, 410, 429, 500, 503])
def test_what_may_be_otherwise_a_moment_later_is_no_refusal(code: int) -> None:
    assert not isinstance(error_of(code, b"{}"), Refused)


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", None, 7),
        ("0.5", None, 0.5),
        (None, {"retryAfterSeconds": 3}, 3),
        ("2", {"retryAfterSeconds": 3}, 2),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None, None),
        ("-1", None, None),
        ("nan", None, None),
        ("1e9", None, 300),
        (None, {"retryAfterSeconds": 0}, None),
        (None, None, None),
    ],
)
def test_the_time_to_wait_is_in_the_header_or_else_in_the_status(
    header: str | None, details: object, seconds: float | None
) -> None:
    assert error_of(429, status(details=details), header).retry_after == seconds


@pytest.mark.parametrize("body", [b"", b"<html>Bad Gateway</html>", b"[]", b"\xff\xfe", b"null", b'{"code":"x"}'])
def test_the_answer_of_a_proxy_is_an_error_in_its_own_words(body: bytes) -> None:
    error = error_of(502, body)
    assert isinstance(error, Unavailable)
    assert error.message
    assert len(str(error)) < 300
