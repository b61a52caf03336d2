"""The embedded API server: Kubernetes' HTTP API on the loopback, with everything in memory.

    async with ApiServer() as server:
        server.kubeconfig(path)     # for kubectl and the programs
        server.store                # what is stored
        server.faults               # what is to go wrong
    server.objects, server.deletion     # writing without HTTP

Every request takes the same way: who is it (`identity.py`), what do they want (`routes.py`), may they (`rbac.py`), then
the verb (`handlers.py`) or a document (`documents.py`).
"""

import asyncio
import base64
import sys
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import yaml
from aiohttp import web

from devcluster import certificates, rbac
from devcluster.admission import Webhooks
from devcluster.bodies import LARGEST_BODY, answer
from devcluster.builtin import BUILTIN
from devcluster.calls import Call
from devcluster.crds import Definitions
from devcluster.deletion import Deletion
from devcluster.documents import Documents
from devcluster.errors import StatusError, forbidden, internal, unauthorized
from devcluster.faults import Dropped, Faults
from devcluster.garbage import GarbageCollector
from devcluster.handlers import Handlers
from devcluster.identity import ADMIN, ANYONE, Tokens, User
from devcluster.namespaces import NamespaceController
from devcluster.objects import Objects
from devcluster.rbac import Attributes, Authorizer
from devcluster.registry import Registry
from devcluster.resources import JSON
from devcluster.reviews import Reviews
from devcluster.routes import Route, read_route
from devcluster.store import Store
from devcluster.tasks import Tasks

FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
BOOKMARK_EVERY = 60.0


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class ApiServer:
    """One API server. It serves from entering the context to leaving it; a new one knows nothing of the last."""

    def __init__(
        self, port: int = 0, *, now: Callable[[], datetime] = utc_now, bookmark_every: float = BOOKMARK_EVERY
    ) -> None:
        self.store = Store()
        self.faults = Faults()
        self.tokens = Tokens()
        self.admin_token = self.tokens.add(ADMIN)
        self.certificate = certificates.issue()
        self.port = port
        self.now = now
        self.registry = Registry(BUILTIN)
        self._tasks = Tasks()
        self._authorizer = Authorizer(self.store)
        self._webhooks = Webhooks(self.store)
        self.objects = Objects(self.store, self._webhooks, now)
        self.deletion = deletion = Deletion(self.objects)
        reviews = Reviews(self._authorizer, self.tokens, now)
        Definitions(self.registry, deletion, self._tasks)
        NamespaceController(self.registry, deletion, self._tasks)
        self._garbage = GarbageCollector(self.registry, deletion)
        self._handlers = Handlers(self.registry, deletion, reviews, bookmark_every)
        self._documents = Documents(self.registry)
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Return where it serves."""
        return f"https://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._tasks.start(self._garbage.run(), "garbage collector")
        await self._bootstrap()
        server = web.Server(self._handle, request_factory=_request)
        self._runner = web.ServerRunner(server, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.certificate.context())
        try:
            await site.start()
        except OSError:
            await self.__aexit__()
            raise
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            for bucket in self.registry.buckets():
                self.store.close(bucket.storage)
            await self._runner.cleanup()
        await self._tasks.stop()
        await self._webhooks.caller.close()

    def add_user(self, name: str, groups: Iterable[str] = ()) -> str:
        """Return a token for a user, who may do what RBAC grants."""
        return self.tokens.add(User(name, (*groups, ANYONE)))

    def kubeconfig(self, path: Path, token: str = "", namespace: str = "default") -> Path:
        """Write a kubeconfig, the admin's unless another token is given, and return its path."""
        ca = self.certificate.ca.decode()
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(yaml.safe_dump(kubeconfig(self.url, ca, token or self.admin_token, namespace)))
        return fresh.replace(path)  # whoever waits for the file finds it whole

    async def _bootstrap(self) -> None:
        namespaces = self.registry.find("", "v1", "namespaces")
        call = Call(ADMIN, manager="kube-apiserver")
        if namespaces is not None:
            for name in FIRST_NAMESPACES:
                await self.objects.create(call, namespaces, "", {"metadata": {"name": name}})
        for storage, obj in rbac.bootstrap():
            resource = self.registry.stored_at(storage)
            if resource is not None:
                await self.objects.create(call, resource, "", obj)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except StatusError as error:
            return answer(error.body, error.code, headers=error.headers, warnings=error.warnings)
        except web.HTTPRequestEntityTooLarge:
            too_large = StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LARGEST_BODY}")
            return answer(too_large.body, too_large.code)
        except (Dropped, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
            raise asyncio.CancelledError from None
        except Exception as error:
            print(f"devcluster: {request.method} {request.path} has failed", file=sys.stderr)
            traceback.print_exc()
            fault = internal(str(error))
            return answer(fault.body, fault.code)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self.tokens.user(request.headers.get("Authorization"), self.now())
        if user is None:
            raise unauthorized()
        user = self._impersonated(request, user)
        route = read_route(request.method, request.path, request.query)
        self._authorize(user, route)
        if not route.plural:
            return await self._documents.answer(route, request.headers.get("Accept", ""))
        actions = self.faults.hit(route, user.name)
        for action in actions:
            await action.before()
        response = await self._handlers.handle(request, route, user, actions)
        for action in actions:
            await action.after()
        return response

    def _authorize(self, user: User, route: Route) -> None:
        if self._authorizer.allows(user, route.attributes):
            return
        why = f'User "{user.name}" {route.attributes}'
        resource = self.registry.find(route.group, route.version, route.plural)
        if resource is not None:
            raise forbidden(resource, route.name, why)
        raise StatusError(403, "Forbidden", f"forbidden: {why}", {})

    def _impersonated(self, request: web.BaseRequest, user: User) -> User:
        """Return whom the caller wants to be, if they may."""
        name = request.headers.get("Impersonate-User")
        if not name:
            return user
        groups = tuple(request.headers.getall("Impersonate-Group", []))
        wanted = [("users", name), *(("groups", group) for group in groups)]
        for plural, one in wanted:
            asked = Attributes("impersonate", resource=plural, name=one)
            if not self._authorizer.allows(user, asked):
                message = f'{plural} "{one}" is forbidden: User "{user.name}" {asked}'
                raise StatusError(403, "Forbidden", message, {"name": one, "kind": plural})
        return User(name, groups if ANYONE in groups else (*groups, ANYONE))


def kubeconfig(url: str, ca: str, token: str, namespace: str = "default") -> JSON:
    """Return a kubeconfig for one server and one user."""
    authority = base64.b64encode(ca.encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "devcluster", "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": "devcluster", "user": {"token": token}}],
        "contexts": [
            {"name": "devcluster", "context": {"cluster": "devcluster", "user": "devcluster", "namespace": namespace}}
        ],
        "current-context": "devcluster",
    }


def _request(message, payload, protocol, writer, task) -> web.BaseRequest:  # type: ignore[no-untyped-def]
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY)
