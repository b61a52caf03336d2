"""Fold what is told of objects into few Events. Nothing here sends or reads a clock: `events.py` does.

What is told of one object for one reason is one matter. What is told of a matter before its Event is written becomes
one Event; what is told again in the same words is counted in the Event that is there, as client-go's series are.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from shared.api.event import LONGEST_NOTE, NORMAL, WARNING
from shared.api.meta import Key

ROOM: Final = 1000
"""Matters that may wait for their Event to be written."""

REMEMBERED: Final = 4096
"""Matters whose last Event is remembered, as many as client-go does."""

FOLDED: Final = 1.0
"""Seconds that good news waits for more of its kind. A warning waits for nothing."""

REPEATED: Final = 360.0
"""Seconds after which an Event's count is written again, as client-go does."""

NAMED: Final = 3
"""Subjects that are named in an Event; the rest are counted."""


class Regarding(NamedTuple):
    """The object that something is told of."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Told:
    """Something that has happened to an object, or is so.

    With `subjects`, `text` is for one of them, whose name takes the place of `{}`, and `texts` for more, with
    `{count}` and `{names}`.
    """

    type: str
    reason: str
    action: str
    text: str
    texts: str = ""
    subjects: tuple[str, ...] = ()
    apart: float = 0.0
    """Seconds that lie between two Events of this matter in other words."""

    @property
    def note(self) -> str:
        """It in words, as long as a note may be."""
        if len(self.subjects) == 1:
            said = self.text.format(self.subjects[0])
        elif self.subjects:
            more = len(self.subjects) - NAMED
            names = ", ".join(self.subjects[:NAMED]) + (f" and {more} more" if more > 0 else "")
            said = self.texts.format(count=len(self.subjects), names=names)
        else:
            said = self.text
        line = " ".join(said.split())
        whole = line.encode(errors="replace")
        return line if len(whole) <= LONGEST_NOTE else whole[: LONGEST_NOTE - 3].decode(errors="ignore") + "..."


class Matter(NamedTuple):
    """What Events are folded by."""

    uid: str
    type: str
    reason: str


@dataclass(slots=True)
class Waiting:
    """A matter whose Event is to be written from the moment `due`."""

    regarding: Regarding
    told: Told
    at: datetime
    due: float
    name: str = ""
    """The Event's name, once it was tried: another attempt must not become another Event."""

    @property
    def matter(self) -> Matter:
        """What it is about."""
        return Matter(self.regarding.uid, self.told.type, self.told.reason)

    def take_in(self, told: Told) -> None:
        """Say `told` as well: of all subjects, or where there are none in the later words."""
        before, self.told = self.told, told
        if before.subjects and told.subjects:
            self.told = replace(told, subjects=tuple(dict.fromkeys((*before.subjects, *told.subjects))))
        if self.told.note != before.note:
            self.name = ""  # an Event of that name may be there, and says less


@dataclass(slots=True)
class Written:
    """The last Event of a matter. `note` is None where it is not there any more."""

    event: Key
    note: str | None
    count: int
    at: float


class Telling:
    """What waits to be written, and what was written last. Moments are monotonic seconds."""

    def __init__(self, *, room: int = ROOM, remembered: int = REMEMBERED) -> None:
        self._room = room
        self._remembered = remembered
        self._waiting: dict[str, OrderedDict[Matter, Waiting]] = {WARNING: OrderedDict(), NORMAL: OrderedDict()}
        self._written: OrderedDict[Matter, Written] = OrderedDict()

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())

    def tell(self, regarding: Regarding, told: Told, at: datetime, now: float) -> Told | None:
        """Take it in. Returns what has to be dropped for that, which may be it itself."""
        matter = Matter(regarding.uid, told.type, told.reason)
        queue = self._waiting[told.type]
        if waiting := queue.get(matter):
            waiting.take_in(told)
            return None
        due = now + (FOLDED if told.type == NORMAL else 0.0)
        if written := self._written.get(matter):
            if written.note == told.note:
                written.count += 1
                due = written.at + REPEATED
                if due > now:
                    return None  # the next time that it is told may be the time to write that
            else:
                due = max(due, written.at + told.apart)
        dropped = self._make_room(told)
        if dropped is not told:
            queue[matter] = Waiting(regarding, told, at, due)
        return dropped

    def next_due(self) -> float | None:
        """When the next Event is to be written; None if there is none."""
        return min((it.due for queue in self._waiting.values() for it in queue.values()), default=None)

    def take(self, now: float) -> Waiting | None:
        """What is to be written now, warnings first, and what was told first before the rest."""
        for queue in self._waiting.values():
            for matter, waiting in queue.items():
                if waiting.due <= now:
                    del queue[matter]
                    return waiting
        return None

    def put_back(self, waiting: Waiting, due: float) -> None:
        """It could not be written: it is the first to be tried from the moment `due`."""
        queue = self._waiting[waiting.told.type]
        waiting.due = due
        if later := queue.pop(waiting.matter, None):
            waiting.take_in(later.told)
        queue[waiting.matter] = waiting
        queue.move_to_end(waiting.matter, last=False)

    def written(self, matter: Matter) -> Written | None:
        """The last Event of a matter, if that is remembered."""
        return self._written.get(matter)

    def wrote(self, matter: Matter, written: Written) -> None:
        """Its Event was written."""
        self._written[matter] = written
        self._written.move_to_end(matter)
        while len(self._written) > self._remembered:
            self._written.popitem(last=False)

    def forget(self, matter: Matter) -> None:
        """Its Event is not there any more."""
        self._written.pop(matter, None)

    def _make_room(self, told: Told) -> Told | None:
        if len(self) < self._room:
            return None
        good_news = self._waiting[NORMAL]
        if told.type == WARNING and good_news:
            return good_news.popitem()[1].told
        return told
