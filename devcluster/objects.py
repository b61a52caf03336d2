"""Writing objects: create, update and patch, each as one story from the body that came to what is stored.

The order is that of a real API server: what the server owns is filled in, the schema prunes, defaults and judges, then
the webhooks are asked, then it is written, unless somebody was faster. `deletion.py` has the story of deletes.
"""

import json
import secrets
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from devcluster import apply, causes, schema, strategies, validation
from devcluster.calls import Admission, Call, Review, Target, rfc3339, stored_form, view
from devcluster.errors import (
    StatusError,
    already_exists,
    apply_conflicts,
    bad_request,
    forbidden,
    invalid,
    not_found,
)
from devcluster.patches import APPLY_PATCH, PatchError, apply_patch
from devcluster.reading import check_identity, check_type, decode, metadata_of, read, readable, settle_namespace
from devcluster.resources import JSON, Cause, Resource
from devcluster.schema.defaulting import copied
from devcluster.store import Stale, Store, Stored, TooLarge, as_stored

NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LONGEST_PREFIX = 58  # of a generated name
NEVER_CHANGE = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")

Make = Callable[[JSON], JSON]


class Objects:
    """The writing half of the API."""

    def __init__(self, store: Store, admission: Admission, now: Callable[[], datetime]) -> None:
        self.store = store
        self.admission = admission
        self.now = now

    async def create(
        self, call: Call, resource: Resource, namespace: str, obj: JSON, *, tracked: bool = False
    ) -> Stored:
        """Create an object and return it. `tracked`: its managedFields are right already."""
        decode(call, resource, obj)
        meta = metadata_of(obj)
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        settle_namespace(resource, meta, namespace)
        self._check_namespace(resource, namespace, str(meta.get("name", "")))
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._generate_name(resource, namespace, meta["generateName"])
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
            meta.pop(name, None)
        meta |= {"uid": str(uuid.uuid4()), "creationTimestamp": rfc3339(self.now())}
        if resource.has_generation:
            meta["generation"] = 1
        if resource.has_status and resource.storage != "namespaces":
            obj.pop("status", None)
        obj = stored_form(resource, obj)
        with readable(resource):
            strategies.prepare(resource, obj, None)
        if not tracked:
            apply.track_update(None, obj, call.manager, meta["creationTimestamp"], resource.schema)
        self._judge(call, resource, obj, None)
        review = Review("CREATE", resource, namespace, meta["name"], "", view(resource, obj), None)
        await self.admission.review(call, review)
        if there := self.store.get(resource.storage, namespace, meta["name"]):
            is_going = "deletionTimestamp" in there.decode()["metadata"]
            raise already_exists(resource, meta["name"], is_going=is_going)
        if call.dry_run:
            return as_stored(obj, 0)
        self._check_namespace(resource, namespace, meta["name"])
        return self._put(resource, obj, None)

    async def update(self, call: Call, target: Target, body: Any) -> Stored:
        """Replace an object by `body`, and return what is stored now.

        Where the body says no resourceVersion, and need not, it overwrites whatever comes between.
        """
        decode(call, target.resource, body)
        return await self._write(call, target, lambda _: copied(body), tracked=False)

    async def patch(
        self, call: Call, target: Target, content_type: str, body: Any, *, force: bool = False
    ) -> tuple[Stored, bool]:
        """Patch an object; return what is stored now, and whether the patch (an apply) has created it."""
        if content_type == APPLY_PATCH:
            return await self._apply(call, target, body, force=force)

        def make(existing: JSON) -> JSON:
            try:
                patched = apply_patch(content_type, existing, body)
                if fault := read(call, target.resource, patched):
                    raise _unreadable_patch(apply_patch(content_type, existing, body), fault)
            except PatchError as error:
                raise _patch_refused(error) from None
            return patched

        return await self._write(call, target, make, tracked=False), False

    async def _apply(self, call: Call, target: Target, body: Any, *, force: bool) -> tuple[Stored, bool]:
        resource = target.resource
        check_type(resource, body)
        if fault := validation.malformed_metadata(body):
            raise bad_request(fault)
        meta = metadata_of(body)
        if meta.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        settle_namespace(resource, dict(meta), target.namespace)  # it is compared as it came
        now = rfc3339(self.now())

        def make(existing: JSON | None) -> JSON:
            try:
                applied = apply.server_side_apply(
                    existing, copied(body), call.manager, force, now, resource.schema, target.subresource
                )
            except apply.ApplyConflict as clash:
                raise apply_conflicts(str(clash), clash.conflicts) from None
            except apply.ApplyError as error:
                raise StatusError(500, "", str(error)) from None
            read(call, resource, applied)
            return applied

        while True:
            if self.store.get(resource.storage, *target.key) is not None:
                return await self._write(call, target, make, tracked=True), False
            if target.subresource or meta.get("uid") or meta.get("resourceVersion"):
                raise not_found(resource, target.name)
            try:
                return await self.create(call, resource, target.namespace, make(None), tracked=True), True
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def _write(self, call: Call, target: Target, make: Make, *, tracked: bool) -> Stored:
        resource = target.resource
        while True:
            old = self.store.get(resource.storage, *target.key)
            if old is None:
                raise not_found(resource, target.name)
            before = old.decode()
            new = self._next(call, target, before, make(view(resource, old.decode())))
            if not tracked:
                now = rfc3339(self.now())
                apply.track_update(before, new, call.manager, now, resource.schema, target.subresource)
            self._judge(call, resource, new, before, target.subresource)
            shown = view(resource, new), view(resource, before)
            await self.admission.review(call, Review("UPDATE", resource, *target.key, target.subresource, *shown))
            if call.dry_run:
                return as_stored(new, old.version)
            try:
                if is_released(new):
                    self.store.remove(resource.storage, old)
                    return as_stored(new, old.version)
                return self._put(resource, new, old)
            except Stale:
                continue

    def _generate_name(self, resource: Resource, namespace: str, prefix: str) -> str:
        while True:
            name = prefix[:LONGEST_PREFIX] + "".join(secrets.choice(NAME_LETTERS) for _ in range(5))
            if self.store.get(resource.storage, namespace, name) is None:
                return name

    def _put(self, resource: Resource, obj: JSON, old: Stored | None) -> Stored:
        try:
            return self.store.put(resource.storage, obj, old)
        except TooLarge:
            raise StatusError(500, "", "etcdserver: request is too large") from None

    def _next(self, call: Call, target: Target, before: JSON, wanted: JSON) -> JSON:
        """Return the stored form of what `wanted` makes of `before`. Raises StatusError."""
        resource = target.resource
        check_type(resource, wanted)
        check_identity(target, before["metadata"], metadata_of(wanted))
        new = _merge(resource, before, stored_form(resource, wanted), target.subresource)
        with readable(resource):
            strategies.prepare(resource, new, before)
        if resource.has_generation and _differs(before, new):
            new["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
        return new

    def _judge(self, call: Call, resource: Resource, obj: JSON, old: JSON | None, subresource: str = "") -> None:
        """Refuse an object that breaks rules; what an update leaves as wrong as it was passes."""
        if old is None:
            faults = validation.validate_metadata(obj, namespaced=resource.namespaced)
        else:
            faults = validation.validate_metadata_update(obj, old)
        with readable(resource):
            faults += strategies.check(resource, obj, old)
        if resource.schema is not None:
            judge = schema.validate_status if subresource == "status" else schema.validate
            broken = judge(resource.schema, obj)
            faults += [fault for fault in broken if not old or fault not in judge(resource.schema, old)]
        if faults:
            raise invalid(resource, obj["metadata"].get("name", ""), faults)
        if old is None:
            call.warnings += strategies.limits(resource, obj)
        if resource.custom:
            known = validation.finalizer_warnings(old) if old else ()
            call.warnings += [warning for warning in validation.finalizer_warnings(obj) if warning not in known]

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        home = self.store.get("namespaces", "", namespace)
        if home is None:
            raise StatusError(
                404, "NotFound", f'namespaces "{namespace}" not found', {"name": namespace, "kind": "namespaces"}
            )
        if "deletionTimestamp" in home.decode()["metadata"]:
            why = f"namespace {namespace} is being terminated"
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(resource, name, message, [Cause("NamespaceTerminating", why, "metadata.namespace")])


def is_released(obj: JSON) -> bool:
    """Say whether a deleting object has nobody left to wait for."""
    meta = obj["metadata"]
    held = meta.get("finalizers") or (obj.get("kind") == "Namespace" and (obj.get("spec") or {}).get("finalizers"))
    return "deletionTimestamp" in meta and not held


def _merge(resource: Resource, before: JSON, wanted: JSON, subresource: str) -> JSON:
    """Return what a write through `subresource` may make of `before`, given what it asks for."""
    meta = wanted["metadata"]
    if subresource:
        part = {"finalize": "spec"}.get(subresource, subresource)
        new = dict(before)
        new["metadata"] = dict(before["metadata"])
        if "managedFields" in meta:
            new["metadata"]["managedFields"] = meta["managedFields"]
        new.pop(part, None)
        return new | ({part: wanted[part]} if part in wanted else {})
    meta.pop("generation", None)
    meta.pop("selfLink", None)
    meta |= {name: before["metadata"][name] for name in NEVER_CHANGE if name in before["metadata"]}
    if resource.has_status:
        wanted.pop("status", None)
        if "status" in before:
            wanted["status"] = before["status"]
    if resource.storage == "namespaces":
        wanted["spec"] = before.get("spec", {})
    return wanted


def _differs(before: JSON, new: JSON) -> bool:
    """Say whether anything but metadata and status has changed."""
    apart = {"metadata", "status", "apiVersion", "kind"}
    names = (before.keys() | new.keys()) - apart
    return any(before.get(name) != new.get(name) for name in names)


def _unreadable_patch(patched: JSON, fault: str) -> StatusError:
    shown = json.dumps(patched, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    nothing = Resource("", "", "", "", "", namespaced=False)
    return invalid(nothing, "", [causes.invalid("patch", shown, fault)])


def _patch_refused(error: PatchError) -> StatusError:
    return StatusError(error.code, error.reason, error.message, {} if error.code == 422 else None)
