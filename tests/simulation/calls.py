"""What a request is on its way, what may befall it, who hears of it, and what a watch is."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from shared.api.meta import Key
from shared.kube.transport import Answer, Request
from tests.simulation.loop import Process
from tests.simulation.store import Change, Object, Refusal

READS = {"get", "list", "watch"}
ASIDE = {"leases", "events"}
"""Resources whose writes are no writes of a JobFlow: they are counted apart."""


@dataclass(eq=False, slots=True)
class Call:
    """A request on its way."""

    number: int
    at: float
    process: Process
    verb: str
    resource: str
    key: Key
    subresource: str
    request: Request
    body: Any
    result: Object | None = None
    """The object that it was answered with, or left behind."""
    nth: int = 0
    """The number of this write among all."""
    listed: tuple[int, list[Object]] = (0, [])
    """Version and objects of the page that it was answered with."""
    more: bool = False
    """Another page follows."""

    def __str__(self) -> str:
        where = f"{self.resource}/{self.key.name}" + (f"/{self.subresource}" if self.subresource else "")
        return f"#{self.number} {self.verb} {where}"

    @property
    def is_write(self) -> bool:
        """It changes something that matters to a JobFlow."""
        return self.verb not in READS and self.resource not in ASIDE


class Fate(NamedTuple):
    """What befalls one request."""

    there: float = 0.002
    """Seconds that it travels."""
    back: float = 0.002
    """Seconds that its answer travels."""
    refusal: Refusal | None = None
    """What it is answered without having been looked at."""
    after: Refusal | None = None
    """What it is answered though it was done."""
    arrives: bool = True
    answered: bool = True
    hangs: bool = False
    """Where there is no answer, nothing says so: its sender waits until its patience ends."""


class Weather(Protocol):
    """What befalls requests and watches."""

    @property
    def is_calm(self) -> bool:
        """Nothing befalls anything any more: what is on its way is not left hanging either."""
        ...

    def fate(self, call: Call) -> Fate: ...

    def connecting(self) -> float:
        """Seconds until there is a connection for the next request."""
        ...

    def lag(self, watch: "Watch") -> float:
        """Seconds that the next event takes."""
        ...

    def opened(self, watch: "Watch") -> None:
        """A watch begins; it may be stalled or cut from here on."""
        ...

    def behind(self, process: Process) -> int:
        """By how many events the front-end lags that this process is connected to."""
        ...


class Judge(Protocol):
    """Hears of everything that programs do and get to know."""

    def sent(self, call: Call) -> None: ...

    def arrives(self, call: Call) -> None:
        """The store is going to do it."""
        ...

    def done(self, call: Call, refusal: Refusal | None) -> None:
        """The store has done it, or refused it."""
        ...

    def answered(self, call: Call, answer: Answer) -> None:
        """The process has got the answer."""
        ...

    def knows(self, process: Process, resource: str, objects: Iterable[Object]) -> None:
        """The process was shown these objects."""
        ...


@dataclass(eq=False)
class Watch:
    """A watch that a process holds open."""

    process: Process
    resource: str
    next: int
    """The place in the store's history."""
    stalled: bool = False
    due: float = 0.0
    sent: deque[tuple[bytes, Change | None]] = field(default_factory=deque)
    arrived: deque[tuple[bytes, Change | None]] = field(default_factory=deque)
    ended: Exception | bool = False
    waiter: asyncio.Future[None] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    consumed: Callable[[Change], None] = lambda _: None

    def wake(self) -> None:
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(None)

    def end(self, error: Exception | None = None) -> None:
        """The connection ends, politely or not."""
        self.ended = error or True
        self.wake()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            if self.arrived:
                line, change = self.arrived.popleft()
                if change:
                    self.consumed(change)
                yield line
            elif self.ended:
                if isinstance(self.ended, Exception):
                    raise self.ended
                return
            else:
                self.waiter = asyncio.get_running_loop().create_future()
                await self.waiter

    async def read(self) -> bytes:
        raise AssertionError("a watch is not read to its end")


@dataclass
class Whole:
    """The stream of an answer that is an error."""

    answer: Answer

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> Any:
        return self.answer.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self.answer.body

    async def read(self) -> bytes:
        return self.answer.body
