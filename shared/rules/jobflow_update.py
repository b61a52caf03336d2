"""What an update of a JobFlow may change: everything but the spec."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.api.jobflow import RetainPolicy
from shared.rules.difference import JSON, differences, meaning
from shared.rules.fault import SPEC, Fault, forbidden
from shared.rules.jobflow import ORDER
from shared.rules.rule import Rule, judge

MOST_PATHS: Final = 10

DEFAULTS: Final = {"jobRetainPolicy": RetainPolicy.RETAIN.value}
"""What the CRD's schema puts where a field of the spec is missing."""


@dataclass(frozen=True, slots=True)
class SpecUpdate:
    """The spec before and after, as plain JSON."""

    old: JSON
    new: JSON


def faults_on_update(old_spec: JSON, new_spec: JSON) -> list[Fault]:
    """Say that the spec of a JobFlow was changed, and where; nothing, where both specs mean the same.

    The specs are judged by no other rule: a JobFlow that today's rules would refuse stays editable.
    """
    return judge(ON_UPDATE, SpecUpdate(old_spec, new_spec), ORDER)


@Rule
def spec_does_not_change(update: SpecUpdate) -> Iterator[Fault]:
    """The spec of a JobFlow does not change once it exists; labels, annotations, finalizers and owners may."""
    changed = list(differences(meaning(update.old, DEFAULTS), meaning(update.new, DEFAULTS), SPEC))
    if not changed:
        return
    shown = ", ".join(map(str, sorted(changed, key=ORDER.place)[:MOST_PATHS]))
    if len(changed) > MOST_PATHS:
        shown += f", and {len(changed) - MOST_PATHS} more"
    yield forbidden(
        SPEC, f"may not be changed once the JobFlow exists (changed: {shown}); create a new JobFlow instead"
    )


ON_UPDATE: Final[tuple[Rule[SpecUpdate], ...]] = (spec_does_not_change,)
