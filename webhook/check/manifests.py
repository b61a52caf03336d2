"""What in a file is a JobFlow or a JobTemplate. All other kinds are passed over: they are other tools' to check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.api.names import FLOW_API_VERSION, FLOW_GROUP, JOBFLOW, JOBTEMPLATE
from shared.rules.fault import Fault, FieldPath, NearMiss, not_supported, required
from webhook.check.documents import Lines, decoded, read_documents
from webhook.check.sources import Source
from webhook.check.tree import Builder, Place, UnreadableError

KINDS: Final = (JOBFLOW, JOBTEMPLATE)
VOLCANO: Final = "volcano.sh"
LIST: Final = "List"


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """A JobFlow or a JobTemplate in a file."""

    file: str
    lines: Lines
    place: Place
    kind: str
    api_version: str
    namespace: str
    problems: Sequence[Fault]
    """What was wrong in its text."""

    @property
    def tree(self) -> dict[str, Any]:
        """The object as JSON."""
        tree: dict[str, Any] = self.place.value
        return tree

    @property
    def name(self) -> str:
        """`metadata.name`, empty where it has none, or is still to be given one."""
        return _text(_metadata(self.tree).get("name"))

    def position(self, field: FieldPath | str) -> tuple[int, int]:
        """Line and column of a field; of one that is not there, those of the nearest above it."""
        place = self.place.nearest(field) if isinstance(field, FieldPath) else self.place
        return self.lines.of(place.at)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of which something could not be read."""

    file: str
    message: str
    line: int = 1
    column: int = 1


@dataclass(slots=True)
class Reading:
    """What was come upon in all files."""

    files: list[str]
    manifests: list[Manifest]
    unreadable: list[Unreadable]
    passed_over: int = 0
    """Objects of other kinds."""


def read_all(sources: Iterator[Source], namespace: str = "") -> Reading:
    """Read every file, as much of it as can be read. Objects without a namespace are in `namespace`."""
    reading = Reading([], [], [])
    for source in sources:
        reading.files.append(source.name)
        if source.error:
            reading.unreadable.append(Unreadable(source.name, source.error))
        else:
            _read(source, namespace, reading)
    return reading


def _read(source: Source, namespace: str, reading: Reading) -> None:
    lines = Lines(source.content.decode(errors="replace"))
    try:
        text = decoded(source.content)
        lines = Lines(text)
        for document in read_documents(text):
            if isinstance(document, UnreadableError):
                reading.unreadable.append(_unreadable(source, document, lines))
                continue
            for place, problems in _objects(document):
                kind, api_version = (_text(place.value.get(key)) for key in ("kind", "apiVersion"))
                if _is_ours(kind, api_version):
                    where = _text(_metadata(place.value).get("namespace")) or namespace
                    manifest = Manifest(source.name, lines, place, kind, api_version, where, problems)
                    reading.manifests.append(manifest)
                else:
                    reading.passed_over += 1
    except UnreadableError as wrong:
        reading.unreadable.append(_unreadable(source, wrong, lines))


def _unreadable(source: Source, wrong: UnreadableError, lines: Lines) -> Unreadable:
    return Unreadable(source.name, wrong.message, *lines.of(wrong.at))


def kind_fault(manifest: Manifest) -> Fault | None:
    """Why the API server would not know what the object is."""
    if not manifest.api_version:
        return required(FieldPath("apiVersion"), f"must be {FLOW_API_VERSION}")
    if manifest.api_version != FLOW_API_VERSION:
        return not_supported(FieldPath("apiVersion"), manifest.api_version, [FLOW_API_VERSION])
    if not manifest.kind:
        return required(FieldPath("kind"), f"must be {' or '.join(KINDS)}")
    if manifest.kind not in KINDS:
        fault = not_supported(FieldPath("kind"), manifest.kind, KINDS)
        return Fault(fault.field, fault.reason, fault.message, near=NearMiss(manifest.kind, KINDS))
    return None


def _is_ours(kind: str, api_version: str) -> bool:
    """It is, or is meant to be, of our API group."""
    group = api_version.partition("/")[0]
    return group == FLOW_GROUP or (kind in KINDS and (not group or group.endswith(VOLCANO)))


def _objects(document: Builder) -> Iterator[tuple[Place, list[Fault]]]:
    """The document, or the items of a list, each with what was wrong in its text."""
    root = document.document
    if root is None or not isinstance(root.value, dict):
        return
    kind, items = _text(root.value.get("kind")), root.below.get("items")
    if not kind.endswith(LIST) or items is None or not isinstance(items.value, list):
        yield root, document.problems
        return
    inherited = {"apiVersion": root.value.get("apiVersion"), "kind": kind.removesuffix(LIST)}
    for i, item in items.below.items():
        if not isinstance(item.value, dict):
            continue
        if kind != LIST and "kind" not in item.value:  # a typed list need not repeat what its items are
            item = Place(item.at, inherited | item.value, None, item.below)  # noqa: PLW2901
        yield item, [_inside(fault) for fault in document.problems if _is_inside(fault, i)]


def _is_inside(fault: Fault, item: int) -> bool:
    return isinstance(fault.field, FieldPath) and fault.field.parts[:2] == ("items", item)


def _inside(fault: Fault) -> Fault:
    assert isinstance(fault.field, FieldPath)  # noqa: S101
    return Fault(FieldPath(*fault.field.parts[2:]), fault.reason, fault.message, fault.rule)


def _metadata(tree: dict[str, Any]) -> dict[str, Any]:
    metadata = tree.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
