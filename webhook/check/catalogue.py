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

_ERRORS: Final[tuple[Rule[Any], ...]] = (*text_rules.FIRST, *text_rules.FAULTS, *set_rules.FAULTS)
_AS_WEBHOOK: Final[tuple[Rule[Any], ...]] = (*ON_CREATE, *ON_JOBTEMPLATE)
_WARNINGS: Final[tuple[Rule[Any], ...]] = (*text_rules.TRAPS, *set_rules.WARNINGS)

Entry = tuple[Level, str]
"""How much a fault of a rule matters, and the rule in words."""

ONLY_HERE: Final[Mapping[str, Entry]] = {
    UNREADABLE: (Level.ERROR, "A file can be read: it is there, is text in UTF-8, and is YAML or JSON within bounds."),
    **{rule.id: (Level.ERROR, rule.says) for rule in _ERRORS},
    **{rule.id: (Level.WARNING, rule.says) for rule in _WARNINGS},
}
"""Rules by id that the webhook has not, for it never sees what they judge."""

CATALOGUE: Final[Mapping[str, Entry]] = {
    **ONLY_HERE,
    WORTH_KNOWING: (Level.WARNING, "What the webhook would warn of when a JobFlow is created."),
    WRONG_TYPE: (Level.ERROR, "A value has the type that its field wants."),
    **{rule.id: (Level.ERROR, rule.says) for rule in _AS_WEBHOOK},
}
"""Every rule by id."""
