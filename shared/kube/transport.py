"""How requests travel: the small interface that the client stands on, so that a simulator can take the network's place.

`http_transport.py` has the one that speaks HTTP.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

Guard = Callable[[], None]
"""Called at the last moment before a request is sent, when there is a connection for it. It prevents it by raising."""


class Request(NamedTuple):
    """One request, complete but for server and credentials."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body comes bit by bit."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, whose names may be written in any case."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives, cut anywhere."""
        ...

    async def read(self) -> bytes:
        """The whole body."""
        ...


class Transport(Protocol):
    """Carries requests to the API server. Whoever calls sets the time limits.

    Every failure to get an answer is raised as `Unavailable`, an answer of any status is none.
    """

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        """Send and wait for the whole answer. What `guard` raises is raised as it is, and nothing is sent."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send, and read the answer's body while it comes."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...
