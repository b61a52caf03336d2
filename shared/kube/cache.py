"""A local copy of all objects of a kind, with indexes.

Reconcilers get the reading half, `Reader`; a reflector writes. What lies in the cache is frozen and shared: nobody
copies it, nobody can change it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from shared.api.meta import Key
from shared.kube.resources import T

R_co = TypeVar("R_co", covariant=True)


class Reader(Protocol[R_co]):
    """A local copy of one kind of object, at most a little behind the truth."""

    def get(self, key: Key) -> R_co | None:
        """The object, None where there is none."""
        ...

    def indexed(self, index: str, value: str) -> Sequence[R_co]:
        """The objects that the index files under `value`, in no particular order."""
        ...

    def __iter__(self) -> Iterator[R_co]:
        """Every object. Whoever awaits something in between goes through a copy."""
        ...

    def __len__(self) -> int: ...


class Difference(NamedTuple, Generic[T]):
    """What became of one object. A missing `old` is a new object, a missing `new` one that is gone."""

    old: T | None
    new: T | None


Index = Callable[[T], Iterable[str]]
"""Under which values an object is filed."""


class Cache(Generic[T]):
    """The copy itself. Every change answers with the difference that it made."""

    def __init__(self, indexes: Mapping[str, Index[T]] | None = None) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes = {name: _Index(values) for name, values in (indexes or {}).items()}

    def get(self, key: Key) -> T | None:
        """The object, None where there is none."""
        return self._objects.get(key)

    def indexed(self, index: str, value: str) -> Sequence[T]:
        """The objects that the index files under `value`, in no particular order."""
        return [self._objects[key] for key in self._indexes[index].keys(value)]

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, new: T) -> Sequence[Difference[T]]:
        """Take an object in, as it is now.

        What is there already makes no difference, and neither does what is older than that. An object that took the
        place of one of the same name makes two: the old one is gone, and the new one is there.
        """
        old = self._objects.get(new.key)
        if old is not None and old.metadata.uid == new.metadata.uid and not is_newer(new, old):
            return ()
        return self._exchange(old, new)

    def remove(self, last: T) -> Sequence[Difference[T]]:
        """Let an object go that was deleted, `last` being its last known state."""
        old = self._objects.get(last.key)
        if old is None or old.metadata.uid != last.metadata.uid:
            return ()
        self._drop(last.key, old)
        return (Difference(last, None),)

    def replace(
        self, objects: Iterable[T], *, keep: Collection[Key] = (), within: str | None = None
    ) -> Iterator[Difference[T]]:
        """Make the cache hold exactly `objects`, whatever was there before, and say what that changes.

        The keys of `keep` stay as they are. With a namespace given only what lies in it is replaced. The changes take
        place as the answer is gone through.
        """
        listed = set(keep)
        for new in objects:
            listed.add(new.key)
            old = self._objects.get(new.key)
            if old is None or _version(old) != _version(new):
                yield from self._exchange(old, new)
        for key in [key for key in self._objects if key not in listed and within in (None, key.namespace)]:
            old = self._objects[key]
            self._drop(key, old)
            yield Difference(old, None)

    def _exchange(self, old: T | None, new: T) -> Sequence[Difference[T]]:
        key = new.key
        self._objects[key] = new
        for index in self._indexes.values():
            index.move(key, old, new)
        if old is not None and old.metadata.uid != new.metadata.uid:
            return (Difference(old, None), Difference(None, new))
        return (Difference(old, new),)

    def _drop(self, key: Key, old: T) -> None:
        del self._objects[key]
        for index in self._indexes.values():
            index.move(key, old, None)


def is_newer(one: T, other: T) -> bool:
    """Whether `one` is a later state than `other` of the same object.

    Resource versions of one object are numbers that grow, in every API server there is; where one is none, whatever
    differs counts as newer.
    """
    mine, theirs = one.metadata.resource_version, other.metadata.resource_version
    if mine.isdecimal() and theirs.isdecimal():
        return int(mine) > int(theirs)
    return mine != theirs


def _version(obj: T) -> tuple[str, str]:
    return obj.metadata.uid, obj.metadata.resource_version


class _Index(Generic[T]):
    """Value to keys. Most values have a single key, and then it is kept as it is, which saves a dict for each."""

    def __init__(self, values: Index[T]) -> None:
        self._values = values
        self._keys: dict[str, Key | dict[Key, None]] = {}

    def keys(self, value: str) -> Collection[Key]:
        found = self._keys.get(value)
        if found is None:
            return ()
        return (found,) if isinstance(found, Key) else found

    def move(self, key: Key, old: T | None, new: T | None) -> None:
        before = tuple(self._values(old)) if old is not None else ()
        after = tuple(self._values(new)) if new is not None else ()
        if before == after:
            return  # as nearly always
        for value in set(before).difference(after):
            self._take_out(value, key)
        for value in set(after).difference(before):
            self._put_in(value, key)

    def _put_in(self, value: str, key: Key) -> None:
        found = self._keys.get(value)
        if found is None:
            self._keys[value] = key
        elif isinstance(found, dict):
            found[key] = None
        elif found != key:
            self._keys[value] = {found: None, key: None}

    def _take_out(self, value: str, key: Key) -> None:
        found = self._keys.get(value)
        if found == key:
            del self._keys[value]
        elif isinstance(found, dict):
            found.pop(key, None)
            if not found:
                del self._keys[value]
