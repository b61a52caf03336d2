"""AdmissionReview v1 (`admission.k8s.io/v1`): bytes to a `Request`, a verdict to bytes.

The door is stricter than Python's JSON, for two readers that understand the same bytes differently are how a check is
got around: what the API server's own reader would refuse, or read otherwise, is refused here. What is malformed is
never allowed, and never more than a `MalformedReviewError`, whatever the bytes are.
"""

import json
import math
import re
from enum import StrEnum
from typing import Any, Final, Literal, NoReturn

import msgspec
from msgspec import Struct

from shared.api.names import FLOW_GROUP
from shared.rules.answer import answer
from shared.rules.fault import shown
from webhook.verdict import Verdict

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
DEEPEST: Final = 200
"""How deep a review may be nested."""
MOST_VALUES: Final = 512 * 1024
"""How many values a review may have: an object of the 1.3 MB that may be stored has a third of that, and 7 MiB of
small numbers would be 200 MB of memory."""
MOST_OBJECTS: Final = 128 * 1024
"""How many of those may be objects and lists, each of which takes 50 to 250 bytes. A JobFlow of 10,000 entries has a
quarter of that, and an UPDATE has two."""
LONGEST_UID: Final = 256
LONGEST_MESSAGE: Final = 200

Json = dict[str, Any]
Body = bytes | bytearray


class MalformedReviewError(Exception):
    """These bytes are no review that could be judged. With a `uid` they are at least one that can be answered."""

    def __init__(self, message: str, uid: str | None = None) -> None:
        super().__init__(message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}...")
        self.uid = uid


class Operation(StrEnum):
    """What a user does to an object. CONNECT is the fourth that Kubernetes knows; nothing here has it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Resource(Struct, frozen=True):
    """A GroupVersionResource."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(Struct, frozen=True):
    """Who asks."""

    username: str = ""


class Request(Struct, frozen=True, rename="camel"):
    """`request` of a review, as far as it is looked at. The objects are plain JSON, for each row reads its own part."""

    uid: str
    operation: Operation
    resource: Resource
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    object: Json | None = None
    old_object: Json | None = None
    dry_run: bool | None = None

    @property
    def object_name(self) -> str:
        """What the object is called. A `deletecollection` leaves the request's name empty, and the object has it."""
        metadata = (self.object or self.old_object or {}).get("metadata", {})
        name = self.name or metadata.get("name")
        return name if isinstance(name, str) else ""

    @property
    def new(self) -> Json:
        """The object as it is going to be, empty in a DELETE."""
        return self.object or {}

    @property
    def old(self) -> Json:
        """The object as it is stored, empty in a CREATE."""
        return self.old_object or {}


def read_review(body: Body, resource: str, kind: str) -> Request:
    """The request in `body`, which must be about `resource` of our API group.

    Raises MalformedReviewError.
    """
    review = parse(body)
    if not isinstance(review, dict):
        raise MalformedReviewError("the body must be a JSON object")
    if review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        raise MalformedReviewError(f"the body must be an {KIND} of {API_VERSION}")
    content = review.get("request")
    if not isinstance(content, dict):
        raise MalformedReviewError("request must be an object")
    uid = content.get("uid")
    if not isinstance(uid, str) or not 0 < len(uid) <= LONGEST_UID:
        raise MalformedReviewError("request.uid must be a string that is not empty")
    try:
        request = msgspec.convert(content, Request)
    except msgspec.ValidationError as wrong:
        raise MalformedReviewError(f"request: {wrong}", uid) from None
    if misfit := _misfit(request, resource, kind):
        raise MalformedReviewError(misfit, uid)
    return request


def _misfit(request: Request, resource: str, kind: str) -> str | None:
    """Why the parts of the request do not belong together, None where they do."""
    if (request.resource.group, request.resource.resource) != (FLOW_GROUP, resource):
        return f"request.resource must be {resource} of {FLOW_GROUP}: this path judges nothing else"
    for field, operations in _NEEDED.items():
        if request.operation not in operations:
            continue
        given = request.object if field == "object" else request.old_object
        if given is None:
            return f"request.{field} must not be null in a {request.operation}"
        version = given.get("apiVersion")
        if given.get("kind") != kind or not isinstance(version, str) or version.partition("/")[0] != FLOW_GROUP:
            return f"request.{field} must be a {kind} of {FLOW_GROUP}"
        if not isinstance(given.get("metadata"), dict):
            return f"request.{field}.metadata must be an object"
    return None


_NEEDED: Final = {
    "object": {Operation.CREATE, Operation.UPDATE},
    "oldObject": {Operation.UPDATE, Operation.DELETE},
}


def write_review(uid: str, verdict: Verdict, kind: str, name: str) -> bytes:
    """The answer to the request with this uid. It stays under 8 KiB, however much is wrong."""
    response: Json = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = _status(verdict, kind, name)
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.audit:
        response["auditAnnotations"] = dict(verdict.audit)
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _status(verdict: Verdict, kind: str, name: str) -> Json:
    """A metav1.Status, of which kubectl prints the causes where there are any, and the message otherwise."""
    told = answer(verdict.faults)
    causes = [{"reason": cause.reason, "message": cause.message, "field": str(cause.field)} for cause in told.causes]
    details: Json = {"group": FLOW_GROUP, "kind": kind, "name": shown(name)}
    return {
        "status": "Failure",
        "code": verdict.code,
        "reason": verdict.reason,
        "message": told.line if verdict.faults else verdict.message,
        "details": {**details, "causes": causes} if causes else details,
    }


def parse(body: Body) -> Any:
    """JSON as the API server reads it, or MalformedReviewError."""
    opened = body.count(b"{") + body.count(b"[")
    if opened + body.count(b",") > MOST_VALUES:  # those in strings as well, which makes it a quick look
        raise MalformedReviewError(f"the body must not have more than {MOST_VALUES} values", _uid_in(body))
    if opened > MOST_OBJECTS:
        raise MalformedReviewError(f"the body must not have more than {MOST_OBJECTS} objects and lists", _uid_in(body))
    tree = _parse_compact(body)
    if tree is None:
        tree = _parse_strictly(body)
    if opened > DEEPEST and _is_deeper(tree, DEEPEST):
        raise MalformedReviewError(_TOO_DEEP)
    return tree


class _OnlyUid(Struct):
    uid: str


class _OnlyRequest(Struct, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: _OnlyUid


def _uid_in(body: Body) -> str | None:
    """The uid of a review that is not going to be read, which is found without building anything else of it."""
    try:
        uid = msgspec.json.decode(body, type=_OnlyRequest).request.uid
        uid.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return uid if 0 < len(uid) <= LONGEST_UID else None


def _parse_compact(body: Body) -> Any:
    """A quick way for most of what API servers send; None where it does not lead to a certain end.

    What is written out again exactly as it was read has no key twice in an object, no half of a surrogate pair, and
    nothing else that two readers could understand differently.
    """
    try:
        tree = msgspec.json.decode(body)
        written = msgspec.json.encode(tree)
        return tree if len(written) >= len(body) - 1 and body.removesuffix(b"\n") == written else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _parse_strictly(body: Body) -> Any:
    """Every string and every object looked at, which takes two to three times as long."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedReviewError("the body must be UTF-8") from None
    try:
        tree = _DECODER.decode(text)
    except RecursionError:
        raise MalformedReviewError(_TOO_DEEP) from None
    except ValueError as wrong:  # with the integers of thousands of digits that Python refuses to convert
        raise MalformedReviewError(f"the body must be JSON: {wrong}") from None
    if _SURROGATE.search(text) and _has_lone_surrogate(tree):
        raise MalformedReviewError("the body must not have half a surrogate pair in a string")
    return tree


def _object(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return found


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
_TOO_DEEP: Final = f"the body must not be nested deeper than {DEEPEST}"


def _is_deeper(tree: Any, most: int) -> bool:
    """Level by level, for recursion is what is to be prevented."""
    level = [tree]
    for _ in range(most):
        below: list[Any] = []
        for parent in level:
            children = parent.values() if type(parent) is dict else parent
            if not _LEAVES.issuperset(map(type, children)):
                below += (child for child in children if type(child) not in _LEAVES)
        if not below:
            return False
        level = below
    return True


def _has_lone_surrogate(tree: Any) -> bool:
    try:
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
