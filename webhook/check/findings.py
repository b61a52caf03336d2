"""What the check has to say: one `Finding` for each thing that is wrong, or worth knowing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much it matters."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing, with its place in a file and in an object."""

    file: str
    line: int
    column: int
    level: Level
    rule: str
    """The id of a rule in `catalogue.CATALOGUE`."""
    message: str
    path: str = ""
    """The field, such as `spec.flows[0].name`; empty where the whole file is meant."""
    reason: str = ""
    """As the webhook has it in `details.causes`, such as `FieldValueInvalid`."""
    kind: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All that came of a check."""

    findings: Sequence[Finding]
    files: int
    jobflows: int
    jobtemplates: int
    passed_over: int
    """Objects of other kinds."""
    complete: bool
    """Every file could be read to its end."""

    def count(self, level: Level) -> int:
        """How many findings are of that level."""
        return sum(finding.level is level for finding in self.findings)

    def exit_code(self, *, strict: bool) -> int:
        """0 where nothing is wrong, 1 where something is, 2 where something could not be read and so was not judged."""
        if not self.complete:
            return 2
        return 1 if self.count(Level.ERROR) or (strict and self.findings) else 0
