"""Tell the writes of this process from those of others, as far as that can be told from a resource version."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from shared.api.meta import Key
from shared.kube.errors import Conflict, Refused, TooManyRequests

REMEMBERED: Final = 1000
"""Writes whose resource version is remembered: a watch brings them again within seconds."""

NO_EFFECT: Final = (Refused, Conflict, TooManyRequests)


class OwnWrites:
    """What this process has written of late, is writing, or may have written and does not know."""

    def __init__(self) -> None:
        self._versions: dict[str, None] = {}
        self._under_way: Counter[Key] = Counter()
        self._doubtful: set[Key] = set()

    @contextmanager
    def writing(self, key: Key) -> Iterator["Attempt"]:
        """Around one write of an object. Whoever gets an answer says which version it has brought."""
        attempt = Attempt()
        self._under_way[key] += 1
        try:
            yield attempt
        except NO_EFFECT:
            raise
        except BaseException:
            self._doubtful.add(key)
            raise
        else:
            self._versions[attempt.version] = None
            if len(self._versions) > REMEMBERED:
                del self._versions[next(iter(self._versions))]
            self._doubtful.discard(key)
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    def may_include(self, key: Key, version: str) -> bool:
        """That version of the object may be our own work."""
        return version in self._versions or key in self._under_way or key in self._doubtful


class Attempt:
    """One write."""

    version = ""
    """The resource version that it has brought."""
