"""What is wrong in the manifests. The rules for new objects are asked through the webhook's own table, `admit.ROWS`.

So the same object gets the same faults here as in a cluster. What comes on top are rules for what the webhook never
sees (`text_rules`), and for objects that lie side by side (`set_rules`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from shared.api.names import FLOW_GROUP, JOBTEMPLATE
from shared.rules.answer import with_near_misses
from shared.rules.fault import SPEC, Fault, FieldPath
from shared.rules.jobflow_warnings import Room, TemplateFacts
from webhook.admit import KINDS, ROWS, Known
from webhook.check import set_rules, text_rules
from webhook.check.catalogue import UNREADABLE, WORTH_KNOWING
from webhook.check.findings import Finding, Level, Report
from webhook.check.hints import hint
from webhook.check.manifests import Manifest, Reading, Unreadable
from webhook.known_template import KnownTemplate
from webhook.review import Operation, Request, Resource
from webhook.shapes import MisshapenError, read
from webhook.verdict import Verdict, invalid

NEAR_MISSES: Final = 100
"""Faults of one object for which a near miss is looked for; that takes time."""


def check(reading: Reading, *, max_flows: int, namespace: str = "") -> Report:
    """Judge all that was read, each object by itself and all of them together."""
    manifests = reading.manifests
    together = set_rules.Together(manifests, namespace)
    known = Known(max_flows=max_flows, templates=_facts(manifests))
    place = {file: at for at, file in enumerate(reading.files)}
    findings = [_unreadable(each) for each in reading.unreadable]
    for manifest in manifests:
        findings += _findings(manifest, together, known)
    return Report(
        sorted(findings, key=lambda finding: (place[finding.file], finding.line, finding.column)),
        files=len(reading.files),
        jobflows=sum(manifest.kind == KINDS["jobflows"] for manifest in manifests),
        jobtemplates=sum(manifest.kind == KINDS["jobtemplates"] for manifest in manifests),
        passed_over=reading.passed_over,
        complete=not reading.unreadable,
    )


def verdict(manifest: Manifest, known: Known) -> Verdict:
    """What the webhook would answer where somebody creates this object."""
    resource = RESOURCES[manifest.kind]
    request = Request(
        uid="",
        operation=Operation.CREATE,
        resource=Resource(FLOW_GROUP, "v1alpha1", resource),
        name=manifest.name,
        namespace=manifest.namespace,
        object=manifest.tree,
    )
    try:
        answer = ROWS[resource, Operation.CREATE](request, known)
    except MisshapenError as wrong:
        return invalid(wrong.faults)
    assert isinstance(answer, Verdict)  # noqa: S101  # only deletions ask who uses an object
    return answer


class _AnyName:
    """Holds every name. JobTemplates that no file has are told one by one, by `set_rules.templates_exist`."""

    def __contains__(self, name: object) -> bool:
        return True


def _facts(manifests: Sequence[Manifest]) -> Callable[[str], TemplateFacts]:
    """What the files say of JobTemplates, as the webhook knows it of a cluster."""
    rooms: dict[str, dict[str, Room]] = {}
    for manifest in manifests:
        if manifest.kind == JOBTEMPLATE and manifest.name and (room := _room(manifest)):
            rooms.setdefault(manifest.namespace, {})[manifest.name] = room
    return lambda namespace: TemplateFacts(_AnyName(), rooms=rooms.get(namespace, {}))


def _room(manifest: Manifest) -> Room | None:
    """The room that the names of its Jobs must leave, None where that cannot be told."""
    try:
        return read(manifest.tree, KnownTemplate).room
    except MisshapenError:
        return None


RESOURCES: Final = {kind: resource for resource, kind in KINDS.items()}


def _findings(manifest: Manifest, together: set_rules.Together, known: Known) -> Iterator[Finding]:
    faults = list(chain.from_iterable(rule(manifest) for rule in text_rules.FIRST))
    if faults:
        yield from _told(manifest, Level.ERROR, faults)
        return
    answer = verdict(manifest, known)
    member = together.judged(manifest)
    faults = [fault for rule in text_rules.FAULTS for fault in rule(manifest)]
    faults += answer.faults
    faults += (fault for rule in set_rules.FAULTS for fault in rule(member))
    yield from _told(manifest, Level.ERROR, faults)
    traps = [fault for rule in text_rules.TRAPS for fault in rule(manifest)]
    traps += (fault for rule in set_rules.WARNINGS for fault in rule(member))
    traps += (Fault(_place_of(warning, manifest), "", warning, WORTH_KNOWING) for warning in answer.warnings)
    yield from _told(manifest, Level.WARNING, traps)


def _told(manifest: Manifest, level: Level, faults: list[Fault]) -> Iterator[Finding]:
    for fault in chain(with_near_misses(faults[:NEAR_MISSES]), faults[NEAR_MISSES:]):
        line, column = manifest.position(fault.field)
        yield Finding(
            manifest.file,
            line,
            column,
            level,
            fault.rule,
            fault.message + hint(manifest.place, fault),
            str(fault.field),
            fault.reason,
            manifest.kind,
            manifest.namespace,
            manifest.name,
        )


def _unreadable(file: Unreadable) -> Finding:
    return Finding(file.file, file.line, file.column, Level.ERROR, UNREADABLE, file.message)


_ENTRY: Final = re.compile(r"spec\.flows\[([0-9]+)\]")


def _place_of(warning: str, manifest: Manifest) -> FieldPath:
    """Where a warning belongs, which is a mere line: to the first entry that it lists, or to all of them."""
    first = warning.rpartition(": ")[2].split(", ")[0]
    if entry := _ENTRY.match(first):
        return SPEC / "flows" / int(entry.group(1))
    for at, name in set_rules.named(manifest.tree):
        if name == first:
            return at
    return SPEC / "flows"
