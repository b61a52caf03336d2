"""Who owns which fields of an object, as `metadata.managedFields` tells it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from devcluster.apply.fieldsets import FieldSet, Path, common, copied, discard, in_order
from devcluster.resources import JSON

UPDATE, APPLY = "Update", "Apply"
MAX_UPDATERS = 10  # more than that are folded into one
ANCIENT = "ancient-changes"


@dataclass(frozen=True, slots=True, order=True)
class Manager:
    """Somebody who writes, in one way and through one door. Whoever applies is the same in every version."""

    operation: str
    name: str
    api_version: str
    subresource: str

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Return what makes two entries the same manager's."""
        return self.operation, self.name, "" if self.operation == APPLY else self.api_version, self.subresource

    def __str__(self) -> str:
        """Return the manager as a conflict names it."""
        name = f'"{self.name}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")
        return f"{name} using {self.api_version}" if self.operation == UPDATE else name


@dataclass(slots=True)
class Ownership:
    """What a manager owns, and when it last changed that. Until then, the fields are those of the stored object."""

    manager: Manager
    fields: FieldSet
    time: str | None
    stored: JSON | None = None  # the entry of managedFields, as long as it is true

    def change(self, fields: FieldSet, time: str | None) -> None:
        """Own these fields from now on."""
        self.fields, self.time, self.stored = fields, time, None

    def discard(self, paths: Iterable[Path]) -> None:
        """Own these fields no more."""
        gone = common(self.fields, paths)
        if gone:
            self.change(copied(self.fields), self.time)
            for path in gone:
                discard(self.fields, path)


Owners = dict[tuple[str, str, str, str], Ownership]


def read_owners(managed_fields: Any) -> Owners:
    """Return the owners that managedFields name; none at all where they cannot be understood."""
    owners: Owners = {}
    if not isinstance(managed_fields, list):
        return owners
    for entry in managed_fields:
        manager = Manager(
            str(entry.get("operation", "")),
            str(entry.get("manager", "")),
            str(entry.get("apiVersion", "")),
            str(entry.get("subresource", "")),
        )
        fields = entry.get("fieldsV1") or {}
        if manager.operation not in {UPDATE, APPLY} or not manager.api_version or not _is_field_set(fields):
            return {}
        owners[manager.identity] = Ownership(manager, fields, entry.get("time"), entry)
    return owners


def _is_field_set(fields: Any) -> bool:
    return isinstance(fields, dict) and all(_is_field_set(child) for child in fields.values())


def write_owners(meta: JSON, owners: Owners) -> None:
    """Store the owners in an object's metadata, those who applied first, then by time."""
    entries = [one for one in owners.values() if one.fields]
    if not entries:
        meta.pop("managedFields", None)
        return
    entries.sort(key=lambda one: (one.manager.operation, one.time or "", one.manager.name, one.manager.api_version))
    meta["managedFields"] = [_entry(one) for one in entries]


def _entry(owner: Ownership) -> JSON:
    if owner.stored is not None:
        return owner.stored
    manager = owner.manager
    return {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        **({"time": owner.time} if owner.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": in_order(owner.fields),
        **({"subresource": manager.subresource} if manager.subresource else {}),
    }
