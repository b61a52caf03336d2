"""Every rule that a finding may name, with what it says of itself."""

from collections.abc import Mapping
from typing import Any, Final

from shared.rules.jobflow import ON_CREATE
from shared.rules.jobtemplate import ON_JOBTEMPLATE
from shared.rules.rule import Rule
from webhook.check import set_rules, text_rules
from webhook.check.findings import Level
from webhook.shapes import RULE as WRONG_TYPE

UNREADABLE: Final = "files-are-readable"
WORTH_KNOWING: Final = "worth-knowing"

_ERRORS: Final[tuple[Rule[Any], ...]] = (
    *text_rules.FIRST,
    *text_rules.FAULTS,
    *set_rules.FAULTS,
    *ON_CREATE,
    *ON_JOBTEMPLATE,
)
_WARNINGS: Final[tuple[Rule[Any], ...]] = (*text_rules.TRAPS, *set_rules.WARNINGS)

CATALOGUE: Final[Mapping[str, tuple[Level, str]]] = {
    UNREADABLE: (Level.ERROR, "A file can be read: it is there, is text in UTF-8, and is YAML or JSON within bounds."),
    WRONG_TYPE: (Level.ERROR, "A value has the type that its field wants."),
    **{rule.id: (Level.ERROR, rule.says) for rule in _ERRORS},
    **{rule.id: (Level.WARNING, rule.says) for rule in _WARNINGS},
    WORTH_KNOWING: (Level.WARNING, "What the webhook would warn of when a JobFlow is created."),
}
"""Rules by id, in the order in which they are asked: how much a fault of theirs matters, and the rule in words."""
