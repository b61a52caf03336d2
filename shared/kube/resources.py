"""The kinds of objects that the programs speak about: where they lie at the API server, and how they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from shared.api.event import Event
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.lease import Lease
from shared.api.meta import Key, ObjectMeta
from shared.api.names import BATCH_GROUP, FLOW_GROUP
from shared.kube.errors import Refused, Unreadable


class KubeObject(Protocol):
    """Anything with Kubernetes' metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """`metadata`."""
        ...

    @property
    def key(self) -> Key:
        """Namespace and name."""
        ...


T = TypeVar("T", bound=KubeObject)


class Unread(msgspec.Struct, frozen=True):
    """An object that does not fit its type. What it is called is known, if at least its metadata could be read."""

    metadata: ObjectMeta
    error: str = ""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list."""

    items: Sequence[T | Unread]
    version: str
    """The resource version of the whole list, from which a watch goes on."""
    more: str
    """The token that brings the next page, empty on the last one."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] | None
    metadata: _ListMeta


class _MetadataAlone(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


@dataclass(frozen=True)
class Resource(Generic[T]):
    """A namespaced kind at the API server, and the type that its objects are decoded into."""

    group: str
    version: str
    plural: str
    type: type[T]

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Where the objects lie: all of them, those of a namespace, or the one of that name."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_segment(name))
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(parts)

    def decode(self, body: bytes) -> T:
        """One object from its JSON. Raises Unreadable."""
        try:
            return self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
            raise Unreadable(f"{self.plural}: {wrong}", reason="Unreadable") from wrong

    def decode_leniently(self, body: bytes) -> T | Unread:
        """One object, or what can be said of it where it does not fit its type."""
        try:
            return self.decode(body)
        except Unreadable as wrong:
            try:
                metadata = _metadata_alone.decode(body).metadata
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                metadata = ObjectMeta()
            return Unread(metadata, wrong.message)

    def decode_page(self, body: bytes) -> Page[T]:
        """A page of a list. An object that does not fit its type spoils no other. Raises Unreadable."""
        try:
            listed = _list.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
            raise Unreadable(f"list of {self.plural}: {wrong}", reason="Unreadable") from wrong
        # Each item is cut out first: what an object keeps as raw JSON then holds on to its own bytes, not to the page.
        items = [self.decode_leniently(bytes(item)) for item in listed.items or ()]
        return Page(items, listed.metadata.resource_version, listed.metadata.continue_)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[T]:
        return msgspec.json.Decoder(self.type)


_list: Final = msgspec.json.Decoder(_List)
_metadata_alone: Final = msgspec.json.Decoder(_MetadataAlone)


def _segment(text: str) -> str:
    """One part of a path, whatever is in the name: it never becomes another path."""
    if text in {"", ".", ".."}:
        raise Refused(f"{text!r} is no name", status=400, reason="BadRequest")
    return quote(text, safe="")


JOBFLOWS: Final = Resource(FLOW_GROUP, "v1alpha1", "jobflows", JobFlow)
JOBTEMPLATES: Final = Resource(FLOW_GROUP, "v1alpha1", "jobtemplates", JobTemplate)
JOBS: Final = Resource(BATCH_GROUP, "v1alpha1", "jobs", Job)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", Lease)
EVENTS: Final = Resource("events.k8s.io", "v1", "events", Event)
