"""Offers the embedded API server with its whole history written down: who sent what, what came of it, what was stored.

The history is the server's, so it is true whatever the programs believe. It is judged while it grows, by the oracle of
the simulation (`tests/simulation/oracle.py`), which knows the invariants I1 to I13.
"""

import time
from asyncio import Transport
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from devcluster import store
from devcluster.errors import StatusError
from devcluster.faults import WRITES
from devcluster.routes import Route, read_route
from devcluster.server import ApiServer
from shared.api.meta import Key
from shared.kube.transport import Answer
from tests.simulation.api import Call
from tests.simulation.history import History
from tests.simulation.loop import BEGINNING, Process
from tests.simulation.oracle import Oracle
from tests.simulation.store import Change, Object, Refusal, owner_uid, phase_of

RESOURCES = {
    "jobflows.flow.volcano.sh": "jobflows",
    "jobtemplates.flow.volcano.sh": "jobtemplates",
    "jobs.batch.volcano.sh": "jobs",
    "leases.coordination.k8s.io": "leases",
}
"""What is judged, and how the oracle calls it."""

HANDS = {"": "user", "admin": "user", "player": "volcano", "generic-garbage-collector": "gc"}
"""How the oracle calls those who are no controller."""

UNDER_WAY = 1.0
"""Seconds by which a request may arrive later than it was sent, on a machine that has other things to do."""


@dataclass
class Sent:
    """A request of a controller."""

    at: float
    who: str
    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    code: int = 0
    """What it was answered; 0 while it was not, or where the connection was cut."""
    committed: bool = False
    """It has changed something."""
    bytes_sent: int = 0

    @property
    def is_write(self) -> bool:
        """It changes something, Leases and Events aside."""
        return self.verb in WRITES and self.resource not in ("leases", "events")

    def __str__(self) -> str:
        sub = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}/{self.namespace}/{self.name}{sub}"


class Clock:
    """Seconds since the server was made, as the oracle wants them."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def time(self) -> float:
        """Return the time."""
        return time.monotonic() - self._began + BEGINNING


@dataclass
class Shadow:
    """As much of the simulation's store as its oracle asks for."""

    watchers: list[Any] = field(default_factory=list)
    objects: dict[str, dict[Key, Object]] = field(default_factory=lambda: {"leases": {}})
    bodies: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Every object that was ever stored, by resource and version."""


class Judge(Oracle):
    """The oracle, for real processes: a Lease names its holder by an identity that the holder has thought up."""

    def __init__(self, clock: Clock, history: History) -> None:
        self.shadow = Shadow()
        self.holders: dict[str, str] = {}
        super().__init__(clock, self.shadow, history)  # type: ignore[arg-type]

    def lease_written(self, who: str, lease: Object) -> None:
        """Somebody has written a Lease."""
        holder = lease["spec"].get("holderIdentity") or ""
        if holder and who not in HANDS:
            self.holders.setdefault(holder, who)
        spec = {**lease["spec"], "holderIdentity": self.holders.get(holder, holder)}
        self.shadow.objects["leases"][Key("", lease["metadata"]["name"])] = {**lease, "spec": spec}

    def shown(self, job: Object) -> None:
        """A Job as it is now. Every process counts as having been shown it: the known window excuses nothing here."""
        for name in self.known:
            self.knows(Process(name), "jobs", [job])


class RecordingServer(ApiServer):
    """The embedded API server with its history. `controllers` are the users whose requests are judged."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.controllers: set[str] = set()
        self.sent: list[Sent] = []
        """Every request of a controller, in the order of arrival."""
        self.told: list[tuple[str, store.Change]] = []
        """Every change that was ever stored, of whatever it was."""
        self.clock = Clock()
        self.history = History()
        self.judge = Judge(self.clock, self.history)
        self._serving: ContextVar[tuple[str, Sent | None]] = ContextVar("serving", default=("", None))
        self._open: dict[int, tuple[str, Transport]] = {}
        self._processes: dict[str, Process] = {}
        self.store.observers.append(self._stored)

    def controller(self, name: str) -> str:
        """Return a token for a controller of that name, who may do everything."""
        self.controllers.add(name)
        self._processes[name] = Process(name)
        self.judge.knowledge(self._processes[name])
        return self.add_user(name, ("system:masters",))

    def writes(self, who: str = "", namespace: str = "") -> list[Sent]:
        """Return the writes that controllers have sent so far."""
        return [it for it in self.sent if it.is_write and who in ("", it.who) and namespace in ("", it.namespace)]

    def cut(self, who: str) -> None:
        """Cut all connections over which a controller waits for something, its watches first of all."""
        for sender, transport in list(self._open.values()):
            if sender == who:
                transport.abort()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self.tokens.user(request.headers.get("Authorization"), self.now())
        who = user.name.rpartition(":")[2] if user else ""
        if who not in self.controllers:
            self._serving.set((who, None))
            return await super()._answer(request)
        route = route_of(request)
        raw = await request.read() if route.verb in WRITES else b""
        body = msgspec.json.decode(raw) if raw else None
        name = route.name or ((body or {}).get("metadata", {}).get("name", "") if route.verb == "create" else "")
        now = self.clock.time()
        sent = Sent(now, who, route.verb, route.plural, route.namespace, name, route.subresource, bytes_sent=len(raw))
        self.sent.append(sent)
        call = self._call(sent, route, body)
        self._serving.set((who, sent))
        if sent.is_write:
            self._note(who, f"{call}")
        if call:
            self.judge.sent(call)
        return await self._judged(request, sent, call)

    async def _judged(self, request: web.BaseRequest, sent: Sent, call: Call | None) -> web.StreamResponse:
        number = id(request)
        if request.transport:
            self._open[number] = sent.who, request.transport
        try:
            response = await super()._answer(request)
        except StatusError as error:
            sent.code = error.code
            if sent.is_write:
                self._note(sent.who, f"{call} is answered {error.code} {error.status.get('reason')}")
            if call:
                self.judge.done(call, Refusal(error.code, str(error.status.get("reason")), str(error)))
            raise
        finally:
            self._open.pop(number, None)
        sent.code = response.status
        name = named(request)
        if name and route_of(request).plural == "jobflows":
            self._looked(sent, Key(sent.namespace, name))
        if call and isinstance(response, web.Response):
            self._answered(call, response)
        return response

    def _answered(self, call: Call, response: web.Response) -> None:
        body = response.body if isinstance(response.body, bytes) else b""
        if call.verb in ("get", "create", "patch"):
            call.result = self._whole(call, msgspec.json.decode(body))
        call.listed = (0, [])
        if call.verb != "get":
            self.judge.done(call, None)
        if call.verb != "list":
            self.judge.answered(call, Answer(response.status, {}, body))

    def _looked(self, sent: Sent, key: Key) -> None:
        """A list of one by its name is a live look, as a get is."""
        stored = self.store.get("jobflows.flow.volcano.sh", *key)
        if stored:
            known = self.judge.knowledge(self._processes[sent.who])
            known.flows[key] = self.clock.time(), stored.decode()

    def _whole(self, call: Call, told: Object) -> Object:
        """The object that an answer was about, even where just its metadata was asked for."""
        if told.get("kind") != "PartialObjectMetadata":
            return told
        storage = next(storage for storage, resource in RESOURCES.items() if resource == call.resource)
        stored = self.store.get(storage, *call.key)
        return stored.decode() if stored and stored.uid == told["metadata"]["uid"] else told

    def _call(self, sent: Sent, route: Route, body: Any) -> Call | None:
        if f"{route.plural}.{route.group}" not in RESOURCES or route.plural == "leases" or route.verb == "watch":
            return None
        key = Key(sent.namespace, sent.name)
        number = len(self.sent)
        # It was sent some time ago: nobody knows when, and the oracle must not blame it for a machine that is busy.
        at = sent.at - UNDER_WAY
        process = self._processes[sent.who]
        return Call(number, at, process, sent.verb, sent.resource, key, sent.subresource, None, body)  # type: ignore[arg-type]

    def _stored(self, storage: str, change: store.Change) -> None:
        self.told.append((storage, change))
        resource = RESOURCES.get(storage)
        if resource is None:
            return
        who, sent = self._serving.get()
        new = change.new.decode()
        if resource == "leases":
            if change.kind != "DELETED":
                self.judge.lease_written(who, new)
            if HANDS.get(who) == "user":
                self._tell(resource, change, new, who)
            return
        if sent:
            sent.committed = True
        self._tell(resource, change, new, who)

    def _tell(self, resource: str, change: store.Change, new: Object, who: str) -> None:
        by = who if who in self.controllers else HANDS.get(who, "user")
        old = change.old.decode() if change.old else None
        told = Change(change.version, resource, change.kind, old, new, b"", by)
        self.judge.shadow.bodies[resource, str(change.version)] = change.new.raw
        what = f"{change.kind} {resource}/{new['metadata'].get('namespace', '')}/{new['metadata']['name']}"
        self._note(by, f"  {what} {phase_of(new)}")
        for watcher in self.judge.shadow.watchers:
            watcher(told)
        if resource == "jobflows":
            # A spec that was changed while no webhook was there counts as it is now.
            self.judge.truth.flows[new["metadata"]["uid"]].policy = new["spec"].get("jobRetainPolicy")
        if resource == "jobs" and owner_uid(new):
            self.judge.shown(new)

    def _note(self, who: str, what: str) -> None:
        self.history.note(self.clock.time(), who, what)


def route_of(request: web.BaseRequest) -> Route:
    """Return what a request wants."""
    return read_route(request.method, request.path, request.query)


def named(request: web.BaseRequest) -> str:
    """Return the name that a list is narrowed down to, if it is."""
    field, _, value = request.query.get("fieldSelector", "").partition("=")
    return value if field == "metadata.name" else ""
