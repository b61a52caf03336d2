"""An API server in memory, in the place of the network: honest unless it is told to lie.

It stands behind the client's `Transport`, so everything from requests to decoding is the real thing, and the event
loop's time may be simulated.
"""

import asyncio
import copy
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import unquote

import jsonpatch

from shared.api.meta import Key
from shared.kube.errors import Unavailable
from shared.kube.transport import Answer, Guard, Request

Object = dict[str, Any]
Script = Callable[[Request], Answer | None]
"""What a fault does instead of an honest answer: it answers, raises, or declines with None."""

FLOW, BATCH = "flow.volcano.sh/v1alpha1", "batch.volcano.sh/v1alpha1"
KINDS = {
    "jobs": (BATCH, "Job"),
    "jobflows": (FLOW, "JobFlow"),
    "jobtemplates": (FLOW, "JobTemplate"),
    "leases": ("coordination.k8s.io/v1", "Lease"),
    "events": ("events.k8s.io/v1", "Event"),
}
VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


@dataclass
class Seen:
    """A request that came, and when by the loop's clock."""

    at: float
    verb: str
    resource: str
    request: Request

    @property
    def query(self) -> Mapping[str, str]:
        return dict(self.request.query)


@dataclass
class Watch:
    """A watch that somebody holds open."""

    resource: str
    chunks: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    frozen: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""

    def shows(self, obj: Object) -> bool:
        return self.namespace in ("", obj["metadata"]["namespace"])

    def send(self, *lines: bytes) -> None:
        for line in lines:
            if not self.frozen:
                self.chunks.put_nowait(line)

    def end(self, error: Exception | None = None) -> None:
        self.chunks.put_nowait(error)

    async def read(self) -> bytes:
        raise AssertionError("a watch is not read to its end")


@dataclass
class Whole:
    """A stream that is an answer of another status than 200."""

    answer: Answer

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.answer.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self.answer.body

    async def read(self) -> bytes:
        return self.answer.body


class FakeStream:
    """The reading end of a `Watch`."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            chunk = await self._watch.chunks.get()
            if chunk is None:
                return
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def read(self) -> bytes:
        raise AssertionError("a watch is not read to its end")


class FakeApi:
    """Objects, one resource version for all of them, their history, and the watches that are open."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, dict[Key, Object]] = {resource: {} for resource in KINDS}
        self.history: list[tuple[int, str, str, Object]] = []
        self.forgotten = 0
        """The newest version that a watch can no longer begin at."""
        self.seen: list[Seen] = []
        self.watches: list[Watch] = []
        self.scripts: list[tuple[str, str, Script]] = []
        self.missing: set[str] = set()
        """Resources whose CRD is not installed."""
        self.held_back: set[str] = set()
        """Resources whose new watches bring nothing at all, as behind a proxy that waits for the end of an answer."""
        self.closed = False

    # What the cluster does

    def put(self, resource: str, name: str, *, namespace: str = "ml", uid: str = "", **parts: Any) -> Object:
        """Create the object, or change it: `parts` are its metadata, spec, status. Returns it."""
        key = Key(namespace, name)
        old = self.objects[resource].get(key)
        self.version += 1
        metadata = {
            **(old["metadata"] if old else {}),
            **parts.pop("metadata", {}),
            "name": name,
            "namespace": namespace,
            "uid": uid or (old["metadata"]["uid"] if old else f"uid-{self.version}"),
            "resourceVersion": str(self.version),
        }
        api_version, kind = KINDS[resource]
        new = {"apiVersion": api_version, "kind": kind, **(old or {}), **parts, "metadata": metadata}
        self.objects[resource][key] = new
        self._record(resource, "MODIFIED" if old else "ADDED", new)
        return new

    def delete(self, resource: str, name: str, *, namespace: str = "ml", **parts: Any) -> None:
        """Delete the object; `parts` is what has changed since anyone saw it."""
        old = self.objects[resource].pop(Key(namespace, name))
        self.version += 1
        metadata = {**old["metadata"], "resourceVersion": str(self.version)}
        self._record(resource, "DELETED", {**old, **parts, "metadata": metadata})

    def forget(self) -> None:
        """Compact: what happened until now is no longer known."""
        self.forgotten = self.version
        self.history.clear()

    def _record(self, resource: str, kind: str, obj: Object) -> None:
        entry = (self.version, resource, kind, copy.deepcopy(obj))
        self.history.append(entry)
        for watch in self.watches:
            if watch.resource == resource and watch.shows(obj):
                watch.send(event(kind, obj))

    # What a test does to it

    def when(self, verb: str, resource: str, script: Script, times: int = 1) -> None:
        """Let the next so many requests of that verb be answered by `script`."""
        self.scripts += [(verb, resource, script)] * times

    def fail(self, verb: str, resource: str, status: int, times: int = 1, **headers: str) -> None:
        """Answer the next so many requests of that verb with an error of that status."""
        self.when(
            verb,
            resource,
            lambda _: failure(status, headers={k.replace("_", "-"): v for k, v in headers.items()}),
            times,
        )

    def fail_until_told(self, verb: str, resource: str, status: int) -> Callable[[], None]:
        """Answer all requests of that verb with an error; the function that is returned ends that."""
        self.fail(verb, resource, status, times=100_000)

        def end() -> None:
            self.scripts = [it for it in self.scripts if it[:2] != (verb, resource)]

        return end

    def open(self, resource: str) -> Watch:
        """The watch of that resource that is open."""
        return next(watch for watch in reversed(self.watches) if watch.resource == resource)

    def requests(self, verb: str, resource: str) -> list[Seen]:
        """The requests of that verb that came."""
        return [seen for seen in self.seen if (seen.verb, seen.resource) == (verb, resource)]

    # The transport

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        if guard:
            guard()
        verb, resource = self._note(request)
        scripted = await self._scripted(verb, resource, request)
        if scripted:
            return scripted
        await asyncio.sleep(0)
        if resource in self.missing:
            return failure(404, "the server could not find the requested resource")
        return self._answer(verb, resource, request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[FakeStream | Whole]:
        verb, resource = self._note(request)
        scripted = await self._scripted(verb, resource, request)
        since = int(dict(request.query)["resourceVersion"])
        if scripted is None and since < self.forgotten:
            scripted = failure(410, f"too old resource version: {since} ({self.forgotten})", "Expired")
        if scripted:
            yield Whole(scripted)
            return
        watch = Watch(resource, frozen=resource in self.held_back, namespace=self._place(request)[0])
        missed = [(kind, obj) for at, of, kind, obj in self.history if of == resource and at > since]
        watch.send(*(event(kind, obj) for kind, obj in missed if watch.shows(obj)))
        self.watches.append(watch)
        timer = asyncio.get_running_loop().call_later(int(dict(request.query)["timeoutSeconds"]), watch.end)
        try:
            yield FakeStream(watch)
        finally:
            timer.cancel()
            self.watches.remove(watch)

    async def close(self) -> None:
        self.closed = True

    def _note(self, request: Request) -> tuple[str, str]:
        *_, resource, name, _ = self._place(request)
        verb = VERBS.get(request.method, "get" if name else "list")
        if ("watch", "true") in request.query:
            verb = "watch"
        self.seen.append(Seen(asyncio.get_running_loop().time(), verb, resource, request))
        return verb, resource

    async def _scripted(self, verb: str, resource: str, request: Request) -> Answer | None:
        for at, (of_verb, of_resource, script) in enumerate(self.scripts):
            if of_verb in (verb, "*") and of_resource in (resource, "*"):
                del self.scripts[at]
                return script(request)
        return None

    @staticmethod
    def _place(request: Request) -> tuple[str, str, str, str]:
        """Namespace, resource, name and subresource of a path."""
        parts = [unquote(part) for part in request.path.split("/")[4:]]
        namespace = ""
        if parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        resource, name, subresource = (*parts, "", "")[:3]
        return namespace, resource, name, subresource

    def _answer(self, verb: str, resource: str, request: Request) -> Answer:
        namespace, _, name, subresource = self._place(request)
        key, objects = Key(namespace, name), self.objects[resource]
        if verb == "list":
            query = dict(request.query)
            selected = query.get("fieldSelector", "").removeprefix("metadata.name=")
            listed = {key: obj for key, obj in objects.items() if namespace in ("", key.namespace)}
            return self._list({key: it for key, it in listed.items() if selected in ("", key.name)}, query)
        if verb == "create":
            return self._create(resource, namespace, json.loads(request.body or b""))
        if key not in objects:
            return failure(404, f'{resource} "{name}" not found')
        if verb == "patch":
            return self._patch(resource, key, json.loads(request.body or b""), subresource)
        if verb in ("update", "delete"):
            change = self._update if verb == "update" else self._delete
            return change(resource, key, json.loads(request.body or b"{}"))
        return whole(objects[key])

    def _create(self, resource: str, namespace: str, body: Object) -> Answer:
        name = body["metadata"]["name"]
        if Key(namespace, name) in self.objects[resource]:
            return failure(409, f'{resource} "{name}" already exists', "AlreadyExists")
        parts = {part: body[part] for part in body if part not in ("apiVersion", "kind")}
        return whole(self.put(resource, name, namespace=namespace, **parts), 201)

    def _delete(self, resource: str, key: Key, options: Object) -> Answer:
        wanted = options.get("preconditions", {}).get("uid")
        if wanted != self.objects[resource][key]["metadata"]["uid"]:
            return failure(409, "the UID in the precondition does not match")
        self.delete(resource, key.name, namespace=key.namespace)
        return whole({"kind": "Status", "status": "Success"})

    def _patch(self, resource: str, key: Key, patch: list[Object] | Object, subresource: str) -> Answer:
        old = self.objects[resource][key]
        if isinstance(patch, dict):  # a merge patch, of whole members
            return whole(self.put(resource, key.name, namespace=key.namespace, **patch))
        new = jsonpatch.apply_patch(old, patch)
        if new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            return failure(409, "the object has been modified")
        parts = {part: new[part] for part in ((subresource,) if subresource else new) if part in new}
        return whole(self.put(resource, key.name, namespace=key.namespace, **parts))

    def _update(self, resource: str, key: Key, new: Object) -> Answer:
        if new["metadata"]["resourceVersion"] != self.objects[resource][key]["metadata"]["resourceVersion"]:
            return failure(409, "the object has been modified")
        self.objects[resource][key] = {"metadata": self.objects[resource][key]["metadata"]}
        return whole(self.put(resource, key.name, namespace=key.namespace, **new))

    def _list(self, objects: Mapping[Key, Object], query: Mapping[str, str]) -> Answer:
        limit = int(query.get("limit", "0")) or len(objects) or 1
        version, _, start = query.get("continue", f"{self.version}:0").partition(":")
        names = sorted(objects)[int(start) : int(start) + limit]
        more = f"{version}:{int(start) + limit}" if int(start) + limit < len(objects) else ""
        return page([objects[key] for key in names], version, more)


def event(kind: str, obj: Any) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"kind": "Job", "metadata": {"resourceVersion": str(version)}})


def page(items: Iterable[Object], version: str | int, more: str = "") -> Answer:
    """A page of a list."""
    return whole(
        {"kind": "List", "metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}
    )


def whole(body: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


def failure(status: int, message: str = "no", reason: str = "", headers: Mapping[str, str] | None = None) -> Answer:
    body = {"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": message}
    return Answer(status, headers or {}, json.dumps(body).encode())


def no_connection(_: Request) -> NoReturn:
    """What a server that is down does."""
    raise Unavailable("connection refused", reason="ConnectionFailed")
