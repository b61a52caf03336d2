"""Reading bodies of writes: by the schema, and whether they are meant for the object that they are sent to.

The words of the refusals are those of a real API server.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from devcluster import causes, schema, validation
from devcluster.calls import Call, Target
from devcluster.errors import bad_request, conflict, invalid
from devcluster.resources import JSON, Resource


def decode(call: Call, resource: Resource, obj: Any) -> None:
    """Read a body, in place. Raises StatusError."""
    check_type(resource, obj)
    if fault := read(call, resource, obj):
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {fault}'
        )


def read(call: Call, resource: Resource, obj: JSON) -> str:
    """Read an object by its schema, in place: drop what is unknown, fill in defaults. Return why it cannot be read.

    That is metadata of other types, and unknown fields for who asks strictly.
    """
    if fault := validation.malformed_metadata(obj):
        return fault
    if resource.schema is None:
        return ""
    unknown = [f'unknown field "{path}"' for path in schema.prune(resource.schema, obj)]
    schema.apply_defaults(resource.schema, obj)
    if unknown and call.field_validation == "Strict":
        return f"strict decoding error: {', '.join(unknown)}"
    if call.field_validation == "Warn":
        call.warnings += unknown
    return ""


def check_type(resource: Resource, obj: Any) -> None:
    """Refuse a body that is no object, or of another kind; fill in what it does not say."""
    if not isinstance(obj, dict):
        raise bad_request(f"couldn't get version/kind; json parse error: expected an object, got {type(obj).__name__}")
    obj.setdefault("apiVersion", resource.api_version)
    obj.setdefault("kind", resource.kind)
    if obj["apiVersion"] != resource.api_version:
        raise bad_request(
            f"the API version in the data ({obj['apiVersion']}) does not match the expected API version"
            f" ({resource.api_version})"
        )
    if obj["kind"] != resource.kind:
        raise bad_request(
            f'{obj["kind"]} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"the kind in the data does not match the expected kind ({resource.kind})"
        )


def metadata_of(obj: JSON) -> JSON:
    """Return the metadata of an object, which has some from now on."""
    meta: JSON = obj.get("metadata") or {}
    obj["metadata"] = meta
    return meta


def settle_namespace(resource: Resource, meta: JSON, namespace: str) -> None:
    """Refuse what is meant for another namespace than that of the request; fill it in where it is not said."""
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif meta.setdefault("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_identity(target: Target, before: JSON, wanted: JSON) -> None:
    """Refuse metadata that is meant for another object than `before`, or for another version of it."""
    resource, name = target.resource, target.name
    settle_namespace(resource, wanted, target.namespace)
    if wanted.setdefault("name", name) != name:
        raise bad_request(f"the name of the object ({wanted['name']}) does not match the name on the URL ({name})")
    if wanted.get("uid") and wanted["uid"] != before["uid"]:
        why = f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {before['uid']}"
        raise conflict(resource, name, why)
    version = wanted.get("resourceVersion")
    if version and version != before["resourceVersion"]:
        raise conflict(resource, name)
    if not version and resource.custom:
        missing = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource, name, [missing], kind=resource.plural)
    wanted["resourceVersion"] = before["resourceVersion"]


@contextmanager
def readable(resource: Resource) -> Iterator[None]:
    """Refuse an object of a built-in kind, for which there is no schema here, when its fields are of other types."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None
