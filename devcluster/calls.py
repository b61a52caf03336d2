"""What a write is about: who asks, for which object, and what the webhooks are asked about it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from devcluster.identity import User
from devcluster.resources import JSON, Resource
from devcluster.store import Key


@dataclass(slots=True)
class Call:
    """Who writes, and how."""

    user: User
    manager: str = "unknown"
    dry_run: bool = False
    field_validation: str = "Ignore"  # or Warn, or Strict
    options: JSON = field(default_factory=dict)  # as the webhook sees them
    warnings: list[str] = field(default_factory=list)  # for the caller


@dataclass(frozen=True, slots=True)
class Target:
    """Which object is written, and through which subresource."""

    resource: Resource
    namespace: str
    name: str
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Return where it lies in its bucket."""
        return (self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Review:
    """What the webhooks are asked about. Objects are dicts in the version of `resource`."""

    operation: str  # CREATE, UPDATE, DELETE
    resource: Resource
    namespace: str
    name: str  # empty in a deletecollection
    subresource: str
    new: JSON | None
    old: JSON | None


class Admission(Protocol):
    """Those who may refuse a write at the last moment."""

    async def review(self, call: Call, review: Review) -> None:
        """Return, or raise the StatusError that the caller gets."""


def rfc3339(moment: datetime) -> str:
    """Return a time as metadata has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def view(resource: Resource, obj: JSON) -> JSON:
    """Return a stored object as this resource shows it."""
    return resource.from_stored(obj) if resource.from_stored else obj


def stored_form(resource: Resource, obj: JSON) -> JSON:
    """Return an object of this resource as it is stored."""
    return resource.to_stored(obj) if resource.to_stored else obj
