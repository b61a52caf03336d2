"""A watch's stream: from bytes that are cut anywhere to events, and nothing else ever taken for an event."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, Generic, TypeAlias

import msgspec

from shared.api.meta import ObjectMeta
from shared.kube.errors import ApiError, BrokenStream, Gone, error_of
from shared.kube.resources import Resource, T, Unread

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"


class Change(msgspec.Struct, Generic[T], frozen=True):
    """An object that was added, changed or deleted, as it was then."""

    object: T
    deleted: bool = False

    @property
    def version(self) -> str:
        """The resource version that the watch has come to."""
        return self.object.metadata.resource_version


class Bookmark(msgspec.Struct, frozen=True):
    """Nothing has changed, and the watch has come to this resource version."""

    version: str


class Unclear(msgspec.Struct, frozen=True):
    """An object has changed into something that does not fit its type."""

    object: Unread
    deleted: bool = False

    @property
    def version(self) -> str:
        """The resource version that the watch has come to."""
        return self.object.metadata.resource_version


WatchEvent: TypeAlias = Change[T] | Bookmark | Unclear


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Progress(msgspec.Struct):
    metadata: ObjectMeta


_line: Final = msgspec.json.Decoder(_Line)
_progress: Final = msgspec.json.Decoder(_Progress)


def read_event(line: bytes, resource: Resource[T]) -> WatchEvent[T]:
    """The event that `line` is.

    Raises Gone for an expired resource version, and BrokenStream for any other error that the server reports in the
    stream and for a line that is no event.
    """
    try:
        read = _line.decode(line)
        body = bytes(read.object)
        if read.type == BOOKMARK:
            return Bookmark(_progress.decode(body).metadata.resource_version)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        raise BrokenStream(f"{wrong}, in {line[:80]!r}", reason="BrokenStream") from wrong
    if read.type == ERROR:
        raise error_in_stream(body)
    if read.type not in {ADDED, MODIFIED, DELETED}:
        raise BrokenStream(f"an event of unknown type {read.type[:40]!r}", reason="BrokenStream")
    deleted = read.type == DELETED
    seen = resource.decode_leniently(body)
    if not seen.metadata.name or not seen.metadata.resource_version:
        raise BrokenStream(f"an object without a name or version, in {line[:80]!r}", reason="BrokenStream")
    return Unclear(seen, deleted) if isinstance(seen, Unread) else Change(seen, deleted)


def error_in_stream(body: bytes) -> ApiError:
    """The error of an ERROR event. Whatever has expired is Gone; after any other the stream is not to be trusted."""
    error = error_of(0, body)
    kind = Gone if error.status == 410 or error.reason in {"Expired", "Gone"} else BrokenStream
    return kind(error.message, status=error.status, reason=error.reason, retry_after=error.retry_after)


async def lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Cut into lines of any length. What stands after the last line break is not whole and is dropped."""
    begun: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            if begun:
                line = b"".join((*begun, line))  # noqa: PLW2901 - the line, now whole
                begun.clear()
            if line.strip():
                yield line
        if rest:
            begun.append(rest)
