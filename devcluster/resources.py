"""What the server serves: one `Resource` for each group, version and plural, and the built-in ones.

A CustomResourceDefinition becomes such a `Resource` as well (see `crds.py`), so everything else knows one
description only: discovery, OpenAPI, tables, storage and admission all read it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of an object, as `details.causes` of a Status has it."""

    reason: str  # FieldValueRequired, FieldValueInvalid, ...
    message: str  # as Kubernetes says it, without the field: 'Required value', 'Invalid value: 3: must be ...'
    field: str  # spec.flows[2].name


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table: what to print is a JSONPath, or for some built-in kinds a function of the object."""

    name: str
    type: str  # string, integer, number, boolean, date
    json_path: str = ""
    description: str = ""
    priority: int = 0  # above 0: with -o wide only
    format: str = ""
    cell: Callable[[JSON], Any] | None = None  # wins over json_path


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version as it is served under one path."""

    group: str  # '' is the core group
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    subresources: frozenset[str] = frozenset()  # status, scale, token, finalize
    schema: JSON | None = None  # structural schema; None: anything is taken as it is
    columns: Sequence[Column] = ()  # besides Name
    verbs: Sequence[str] = ALL_VERBS
    list_kind: str = ""
    has_generation: bool = False  # metadata.generation counts the changes of all but metadata and status
    custom: bool = False  # from a CustomResourceDefinition
    stored_as: str = ""  # where it is stored, when another resource shows the same objects; else group/plural
    to_stored: Callable[[JSON], JSON] | None = None  # from this view to the stored form, and back
    from_stored: Callable[[JSON], JSON] | None = None

    @property
    def api_version(self) -> str:
        """Return apiVersion as manifests have it: `v1`, `flow.volcano.sh/v1alpha1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Return the name that messages use: `pods`, `jobflows.flow.volcano.sh`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage(self) -> str:
        """Return the name of the bucket where the objects lie; all versions share it."""
        return self.stored_as or self.qualified

    @property
    def list_name(self) -> str:
        """Return the kind of a list of these."""
        return self.list_kind or f"{self.kind}List"

    @property
    def has_status(self) -> bool:
        """Say whether status is written apart, through the status subresource."""
        return "status" in self.subresources
