"""Rules for all objects of a check together."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from shared.api.names import JOBFLOW, JOBTEMPLATE
from shared.rules.fault import METADATA, SPEC, Fault, FieldPath, duplicate, invalid, not_found, quoted
from shared.rules.rule import Rule
from webhook.check.manifests import Manifest
from webhook.check.tree import MOST_PROBLEMS


class Together:
    """An object, and what is known of those that are checked with it."""

    def __init__(self, manifests: Sequence[Manifest], namespace: str = "") -> None:
        self.namespace = namespace
        """The one that the user has named, empty for none."""
        self._first: dict[tuple[str, str, str], Manifest] = {}
        self._templates: dict[str, dict[str, None]] = {}
        for manifest in manifests:
            if manifest.name:
                self._first.setdefault(_key(manifest), manifest)
                if manifest.kind == JOBTEMPLATE:
                    self._templates.setdefault(manifest.namespace, {})[manifest.name] = None

    def first(self, manifest: Manifest) -> Manifest:
        """The first object of that kind, namespace and name."""
        return self._first.get(_key(manifest), manifest)

    def templates(self, namespace: str) -> dict[str, None]:
        """Names of the JobTemplates there."""
        return self._templates.get(namespace, {})

    def judged(self, manifest: Manifest) -> "Member":
        """What the rules for one of them need."""
        return Member(manifest, self)


class Member:
    """One object among others."""

    def __init__(self, manifest: Manifest, together: Together) -> None:
        self.manifest = manifest
        self.together = together


@Rule
def objects_are_unique(member: Member) -> Iterator[Fault]:
    """An object of a kind, namespace and name is there once. Of two, the one that is applied later would win."""
    manifest, first = member.manifest, member.together.first(member.manifest)
    if first is not manifest:
        fault = duplicate(METADATA / "name", manifest.name)
        where = f"{first.file}:{first.position(METADATA / 'name')[0]}"
        yield Fault(fault.field, fault.reason, f"{fault.message}: another {manifest.kind} has it at {where}")


@Rule
def namespaces_match(member: Member) -> Iterator[Fault]:
    """With `--namespace`, no object is in another one; kubectl refuses that as well."""
    wanted, given = member.together.namespace, member.manifest.namespace
    if wanted and given != wanted:
        yield invalid(METADATA / "namespace", given, f"must be {quoted(wanted)}, as --namespace says")


@Rule
def templates_exist(member: Member) -> Iterator[Fault]:
    """The JobTemplates that a JobFlow names are among what is checked. They may of course be in the cluster already."""
    manifest = member.manifest
    if manifest.kind != JOBFLOW:
        return
    known = member.together.templates(manifest.namespace)
    absent = [(at, name) for at, name in named(manifest.tree) if name not in known]
    if absent and not known:
        which = "its JobTemplate is not" if len(absent) == 1 else f"none of its {len(absent)} JobTemplates is"
        yield Fault(SPEC / "flows", "FieldValueNotFound", f"Not found: {which} in these files")
        return
    for at, name in absent[:MOST_PROBLEMS]:
        yield not_found(at, name, "no such JobTemplate is in these files", among=known)


FAULTS: Final[tuple[Rule[Member], ...]] = (objects_are_unique, namespaces_match)
WARNINGS: Final[tuple[Rule[Member], ...]] = (templates_exist,)


def named(tree: dict[str, Any]) -> Iterator[tuple[FieldPath, str]]:
    """The names of a JobFlow's entries, each where it first stands, as far as they are names at all."""
    spec = tree.get("spec")
    flows = spec.get("flows") if isinstance(spec, dict) else None
    seen = {""}
    for i, flow in enumerate(flows if isinstance(flows, list) else ()):
        name = flow.get("name") if isinstance(flow, dict) else None
        if isinstance(name, str) and name not in seen:
            seen.add(name)
            yield SPEC / "flows" / i / "name", name


def _key(manifest: Manifest) -> tuple[str, str, str]:
    return manifest.kind, manifest.namespace, manifest.name
