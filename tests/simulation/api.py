"""The way from the programs to the store and back: requests that take time and may fail, watches that may lag or lie.

`Wire` is what a program gets in the place of HTTP. What befalls a request is said by the weather; what it does when it
arrives is the store's doing. A request that its sender has given up may still arrive.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import unquote

import msgspec

from shared.api.meta import Key
from shared.kube.errors import Unavailable
from shared.kube.transport import Answer, Guard, Request
from tests.simulation.calls import Call, Fate, Judge, Watch, Weather, Whole
from tests.simulation.history import History
from tests.simulation.loop import Process, SeededLoop
from tests.simulation.store import Change, Object, Refusal, Store

VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}

FIRST_VERSION = 101
BOOKMARKS = 45.0


class Api:
    """The API server and the network before it."""

    def __init__(self, loop: SeededLoop, store: Store, weather: Weather, judge: Judge, history: History) -> None:
        self.loop, self.store, self.weather, self.judge, self.history = loop, store, weather, judge, history
        self.watches: list[Watch] = []
        self.compacted = 0
        """The newest version that no watch can begin at any more."""
        self.page = 0
        """Objects in a page of a list, if less than was asked for."""
        self.admission: Callable[[Call], Refusal | None] = lambda _: None
        self.hung: list[asyncio.Future[Answer]] = []
        """Answers that nobody will get, and nobody is told."""
        self._number = 0
        self._lists: dict[str, tuple[int, list[Object]]] = {}
        store.watchers.append(lambda _: self.pump())

    def wire(self, process: Process) -> "Wire":
        return Wire(self, process)

    def call(self, process: Process, request: Request) -> Call:
        namespace, resource, name, subresource = _place(request)
        verb = VERBS.get(request.method, "get" if name else "list")
        if ("watch", "true") in request.query:
            verb = "watch"
        elif verb == "list" and (selector := dict(request.query).get("fieldSelector")):
            verb, name = "get", selector.removeprefix("metadata.name=")  # a read of one object in other words
        body = msgspec.json.decode(request.body) if request.body else None
        if verb == "create" and body:
            name = body["metadata"].get("name", "")
        self._number += 1
        return Call(
            self._number, self.loop.time(), process, verb, resource, Key(namespace, name), subresource, request, body
        )

    async def ask(self, call: Call) -> Answer:
        """Send it, wait for the answer, and get it."""
        said = (call.request.body or b"").decode() if call.verb == "patch" else ""
        self.history.note(self.loop.time(), call.process.name, str(call), loud=call.is_write, aside=said)
        fate = self.weather.fate(call)
        self.judge.sent(call)
        answer: asyncio.Future[Answer] = self.loop.create_future()
        if call.process.dead:  # killed in this very moment: it never left
            return await answer
        self.loop.world(fate.there, self._arrive, call, fate, answer)
        got = await answer
        self.judge.answered(call, got)
        return got

    def note(self, call: Call, what: str, *, loud: bool = True) -> None:
        self.history.note(self.loop.time(), call.process.name, what, loud=loud)

    def _arrive(self, call: Call, fate: Fate, answer: "asyncio.Future[Answer]") -> None:
        result: Answer | Exception
        if fate.arrives:
            result = failure(fate.refusal) if fate.refusal else self._do(call)
            if fate.after:
                result = failure(fate.after)
                self.note(call, f"{call} was done, and is answered {fate.after.status}")
        if not fate.arrives or not fate.answered:
            self.note(call, f"{call} {'is done, but its answer' if fate.arrives else 'itself'} is lost")
            if fate.hangs and not self.weather.is_calm:
                self.hung.append(answer)
                return
            result = Unavailable("the connection was reset", reason="ConnectionFailed")
        elif fate.refusal:
            self.note(call, f"{call} is answered {fate.refusal.status}")
        self.loop.world(fate.back, _settle, answer, result)

    def _do(self, call: Call) -> Answer:
        try:
            if call.verb == "watch" and int(dict(call.request.query)["resourceVersion"]) < self.compacted:
                raise Refusal(410, "Expired", "too old resource version")
            if call.verb == "create" and (refusal := self.admission(call)):
                raise refusal
            self.judge.arrives(call)
            body = getattr(self, f"_{call.verb}")(call)
        except Refusal as refusal:
            self.judge.done(call, refusal)
            if call.is_write:
                self.note(call, f"{call} is refused: {refusal.status} {refusal.reason} {refusal.message}")
            return failure(refusal)
        self.judge.done(call, None)
        return Answer(201 if call.verb == "create" else 200, {}, body)

    # The verbs

    def _get(self, call: Call) -> bytes:
        selected = "fieldSelector" in dict(call.request.query)
        if selected and call.key not in self.store.objects[call.resource]:
            return b'{"kind":"List","items":[]}'
        obj = call.result = self.store.get(call.resource, call.key)
        if selected:
            return msgspec.json.encode({"kind": "PartialObjectMetadataList", "items": [{"metadata": obj["metadata"]}]})
        if "as=PartialObjectMetadata" in call.request.accept:
            partial = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj["metadata"]}
            return msgspec.json.encode(partial)
        return self._body(call, obj)

    def _create(self, call: Call) -> bytes:
        call.result = self.store.create(call.resource, call.body, call.process.name)
        return self._body(call, call.result)

    def _patch(self, call: Call) -> bytes:
        content_type, by = call.request.content_type, call.process.name
        obj = self.store.patch(
            call.resource, call.key, call.body, content_type=content_type, subresource=call.subresource, by=by
        )
        call.result = obj
        return self._body(call, obj)

    def _update(self, call: Call) -> bytes:
        obj = self.store.update(call.resource, call.key, call.body, call.subresource, call.process.name)
        call.result = obj
        return self._body(call, obj)

    def _delete(self, call: Call) -> bytes:
        options = call.body or {}
        as_seen = options.get("preconditions", {})
        propagation = options.get("propagationPolicy", "")
        self.store.delete(
            call.resource,
            call.key,
            call.process.name,
            uid=as_seen.get("uid"),
            version=as_seen.get("resourceVersion"),
            propagation=propagation,
        )
        return b'{"kind":"Status","status":"Success"}'

    def _body(self, call: Call, obj: Object) -> bytes:
        return self.store.bodies[call.resource, obj["metadata"]["resourceVersion"]]

    def _list(self, call: Call) -> bytes:
        query = dict(call.request.query)
        if "continue" in query:
            version, rest = self._lists.pop(query["continue"], (0, []))
            if version < self.compacted:
                raise Refusal(410, "Expired", "the list has expired")
        else:
            version, rest = self._listed(call)
        limit = int(query.get("limit", 0)) or len(rest) + 1
        limit = min(limit, self.page) if self.page and "limit" in query else limit
        items, rest = rest[:limit], rest[limit:]
        more = ""
        if rest:
            more = f"{version}-{call.number}"
            self._lists[more] = version, rest
        call.listed, call.more = (version, items), bool(more)
        bodies = b",".join(self._body(call, item) for item in items)
        head = b'{"kind":"List","metadata":{"resourceVersion":"%d","continue":"%b"},"items":['
        return head % (version, more.encode()) + bodies + b"]}"

    def _listed(self, call: Call) -> tuple[int, list[Object]]:
        behind = self.weather.behind(call.process)
        version, objects = self.store.version, self.store.objects
        if behind:
            version = max(FIRST_VERSION - 1, version - behind)
            objects = self.store.as_of(version)
        found = sorted(objects[call.resource].items())
        return version, [obj for key, obj in found if call.key.namespace in ("", key.namespace)]

    def _watch(self, call: Call) -> bytes:
        return b""

    # Watches

    def open(self, call: Call) -> Watch:
        """Begin a watch for which the API server said yes."""
        since = int(dict(call.request.query)["resourceVersion"])
        watch = Watch(call.process, call.resource, since + 1 - FIRST_VERSION, due=self.loop.time())
        watch.consumed = lambda change: self.judge.knows(call.process, change.resource, [change.new])
        self.watches.append(watch)
        self.weather.opened(watch)
        self.loop.world(float(dict(call.request.query)["timeoutSeconds"]), watch.end)
        self.loop.world(BOOKMARKS, self._bookmark, watch)
        self.pump()
        return watch

    def pump(self) -> None:
        """Send what is to be sent."""
        for watch in self.watches:
            if watch.stalled or watch.ended:
                continue
            end = len(self.store.history) - self.weather.behind(watch.process)
            while watch.next < end:
                change = self.store.history[watch.next]
                watch.next += 1
                if change.resource == watch.resource:
                    line = b'{"type":"%b","object":%b}\n' % (change.kind.encode(), change.body)
                    self._send(watch, line, change)

    def _send(self, watch: Watch, line: bytes, change: Change | None) -> None:
        watch.due = max(watch.due, self.loop.time() + self.weather.lag(watch))
        watch.sent.append((line, change))
        self.loop.world(watch.due - self.loop.time(), self._deliver, watch)

    def _deliver(self, watch: Watch) -> None:
        line, change = watch.sent.popleft()  # in order, also where two arrive at the same moment
        if watch in self.watches and not watch.ended:
            if change:
                name, version = change.new["metadata"]["name"], change.version
                what = f"hears {change.kind} {change.resource}/{name} {version}"
                self.history.note(self.loop.time(), watch.process.name, what, loud=False)
            watch.arrived.append((line, change))
            watch.wake()

    def _bookmark(self, watch: Watch) -> None:
        if watch in self.watches and not watch.stalled and watch.next:
            version = self.store.history[watch.next - 1].version
            body = {"kind": "Bookmark", "metadata": {"resourceVersion": str(version)}}
            self._send(watch, msgspec.json.encode({"type": "BOOKMARK", "object": body}) + b"\n", None)
            self.loop.world(BOOKMARKS, self._bookmark, watch)

    def expire(self, watch: Watch) -> None:
        """Say in the stream that the watch's place is no longer known."""
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        watch.arrived.append((msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n", None))
        watch.end()

    def reset(self) -> None:
        """The network is well again: whoever waits in vain is told so."""
        hung, self.hung = self.hung, []
        for answer in hung:
            _settle(answer, Unavailable("the connection was reset", reason="ConnectionFailed"))

    def is_followed(self, process: Process) -> bool:
        """The process watches everything, and has heard of all there is."""
        heard = [
            watch.resource
            for watch in self.watches
            if watch.process is process and not watch.ended and watch.next == len(self.store.history)
            if all(change is None for _, change in (*watch.sent, *watch.arrived))  # a bookmark is no news
        ]
        return {"jobflows", "jobtemplates", "jobs"} <= set(heard)

    def forget(self, process: Process) -> None:
        """The process is no more, and its connections are closed."""
        self.watches = [watch for watch in self.watches if watch.process is not process]


class Wire:
    """One process's connection to the API server: its transport."""

    def __init__(self, api: Api, process: Process) -> None:
        self._api, self._process = api, process

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if self._process.dead:
            raise Unavailable("the process is no more", reason="ConnectionFailed")
        if seconds := self._api.weather.connecting():
            connected: asyncio.Future[None] = self._api.loop.create_future()
            self._api.loop.world(seconds, _open, connected)
            await connected
        if guard:
            guard()
        return await self._api.ask(self._api.call(self._process, request))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Watch | Whole]:
        if self._process.dead:
            raise Unavailable("the process is no more", reason="ConnectionFailed")
        call = self._api.call(self._process, request)
        answer = await self._api.ask(call)
        if answer.status != 200:
            yield Whole(answer)
            return
        watch = self._api.open(call)
        try:
            yield watch
        finally:
            if watch in self._api.watches:
                self._api.watches.remove(watch)

    async def close(self) -> None:
        """There is nothing to let go of."""


def _open(connected: "asyncio.Future[None]") -> None:
    if not connected.done():
        connected.set_result(None)


def _settle(answer: "asyncio.Future[Answer]", result: Answer | Exception) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
        answer.exception()  # whoever asked may have been killed, and nobody would hear of it
    else:
        answer.set_result(result)


def _place(request: Request) -> tuple[str, str, str, str]:
    """Namespace, resource, name and subresource of a path."""
    parts = [unquote(part) for part in request.path.split("/")[2:]]
    parts = parts[2:] if request.path.startswith("/apis/") else parts[1:]
    namespace = ""
    if parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    return namespace, resource, name, subresource


def failure(refusal: Refusal) -> Answer:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": refusal.status,
        "reason": refusal.reason,
        "message": refusal.message,
    }
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
    return Answer(refusal.status, headers, msgspec.json.encode(body))
