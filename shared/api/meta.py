"""Object metadata: the part of Kubernetes' ObjectMeta that the programs read."""

from typing import NamedTuple

from msgspec import Struct


class Key(NamedTuple):
    """What names a namespaced object of one kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OwnerReference(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Struct, frozen=True, gc=False, rename="camel"):
    """Kubernetes' ObjectMeta, as far as it is read. Times are RFC 3339 in UTC, as they came."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.namespace, self.name)

    @property
    def is_deleting(self) -> bool:
        """Somebody asked for the deletion; finalizers may still hold the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that controls this object (Kubernetes allows a single `controller: true`)."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None

    def annotation(self, name: str) -> str | None:
        """The annotation's value, None where it is not set."""
        return (self.annotations or {}).get(name)


class Named(Struct, frozen=True, gc=False):
    """An object of the API server, as far as it is told from others."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.key

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`, which no other object ever has, not even one of the same name."""
        return self.metadata.uid
