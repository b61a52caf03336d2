"""What each verb does with a request for a resource: read the request, do it, answer."""

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec
from aiohttp import web

from devcluster import causes
from devcluster.bodies import PATCH_TYPES, answer, read_body
from devcluster.calls import Call, Target
from devcluster.deletion import Deletion, read_options
from devcluster.errors import (
    StatusError,
    bad_request,
    invalid_options,
    method_not_allowed,
    no_such_path,
    not_found,
    success,
)
from devcluster.faults import Action
from devcluster.identity import User
from devcluster.listing import list_page, read_selector
from devcluster.patches import APPLY_PATCH, STRATEGIC_PATCH
from devcluster.registry import Registry
from devcluster.resources import JSON, Resource
from devcluster.reviews import Reviews
from devcluster.routes import Route
from devcluster.store import Stored
from devcluster.views import View, negotiate
from devcluster.watch import Watch, read_watch_options

REVIEW_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")
SHORTEST_WATCH, LONGEST_WATCH = 1800, 3600  # seconds, unless the client says otherwise
VALIDATIONS = ("Ignore", "Strict", "Warn")
OPTIONS_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


Handler = Callable[[web.BaseRequest, Route, Resource, User], Awaitable[web.Response]]


class Handlers:
    """The verbs of all resources."""

    def __init__(self, registry: Registry, deletion: Deletion, reviews: Reviews, bookmark_every: float) -> None:
        self._registry = registry
        self._deletion = deletion
        self._objects = deletion.objects
        self._store = deletion.store
        self._reviews = reviews
        self._bookmark_every = bookmark_every
        self._verbs: dict[str, Handler] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def handle(
        self, request: web.BaseRequest, route: Route, user: User, actions: list[Action]
    ) -> web.StreamResponse:
        """Answer a request for a resource. Raises StatusError."""
        resource = self._registry.find(route.group, route.version, route.plural)
        if resource is None:
            raise no_such_path()
        _check_route(route, resource)
        if route.verb == "watch":
            return await self._watch(request, route, resource, actions)
        handler = self._verbs[route.verb]
        if route.subresource == "token":
            handler = self._token
        elif resource.group in REVIEW_GROUPS:
            handler = self._review
        return await handler(request, route, resource, user)

    def _view(self, request: web.BaseRequest, resource: Resource) -> View:
        include = request.query.get("includeObject", "")
        return negotiate(request.headers.get("Accept", ""), resource, self._objects.now, include)

    async def _get(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        view = self._view(request, resource)
        return answer(view.one(self._find(route, resource)))

    async def _list(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        view = self._view(request, resource)
        selector = read_selector(request.query, resource, route.namespace)
        page = await list_page(self._store, resource, selector, request.query)
        return answer(view.many(page.items, page.meta))

    async def _watch(
        self, request: web.BaseRequest, route: Route, resource: Resource, actions: list[Action]
    ) -> web.StreamResponse:
        view = self._view(request, resource)
        options = read_watch_options(request.query)
        selector = read_selector(request.query, resource, route.namespace)
        watch = Watch(self._store, self._store.bucket(resource.storage), selector, view, options)
        seconds = options.timeout or random.uniform(SHORTEST_WATCH, LONGEST_WATCH)  # noqa: S311 - spreads reconnects
        stream = watch.lines(seconds, self._bookmark_every)
        for action in actions:
            stream = action.stream(stream)
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        await response.prepare(request)
        async for batch in stream:
            await response.write(b"".join(batch))
        await response.write_eof()
        return response

    async def _create(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        view, body = self._view(request, resource), await read_body(request)
        call = read_call(request, route, user)
        with _warned(call):
            stored = await self._objects.create(call, resource, _home(route, resource), body)
        return answer(view.one(stored), 201, warnings=call.warnings)

    async def _update(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        view, body = self._view(request, resource), await read_body(request)
        call = read_call(request, route, user)
        with _warned(call):
            stored = await self._objects.update(call, _target(route, resource), body)
        return answer(view.one(stored), warnings=call.warnings)

    async def _patch(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        known = tuple(media for media in PATCH_TYPES if media != STRATEGIC_PATCH or not resource.custom)
        view, body = self._view(request, resource), await read_body(request, known)
        call = read_call(request, route, user)
        applies = request.content_type == APPLY_PATCH
        if applies and not request.query.get("fieldManager"):
            missing = causes.required("fieldManager", "is required for apply patch")
            raise invalid_options("PatchOptions", [missing])
        force = applies and request.query.get("force") in {"1", "true"}
        with _warned(call):
            stored, created = await self._objects.patch(
                call, _target(route, resource), request.content_type, body, force=force
            )
        return answer(view.one(stored), 201 if created else 200, warnings=call.warnings)

    async def _delete(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        view, body = self._view(request, resource), await self._delete_body(request)
        call = read_call(request, route, user, body)
        options = read_options(body, request.query)
        key = (_home(route, resource), route.name)
        with _warned(call):
            last, gone = await self._deletion.delete(call, resource, key, options)
        if not gone:
            return answer(view.one(last), warnings=call.warnings)
        return answer(msgspec.json.encode(success(resource, last.name, last.uid)), warnings=call.warnings)

    async def _delete_collection(
        self, request: web.BaseRequest, route: Route, resource: Resource, user: User
    ) -> web.Response:
        view, body = self._view(request, resource), await self._delete_body(request)
        call = read_call(request, route, user, body)
        selector = read_selector(request.query, resource, route.namespace)
        page = await list_page(self._store, resource, selector, request.query)
        keys = [stored.key for stored in page.items]
        options = read_options(body, request.query)
        with _warned(call):
            await self._deletion.delete_collection(call, resource, keys, options)
        return answer(view.many(page.items, page.meta), warnings=call.warnings)

    async def _delete_body(self, request: web.BaseRequest) -> JSON:
        body = await read_body(request) or {}
        if not isinstance(body, dict):
            raise bad_request("the body of a delete must be DeleteOptions")
        return body

    async def _token(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        if route.verb != "create":
            raise method_not_allowed()
        body = await read_body(request) or {}
        return answer(msgspec.json.encode(self._reviews.issue_token(self._find(route, resource), body)), 201)

    async def _review(self, request: web.BaseRequest, route: Route, resource: Resource, user: User) -> web.Response:
        body = await read_body(request)
        if not isinstance(body, dict):
            raise bad_request(f"the body must be a {resource.kind}")
        return answer(msgspec.json.encode(self._reviews.answer(resource.kind, user, body, route.namespace)), 201)

    def _find(self, route: Route, resource: Resource) -> Stored:
        stored = self._store.get(resource.storage, _home(route, resource), route.name)
        if stored is None:
            raise not_found(resource, route.name)
        return stored


def read_call(request: web.BaseRequest, route: Route, user: User, body: JSON | None = None) -> Call:
    """Read who writes and how from the query, and from the body of a delete."""
    query = request.query
    kind = OPTIONS_KINDS.get(route.verb, "DeleteOptions")
    asked = query.getall("dryRun", []) or (body or {}).get("dryRun") or []
    if any(value != "All" for value in asked):
        raise invalid_options(kind, [causes.unsupported("dryRun", asked[0], ("All",))])
    manager = query.get("fieldManager") or request.headers.get("User-Agent", "").partition("/")[0] or "unknown"
    options: JSON = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if asked:
        options["dryRun"] = ["All"]
    for name in ("fieldManager", "fieldValidation", "propagationPolicy"):
        if query.get(name):
            options[name] = query[name]
    if query.get("force") and route.verb == "patch":
        options["force"] = query["force"] in {"1", "true"}
    validation = query.get("fieldValidation") or "Warn"
    if validation not in VALIDATIONS:
        raise invalid_options(kind, [causes.unsupported("fieldValidation", validation, VALIDATIONS)])
    return Call(user, manager, bool(asked), validation, options | (body or {}))


@contextmanager
def _warned(call: Call) -> Iterator[None]:
    """Give the warnings of a call to its refusal, too."""
    try:
        yield
    except StatusError as error:
        error.warnings += call.warnings
        raise


def _target(route: Route, resource: Resource) -> Target:
    return Target(resource, _home(route, resource), route.name, route.subresource)


def _home(route: Route, resource: Resource) -> str:
    return route.namespace if resource.namespaced else ""


def _check_route(route: Route, resource: Resource) -> None:
    """Refuse what this resource does not offer."""
    if route.subresource and route.subresource not in resource.subresources:
        raise no_such_path()
    if route.subresource == "token":
        return
    if route.verb not in resource.verbs:
        raise method_not_allowed()
    if route.subresource and route.verb not in {"get", "update", "patch"}:
        raise method_not_allowed()
    if (route.verb == "create" and route.name) or (route.verb in {"update", "patch"} and not route.name):
        raise method_not_allowed()
    inside = bool(route.namespace) and resource.storage != "namespaces"
    if inside and not resource.namespaced:
        raise no_such_path()
    if (
        resource.namespaced
        and not inside
        and route.verb not in {"list", "watch"}
        and resource.group not in REVIEW_GROUPS
    ):
        raise method_not_allowed()
