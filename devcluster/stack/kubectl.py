"""As much of kubectl as the demo needs, for machines that have none, in kubectl's own words."""

import base64
import json
import ssl
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml
from yarl import URL

from devcluster.resources import JSON
from devcluster.stack import manifests

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=20)
NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10)


class RefusedError(Exception):
    """The API server refused a request; the message is what kubectl prints."""

    def __init__(self, status: JSON) -> None:
        super().__init__(refusal(status))
        self.code = int(status.get("code") or 0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered: the object, and warnings beside it."""

    body: JSON
    warnings: tuple[str, ...] = ()


class Kubectl:
    """A connection to the API server that a kubeconfig names."""

    def __init__(self, kubeconfig: Path) -> None:
        current = _current_context(yaml.safe_load(kubeconfig.read_text()))
        self.server = URL(current.server)
        self._headers = {"Authorization": f"Bearer {current.token}"} if current.token else {}
        self._context = ssl.create_default_context(cadata=current.ca)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers=self._headers, connector=aiohttp.TCPConnector(ssl=self._context), timeout=REQUEST_TIMEOUT
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def is_ready(self) -> bool:
        """Say whether the API server says that it is ready."""
        try:
            async with self._open().get(self.server.with_path("/readyz")) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def apply(self, paths: Sequence[Path]) -> AsyncGenerator[str, None]:
        """Apply manifests and yield kubectl's lines; raises RefusedError at the first that is refused."""
        for manifest in manifests.read(paths):
            for line in await self.apply_object(manifest):
                yield line

    async def apply_object(self, manifest: JSON) -> list[str]:
        """Create an object, or change it to what the manifest says; return kubectl's lines."""
        path = manifests.object_path(manifest)
        try:
            before = await self.request("GET", path)
        except RefusedError as refused:
            if refused.code != 404:
                raise
            made = await self.request("POST", path.rpartition("/")[0], manifest)
            return _with_warnings(made, f"{manifests.spoken_name(manifest)} created")
        after = await self.request("PATCH", path, manifest)
        unchanged = before.body["metadata"]["resourceVersion"] == after.body["metadata"]["resourceVersion"]
        return _with_warnings(after, f"{manifests.spoken_name(manifest)} {'unchanged' if unchanged else 'configured'}")

    async def delete(self, api_version: str, kind: str, name: str) -> str:
        """Delete an object and return kubectl's line."""
        path = f"{manifests.collection_path(api_version, kind)}/{name}"
        await self.request("DELETE", path, {"propagationPolicy": "Background"})
        group = api_version.rpartition("/")[0]
        return f'{kind.lower()}{"." if group else ""}{group} "{name}" deleted from {manifests.NAMESPACE} namespace'

    async def list(self, api_version: str, kind: str) -> JSON:
        """Return the list of all objects of a kind in the default namespace."""
        return (await self.request("GET", manifests.collection_path(api_version, kind))).body

    async def watch(self, api_version: str, kind: str, version: str) -> AsyncGenerator[JSON, None]:
        """Yield what happens to a kind after a version, until the API server ends the stream."""
        url = self.server.with_path(manifests.collection_path(api_version, kind))
        query = {"watch": "true", "resourceVersion": version}
        async with self._open().get(url.with_query(query), timeout=NO_TIMEOUT) as answer:
            pending = b""
            async for chunk in answer.content.iter_any():
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)

    async def request(self, method: str, path: str, body: JSON | None = None, query: str = "") -> Answer:
        """Send one request; raises RefusedError for every answer that is no success."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        async with self._open().request(
            method,
            URL.build(scheme=self.server.scheme, host=self.server.host or "", port=self.server.port)
            .join(URL(path, encoded=True))
            .with_query(query),
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": kind},
        ) as answer:
            said = await answer.json(content_type=None)
            if answer.status >= 400:
                raise RefusedError(said)
            return Answer(said, tuple(map(_warning, answer.headers.getall("Warning", ()))))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("used outside its `async with`")
        return self._session


def refusal(status: JSON) -> str:
    """Return what kubectl prints for a refusal (`checkErr` in k8s.io/kubectl/pkg/cmd/util/helpers.go)."""
    message = status.get("message") or ""
    if status.get("reason") != "Invalid":
        return f"Error from server ({status.get('reason') or 'unknown'}): {message}"
    details = status.get("details") or {}
    said = "The request is invalid"
    if details.get("kind") or details.get("name"):
        said = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid'
    elif not details.get("causes"):
        return f"{said}: {message}"
    causes = list(dict.fromkeys(f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in _causes(details)))
    if len(causes) == 1:
        return f"{said}: {causes[0]}"
    return "\n".join([f"{said}: ", *(f"* {cause}" for cause in causes)]) if causes else said


def _causes(details: JSON) -> Iterator[JSON]:
    yield from details.get("causes") or []


def _with_warnings(answer: Answer, line: str) -> list[str]:
    return [*(f"Warning: {warning}" for warning in answer.warnings), line]


def _warning(header: str) -> str:
    # 299 - "the text"
    return header.partition('"')[2].removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")


@dataclass(frozen=True, slots=True)
class _Context:
    server: str
    ca: str
    token: str


def _current_context(config: Any) -> _Context:
    def named(group: str, kind: str, name: str) -> Any:
        return next(each[kind] for each in config[group] if each["name"] == name)

    context = named("contexts", "context", config["current-context"])
    cluster, user = named("clusters", "cluster", context["cluster"]), named("users", "user", context["user"])
    ca = cluster.get("certificate-authority-data")
    pem = base64.b64decode(ca).decode() if ca else Path(cluster["certificate-authority"]).read_text()
    return _Context(cluster["server"], pem, user.get("token", ""))
