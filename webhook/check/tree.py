"""A document as it is built: plain JSON, and beside it the place of every field in the text.

`Builder` is told of one piece after the other, as `yaml_text` and `json_text` come upon them. It never recurses, and it
counts what the document stands for with its aliases written out, so that a small text cannot become a large object.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from shared.rules.fault import Fault, FieldPath, duplicate, quoted
from webhook.check.scalars import Scalar

DEEPEST: Final = 200
"""How deep a document may be nested; a review may be no deeper."""
MOST_VALUES: Final = 512 * 1024
"""Values in a document, those of aliases wherever they stand; a review may have no more."""
MOST_TEXT: Final = 16 * 1024 * 1024
"""Characters of all texts in a document, those of aliases wherever they stand."""
MOST_PROBLEMS: Final = 1_000
"""Problems of one text that are told; nobody reads more."""

DUPLICATE_KEY: Final = "keys-are-unique"
KEY_IS_NO_TEXT: Final = "keys-are-texts"


class UnreadableError(Exception):
    """The text is no YAML or JSON that could be judged; `at` is where, as an index into the text."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(slots=True)
class Place:
    """A value, where its field begins in the text, and the places below it."""

    at: int
    value: Any = None
    written: str | None = None
    """What stands there without quotes and was read as something else than a text."""
    below: "dict[Any, Place]" = field(default_factory=dict)

    def nearest(self, path: FieldPath) -> "Place":
        """The place of a field; of one that is not there, the nearest above it."""
        here = self
        for part in path.parts:
            if part not in here.below:
                break
            here = here.below[part]
        return here

    def get(self, path: FieldPath) -> "Place | None":
        """The place of a field, None where it is not there."""
        here: Place | None = self
        for part in path.parts:
            here = here.below.get(part) if here else None
        return here


class _Size(NamedTuple):
    """What a value comes to with its aliases written out."""

    values: int = 1
    text: int = 0
    height: int = 0
    """Lists and maps within each other."""


class _Open:
    """A list or map that is being built."""

    __slots__ = ("anchor", "height", "key", "key_at", "merges", "place", "seen", "text", "values")

    def __init__(self, place: Place, anchor: str | None) -> None:
        self.place = place
        self.anchor = anchor
        self.key: str | None = None
        self.key_at = 0
        self.merges = False
        self.seen = set[str]()
        self.values = 1
        self.text = 0
        self.height = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    place: Place
    size: _Size


MERGE: Final = "<<"


class Builder:
    """Puts the pieces of one document together. `document` is there once everything is closed."""

    def __init__(self) -> None:
        self.document: Place | None = None
        self.problems: list[Fault] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored | None] = {}

    @property
    def wants_key(self) -> bool:
        """The next piece is a key."""
        return bool(self._open) and type(self._open[-1].place.value) is dict and self._open[-1].key is None

    def key(self, at: int, key: Scalar, written: str, anchor: str | None = None) -> None:
        """A key of the map that is open."""
        inside = self._open[-1]
        text = self._text_of(at, key, written)
        if text in inside.seen:
            self.problem(_twice(below(self._path(), text), text), DUPLICATE_KEY)
        inside.seen.add(text)
        inside.key, inside.key_at = text, at
        if anchor:
            self._anchors[anchor] = _Anchored(Place(at, key, written), _Size(text=len(text)))
        self._count(at, _Size(text=len(text)))

    def merge_key(self, at: int) -> None:
        """The key `<<`: the map that is open takes over what comes next."""
        inside = self._open[-1]
        inside.key, inside.key_at, inside.merges = MERGE, at, True

    def scalar(self, at: int, value: Scalar, written: str | None = None, anchor: str | None = None) -> None:
        """A value that is neither list nor map; `written` if that is another text than its value."""
        size = _Size(text=len(value) if isinstance(value, str) else 0)
        self._put(Place(self._field_at(at), value, written), at, size, anchor)

    def open(self, at: int, container: "list[Any] | dict[str, Any]", anchor: str | None = None) -> None:
        """A list or a map begins."""
        if len(self._open) >= DEEPEST:
            raise UnreadableError(_TOO_DEEP, at)
        if anchor:
            self._anchors[anchor] = None
        self._open.append(_Open(Place(self._field_at(at), container), anchor))

    def close(self, at: int) -> None:
        """The list or map that was begun last ends."""
        done = self._open.pop()
        self._put(done.place, at, _Size(done.values, done.text, done.height), done.anchor)

    def alias(self, at: int, name: str) -> None:
        """What stands under an anchor, once more."""
        anchored = self._anchors.get(name)
        if anchored is None:
            why = "stands inside of what it stands for" if name in self._anchors else "has no anchor before it"
            raise UnreadableError(f"the alias *{name} {why}", at)
        there = anchored.place
        if self.wants_key:
            if isinstance(there.value, dict | list):
                raise UnreadableError("a key must be a text, no list and no map", at)
            self.key(at, there.value, str(there.value))
            return
        place = Place(self._field_at(at), there.value, there.written, there.below)
        self._put(place, at, anchored.size, None)

    def problem(self, fault: Fault, rule: str) -> None:
        """Note what is wrong in the text itself, and cannot be seen any more in what it stands for."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(replace(fault, rule=rule))

    def here(self) -> FieldPath:
        """The path of the value that comes next."""
        path = self._path()
        if not self._open:
            return path
        inside = self._open[-1]
        value = inside.place.value
        return path / len(value) if type(value) is list else below(path, str(inside.key))

    def _text_of(self, at: int, key: Scalar, written: str) -> str:
        """The key as JSON has it, where every key is a text."""
        if isinstance(key, str):
            return key
        if key is None:
            raise UnreadableError("a key must not be null", at)
        text = quoted(key)
        if not isinstance(key, int) or isinstance(key, bool) or text != written:
            said = (
                f'Invalid value: {written}: YAML reads this key as "{text}"; to mean it as it stands, write "{written}"'
            )
            self.problem(Fault(below(self._path(), text), "FieldValueInvalid", said), KEY_IS_NO_TEXT)
        return text

    def _path(self) -> FieldPath:
        """The path of the list or map that is open."""
        path = FieldPath()
        for outside in self._open[:-1]:
            value = outside.place.value
            path = path / len(value) if type(value) is list else below(path, str(outside.key))
        return path

    def _field_at(self, at: int) -> int:
        inside = self._open[-1] if self._open else None
        return at if inside is None or inside.key is None else inside.key_at

    def _put(self, place: Place, at: int, size: _Size, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = _Anchored(place, size)
        if not self._open:
            self.document = place
            return
        self._count(at, size)
        inside = self._open[-1]
        into = inside.place
        if type(into.value) is list:
            into.below[len(into.value)] = place
            into.value.append(place.value)
        elif inside.merges:
            for each in _maps(place, at):
                into.value.update(each.value)
                into.below.update(each.below)
        else:
            into.value[inside.key] = place.value
            into.below[inside.key] = place
        inside.key, inside.merges = None, False

    def _count(self, at: int, size: _Size) -> None:
        inside = self._open[-1]
        inside.values += size.values
        inside.text += size.text
        inside.height = max(inside.height, size.height + 1)
        if len(self._open) + size.height > DEEPEST:
            raise UnreadableError(_TOO_DEEP, at)
        if inside.values > MOST_VALUES or inside.text > MOST_TEXT:
            raise UnreadableError(_TOO_MUCH, at)


_TOO_DEEP: Final = f"must not be nested deeper than {DEEPEST}, aliases counted where they stand"
_TOO_MUCH: Final = (
    f"must not stand for more than {MOST_VALUES} values and {MOST_TEXT} characters, aliases counted where they stand"
)

_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)


def below(path: FieldPath, key: str) -> FieldPath:
    """The path of a key that a user has written, which may be no name of a field."""
    return path / key if _PLAIN_KEY.fullmatch(key) else path.key(key)


def _twice(at: FieldPath, key: str) -> Fault:
    fault = duplicate(at, key)
    return replace(fault, message=f"{fault.message}: the key is here twice, and YAML takes the last one")


def _maps(place: Place, at: int) -> Sequence[Place]:
    """What a merge key takes over, the most important one last."""
    if type(place.value) is dict:
        return [place]
    if type(place.value) is list and all(type(each) is dict for each in place.value):
        return list(place.below.values())[::-1]
    raise UnreadableError("<< must have a map, or a list of maps", at)
