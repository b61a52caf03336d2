"""Rules for what only the text shows, and for the parts of an object that the API server judges before any webhook."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import inspect

from shared.flow import names
from shared.rules.fault import METADATA, Fault, FieldPath, invalid
from shared.rules.near_miss import Lexicon
from shared.rules.room import A_LABEL
from shared.rules.rule import Rule
from webhook.check.fields import WHOLE, Metadata, is_in_template, unknown_fields
from webhook.check.manifests import Manifest, kind_fault
from webhook.check.tree import DUPLICATE_KEY, KEY_IS_NO_TEXT, MOST_PROBLEMS
from webhook.check.yaml_text import UNKNOWN_TAG
from webhook.shapes import type_faults


@Rule
def kinds_are_known(manifest: Manifest) -> Iterator[Fault]:
    """An object of `flow.volcano.sh/v1alpha1` is a JobFlow or a JobTemplate."""
    if fault := kind_fault(manifest):
        yield fault


@Rule
def keys_are_unique(manifest: Manifest) -> Iterator[Fault]:
    """A key stands once in a map. Of two, kubectl takes the last one without a word."""
    yield from _told(manifest, DUPLICATE_KEY)


@Rule
def tags_are_known(manifest: Manifest) -> Iterator[Fault]:
    """A value has no tag but those of plain YAML, such as `!!str`. kubectl reads others as if they were not there."""
    yield from _told(manifest, UNKNOWN_TAG)


@Rule
def keys_are_texts(manifest: Manifest) -> Iterator[Fault]:
    """A key is a text as it stands: without quotes `on` is true, and `0x1` is 1."""
    yield from _told(manifest, KEY_IS_NO_TEXT)


@Rule
def fields_are_spelt_right(manifest: Manifest) -> Iterator[Fault]:
    """A field with nearly the name of another is not there: kubectl refuses it, and other clients lose it."""
    yield from (fault for fault in _unknown_fields(manifest) if _is_misspelt(fault))


@Rule
def fields_are_known(manifest: Manifest) -> Iterator[Fault]:
    """A field is one that JobFlows, JobTemplates or their Pods have. Of others nothing comes."""
    yield from (fault for fault in _unknown_fields(manifest) if not _is_misspelt(fault))


@Rule
def metadata_has_its_types(manifest: Manifest) -> Iterator[Fault]:
    """Labels are texts, and finalizers a list of texts."""
    metadata = manifest.tree.get("metadata")
    if isinstance(metadata, dict):
        yield from type_faults(metadata, inspect.type_info(Metadata), METADATA)


@Rule
def namespaces_are_valid(manifest: Manifest) -> Iterator[Fault]:
    """A namespace has a DNS-1123 label as its name."""
    if manifest.namespace and not names.is_label(manifest.namespace):
        yield invalid(METADATA / "namespace", manifest.namespace, f"must be {A_LABEL}, at most {names.LONGEST_LABEL}")


FIRST: Final[tuple[Rule[Manifest], ...]] = (kinds_are_known,)
"""Where one of these is broken, nothing else can be judged."""

FAULTS: Final[tuple[Rule[Manifest], ...]] = (
    keys_are_unique,
    tags_are_known,
    fields_are_spelt_right,
    metadata_has_its_types,
    namespaces_are_valid,
)

TRAPS: Final[tuple[Rule[Manifest], ...]] = (keys_are_texts, fields_are_known)
"""What may be meant, and rarely is."""


def _unknown_fields(manifest: Manifest) -> Iterator[Fault]:
    wanted = inspect.type_info(WHOLE[manifest.kind])
    yield from islice(unknown_fields(manifest.tree, wanted, FieldPath()), MOST_PROBLEMS)


def _is_misspelt(fault: Fault) -> bool:
    """It is plain what was meant. In a pod template it may be a field that Kubernetes has and Volcano has not yet."""
    if is_in_template(fault.field):
        return False
    return fault.near is not None and Lexicon(fault.near.among).nearest(fault.near.value) is not None


def _told(manifest: Manifest, rule: str) -> Iterator[Fault]:
    return (fault for fault in manifest.problems if fault.rule == rule)
