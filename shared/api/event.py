"""The Event (`events.k8s.io/v1`): a line of the story that `kubectl describe` tells of an object."""

from typing import Final

from shared.api.meta import Named

EVENT_API_VERSION: Final = "events.k8s.io/v1"

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

LONGEST_NOTE: Final = 1024
"""Bytes that a note may have (the API server's limit)."""


class Event(Named, frozen=True, gc=False):
    """`events.k8s.io/v1` Event: what the programs read of one that they have written, which is its name."""
