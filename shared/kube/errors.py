"""What the API server may refuse, as exceptions: one class for each fact that some caller acts on.

ApiError
  Refused             a definite no to this very request: sent again as it is, it would be refused again
    NotFound          404: the object, its namespace or its kind is not there
    Forbidden         403: RBAC, quota, or a namespace that is being terminated
    Invalid           422: validation, and most refusals by admission webhooks
  AlreadyExists       409 to a create: the name is taken
  Conflict            409 otherwise: the object is no longer what the request took it for
  Gone                410: the resource version is too old
  Unauthorized        401: the credentials are not taken (any more)
  TooManyRequests     429
  Unavailable         5xx, no connection, no answer in time: it may have taken effect, or not
  Unreadable          an answer of success that cannot be understood: the request may have taken effect
"""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

LONGEST_WAIT: Final = 300.0
"""A server that asks for more than five minutes is not believed."""


class ApiError(Exception):
    """The API server did not do as it was asked. `status` is 0 where it did not answer at all."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        """Seconds that the server asked to wait."""

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}" if self.status else f"{self.reason}: {self.message}"


class Refused(ApiError):
    """A definite no to this very request; it has had no effect."""


class NotFound(Refused):
    """The object, its namespace or its kind is not there."""


class Forbidden(Refused):
    """RBAC, a quota, or a namespace that is being terminated."""


class Invalid(Refused):
    """Validation refused it; most refusals by admission webhooks come as this as well."""


class AlreadyExists(ApiError):
    """The name is taken."""


class Conflict(ApiError):
    """The object is no longer what the request took it for: its resource version or uid is another."""


class Gone(ApiError):
    """The resource version is too old to list or watch from; list again."""


class Unauthorized(ApiError):
    """The credentials are not taken, or not any more."""


class TooManyRequests(ApiError):
    """Nothing was done; come back later. Also raised, with nothing sent, while an earlier answer's wait lasts."""


class Unavailable(ApiError):
    """The server failed or did not answer. The request may have taken effect, or may yet."""


class Unreadable(ApiError):
    """The server said yes in words that cannot be understood. The request may have taken effect."""


class BrokenStream(ApiError):
    """A watch brought something that is no event."""


CLASSES: Final[Mapping[int, type[ApiError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0


class _Status(msgspec.Struct):
    """metav1.Status, as far as it says why."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


def error_of(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error that an answer of the API server stands for.

    `body` should be a metav1.Status, and need not be: proxies and load balancers answer in their own words.
    """
    try:
        said = msgspec.json.decode(body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        said = _Status(message=body[:200].decode(errors="replace").strip())
    status = status or said.code
    if status == 409 and said.reason == "AlreadyExists":
        kind: type[ApiError] = AlreadyExists
    else:
        kind = CLASSES.get(status) or (Refused if 400 <= status < 500 and status != 408 else Unavailable)
    wait = _seconds(retry_after)
    if wait is None and said.details and said.details.retry_after_seconds > 0:
        wait = min(float(said.details.retry_after_seconds), LONGEST_WAIT)
    message = said.message or f"the server answered {status} and said nothing"
    return kind(message, status=status, reason=said.reason or kind.__name__, retry_after=wait)


def _seconds(text: str | None) -> float | None:
    """`Retry-After` in seconds. Its other form, a date, is not used by API servers."""
    try:
        wait = float(text) if text else math.nan
    except ValueError:
        return None
    return min(wait, LONGEST_WAIT) if wait >= 0 else None
