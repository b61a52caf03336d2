"""LIST: selectors, pages, and which version of the past is shown.

All pages of a list show the same version; when that is forgotten, the next page is answered 410.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from devcluster import causes
from devcluster.errors import StatusError, bad_request, expired, invalid_options, too_large
from devcluster.resources import JSON, Resource
from devcluster.selection import Selector, parse_fields, parse_labels
from devcluster.store import Bucket, Key, Store, Stored

EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)
WAIT_FOR_VERSION = 3.0  # seconds, for a version that is yet to come


@dataclass(frozen=True, slots=True)
class Page:
    """What a LIST answers with, before it is written out."""

    items: Sequence[Stored]
    meta: JSON
    version: int


def read_selector(query: Mapping[str, str], resource: Resource, namespace: str) -> Selector:
    """Read which objects a list, watch or deletecollection is about."""
    labels = parse_labels(query.get("labelSelector", ""))
    fields = parse_fields(query.get("fieldSelector", ""), resource)
    return Selector(namespace if resource.namespaced else "", labels, fields)


def read_version(query: Mapping[str, str]) -> int | None:
    """Read resourceVersion; None when not given."""
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise StatusError(500, "", f'resourceVersion: Invalid value: "{text}": {why}')
    return int(text)


def read_number(query: Mapping[str, str], name: str) -> int:
    """Read a whole number that is 0 when not given."""
    text = query.get(name, "") or "0"
    if not text.lstrip("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


async def list_page(store: Store, resource: Resource, selector: Selector, query: Mapping[str, str]) -> Page:
    """Return the page that was asked for."""
    bucket = store.bucket(resource.storage)
    limit = read_number(query, "limit")
    match, version = query.get("resourceVersionMatch", ""), read_version(query)
    after: Key | None = None
    if token := query.get("continue", ""):
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(token)
        if version < bucket.floor:
            raise StatusError(410, "Expired", EXPIRED_CONTINUE)
        objects = bucket.snapshot(version)
    else:
        _check_match(match, version)
        await _reach(store, version or 0)
        exact = version is not None and version > 0 and (match == "Exact" or (limit and not match))
        if exact and version is not None and version < bucket.floor:
            raise expired(f"The resourceVersion for the provided list is too old. ({version} < {bucket.floor})")
        objects = bucket.snapshot(version) if exact and version is not None else bucket.objects
        version = version if exact and version is not None else store.version
    fitting = _fitting(bucket, objects, selector, after)
    meta: JSON = {"resourceVersion": str(version)}
    if limit > 0 and len(fitting) > limit:
        rest = len(fitting) - limit
        fitting = fitting[:limit]
        meta["continue"] = _token(version, fitting[-1].key)
        if not (selector.labels or selector.fields):
            meta["remainingItemCount"] = rest
    return Page(fitting, meta, version)


def _fitting(bucket: Bucket, objects: Mapping[Key, Stored], selector: Selector, after: Key | None) -> list[Stored]:
    if objects is bucket.objects:
        keys = bucket.sorted_keys(selector.namespace)
        if selector.name and selector.namespace:
            keys = [key for key in [(selector.namespace, selector.name)] if key in objects]
    else:
        keys = sorted(objects)
    found = [objects[key] for key in keys if after is None or key > after]
    return found if selector.is_everything else [stored for stored in found if selector.fits(stored)]


async def _reach(store: Store, version: int) -> None:
    deadline = asyncio.get_running_loop().time() + WAIT_FOR_VERSION
    while version > store.version:
        if asyncio.get_running_loop().time() >= deadline:
            raise too_large(version, store.version)
        await asyncio.sleep(0.05)


def _check_match(match: str, version: int | None) -> None:
    if not match:
        return
    field = "resourceVersionMatch"
    if match not in {"Exact", "NotOlderThan"}:
        raise invalid_options("ListOptions", [causes.unsupported(field, match, ("Exact", "NotOlderThan", ""))])
    if version is None:
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise invalid_options("ListOptions", [causes.forbidden(field, detail)])
    if match == "Exact" and version == 0:
        detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        raise invalid_options("ListOptions", [causes.forbidden(field, detail)])


def _token(version: int, last: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode({"rv": version, "after": list(last)})).decode()


def _read_token(token: str) -> tuple[int, Key]:
    try:
        read = msgspec.json.decode(base64.urlsafe_b64decode(token))
        namespace, name = read["after"]
        return int(read["rv"]), (str(namespace), str(name))
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        raise bad_request("continue key is not valid") from None
