"""A JobTemplate as far as warnings on a JobFlow go: that it is there, and the room that the names of its Jobs need."""

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from shared.api.meta import Key, ObjectMeta
from shared.rules.jobflow_warnings import NO_ROOM, Room, room_for


class KnownTask(Struct, frozen=True, gc=False):
    """An entry of `tasks` of a JobTemplate, as far as it names Pods."""

    name: str | None = None
    replicas: int | None = None


class Something(Struct, frozen=True, gc=False):
    """An object of which nothing matters but that it is there."""


class KnownSpec(Struct, frozen=True, gc=False):
    """The spec of a JobTemplate, as far as its Jobs' names must leave room."""

    tasks: tuple[KnownTask, ...] | None = None
    plugins: dict[str, object] | None = None
    volumes: tuple[Something | None, ...] | None = None

    def room(self) -> Room:
        """What longer names need."""
        tasks = [(task.name, task.replicas or 0) for task in self.tasks or ()]
        plugins = (name for name, arguments in (self.plugins or {}).items() if arguments is not None)
        return room_for(tasks, plugins, has_volumes=bool(self.volumes))


class KnownTemplate(Struct, frozen=True, gc=False):
    """A JobTemplate, as far as warnings go. There may be thousands, so that of each no more is kept."""

    metadata: ObjectMeta = ObjectMeta()
    spec: KnownSpec | None = None
    room: Room = NO_ROOM

    def __post_init__(self) -> None:
        """Keep what follows from the spec, and neither the spec nor what `kubectl apply` writes of it."""
        if self.spec:
            force_setattr(self, "room", self.spec.room())
            force_setattr(self, "spec", None)
        if self.metadata.annotations or self.metadata.owner_references:
            force_setattr(self, "metadata", replace(self.metadata, annotations=None, owner_references=None))

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.key
