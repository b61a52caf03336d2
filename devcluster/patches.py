"""Apply the three kinds of PATCH bodies that change a stored object: JSON patch, merge patch, strategic merge patch.

(The fourth, server-side apply, is `apply`.) The object that is given stays as it was. What a real API server refuses
raises a `PatchError` with its code, reason and words.
"""

from typing import Any

import jsonpatch
import jsonpointer

from devcluster.resources import JSON
from devcluster.schema.defaulting import copied
from devcluster.strategic import StrategicPatchError, merge_strategically

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # for `apply`; named here beside its kin
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

MAX_OPERATIONS = 10_000


class PatchError(Exception):
    """A patch that cannot be applied, as the API server answers it."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


def apply_patch(content_type: str, obj: JSON, patch: Any) -> JSON:
    """Return the patched object; whether it is valid is for others to judge."""
    try:
        match content_type:
            case "application/json-patch+json":
                return _apply_json_patch(obj, patch)
            case "application/merge-patch+json":
                merged: JSON = _merged(obj, _an_object(patch))
                return merged
            case "application/strategic-merge-patch+json":
                return merge_strategically(copied(obj), copied(_an_object(patch, "")), obj.get("kind", ""))
    except StrategicPatchError as error:
        raise PatchError(error.code, "BadRequest" if error.code == 400 else "", str(error)) from None
    except RecursionError:
        raise PatchError(400, "BadRequest", "error decoding patch: exceeded max depth") from None
    known = ", ".join((JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH))
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    raise PatchError(415, "UnsupportedMediaType", message)


def _an_object(patch: Any, prefix: str = "error decoding patch: ") -> JSON:
    if type(patch) is dict:
        return patch
    detail = f"json: cannot unmarshal {_go_kind(patch)} into Go value of type map[string]interface {{}}"
    raise PatchError(400, "BadRequest", prefix + detail)


def _go_kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    return names.get(type(value), "number")


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386: null removes, objects are merged, everything else replaces.

    Beyond the RFC, and as the API server's library has it, what is new loses its nulls inside of lists, too.
    """
    if type(patch) is not dict:
        return copied(patch) if type(target) is dict else _without_nulls(patch)
    result = {key: copied(value) for key, value in target.items() if key not in patch} if type(target) is dict else {}
    for key, value in patch.items():
        if value is not None:
            old = target.get(key) if type(target) is dict else None
            result[key] = _merged(old, value)
    return result


def _without_nulls(value: Any) -> Any:
    if type(value) is dict:
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(item) for item in value] if type(value) is list else value


def _apply_json_patch(obj: JSON, patch: Any) -> JSON:
    if type(patch) is not list:
        detail = f"json: cannot unmarshal {_go_kind(patch)} into Go value of type []handlers.jsonPatchOp"
        raise PatchError(400, "BadRequest", f"error decoding patch: {detail}")
    if len(patch) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(413, "RequestEntityTooLarge", message)
    result: Any = copied(obj)
    try:
        for operation in patch:
            result = _apply_operation(result, _an_object(operation))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError, ValueError):
        # The API server keeps what exactly went wrong to itself.
        raise PatchError(422, "Invalid", "the server rejected our request due to an error in our request") from None
    if type(result) is not dict:
        raise PatchError(422, "Invalid", "the server rejected our request due to an error in our request")
    return result


def _apply_operation(document: Any, operation: Any) -> Any:
    """Apply one operation in place, with the two liberties that the API server's library takes beyond RFC 6902.

    In an object, a missing member may be replaced, and passes a test for null.
    """
    kind = operation.get("op")
    if kind in {"replace", "test"} and operation.get("path"):
        parent, key = jsonpointer.JsonPointer(operation["path"]).to_last(document)
        if type(parent) is dict and key not in parent:
            if kind == "test" and "value" in operation and operation["value"] is None:
                return document
            if kind == "replace":
                operation = {**operation, "op": "add"}
    return jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
