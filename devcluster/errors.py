"""What the server refuses, as the `Status` that Kubernetes answers with, in its words."""

from collections.abc import Iterable

import msgspec

from devcluster.resources import JSON, Cause, Resource


class StatusError(Exception):
    """A request that is refused; `status` is the body of the answer."""

    def __init__(
        self, code: int, reason: str, message: str, details: JSON | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.status: JSON = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        self.status["message"] = message
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code
        self.headers = headers or {}
        self.warnings: list[str] = []

    @property
    def body(self) -> bytes:
        """Return the Status as JSON."""
        return msgspec.json.encode(self.status)


def success(resource: Resource, name: str, uid: str) -> JSON:
    """Return the Status that says that an object is gone."""
    details = {"name": name, "group": resource.group, "kind": resource.plural, "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return status | {"details": {key: value for key, value in details.items() if value}}


def _details(resource: Resource, name: str, **more: object) -> JSON:
    details: JSON = {"name": name, "group": resource.group, "kind": resource.plural} | more
    return {key: value for key, value in details.items() if value}


def not_found(resource: Resource, name: str) -> StatusError:
    """Refuse: there is no object of that name."""
    return StatusError(404, "NotFound", f'{resource.qualified} "{name}" not found', _details(resource, name))


def no_such_path() -> StatusError:
    """Refuse: nothing is served there."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: Resource, name: str, *, is_going: bool = False) -> StatusError:
    """Refuse: the name is taken, maybe by what is just being deleted."""
    message = f'{"object is being deleted: " if is_going else ""}{resource.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: Resource, name: str, why: str = MODIFIED, *, kind: str = "") -> StatusError:
    """Refuse: the object is not what the caller thinks it is. The message says `kind`, or the resource's plural."""
    kind = kind or resource.plural
    qualified = f"{kind}.{resource.group}" if resource.group else kind
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(resource, name, kind=kind))


def apply_conflicts(message: str, conflicts: Iterable[tuple[str, str]]) -> StatusError:
    """Refuse a server-side apply: other managers own these fields, (manager, field) each."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": field}
        for manager, field in conflicts
    ]
    return StatusError(409, "Conflict", message, {"causes": causes})


def invalid(resource: Resource, name: str, causes: Iterable[Cause], *, kind: str = "") -> StatusError:
    """Refuse: the object breaks rules, every one of which is told. The message says `kind`, or the resource's own."""
    kind = kind or resource.kind
    listed = list(causes)
    said = [f"{cause.field}: {cause.message}" for cause in listed]
    told = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    details = _details(resource, name, kind=kind)
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in listed]
    qualified = f"{kind}.{resource.group}" if resource.group else kind
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {told}', details)


def invalid_options(kind: str, causes: Iterable[Cause]) -> StatusError:
    """Refuse: what is asked of the request itself (`kind`: ListOptions, DeleteOptions, ...) breaks rules."""
    options = Resource("meta.k8s.io", "v1", kind, kind, kind, namespaced=False)
    return invalid(options, "", causes)


def bad_request(message: str) -> StatusError:
    """Refuse: the request makes no sense."""
    return StatusError(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Iterable[Cause] = ()) -> StatusError:
    """Refuse: not this caller, or not now."""
    listed = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    message = (
        f'{resource.qualified} "{name}" is forbidden: {why}' if name else f"{resource.qualified} is forbidden: {why}"
    )
    return StatusError(403, "Forbidden", message, _details(resource, name, causes=listed))


def unauthorized() -> StatusError:
    """Refuse: the caller is not known."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> StatusError:
    """Refuse: that version of the past is forgotten."""
    return StatusError(410, "Expired", message)


def too_old(wanted: int, oldest: int) -> StatusError:
    """Refuse a watch that would begin in the forgotten past."""
    return expired(f"too old resource version: {wanted} ({oldest})")


def too_large(wanted: int, current: int) -> StatusError:
    """Refuse a read that wants a version which the server has not reached."""
    details: JSON = {"retryAfterSeconds": 1}
    details["causes"] = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return StatusError(504, "Timeout", message, details, {"Retry-After": "1"})


def method_not_allowed() -> StatusError:
    """Refuse: this path does not take this verb."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def unsupported_media_type(message: str) -> StatusError:
    """Refuse: the body is in a format that is not read here."""
    return StatusError(415, "UnsupportedMediaType", message)


def not_acceptable(message: str) -> StatusError:
    """Refuse: none of the formats that the caller takes can be made."""
    return StatusError(406, "NotAcceptable", message)


def internal(message: str) -> StatusError:
    """Refuse: something that the server rests on has failed."""
    details = {"causes": [{"message": message}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", details)
