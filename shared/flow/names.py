"""The names that a JobFlow makes, and whether they fit.

A child Job is named `<jobflow>-<flow>`, as in Volcano, and its Pods `<job>-<task>-<index>`.
"""

import hashlib
import re
from typing import Final

from shared.api.meta import ObjectMeta

LONGEST_SUBDOMAIN: Final = 253
"""Kubernetes: the name of most objects is a DNS-1123 subdomain of at most so many characters."""

LONGEST_LABEL: Final = 63
"""Kubernetes: a label's value, and a DNS label, have at most so many characters."""

LONGEST_POD: Final = 63
"""Volcano refuses a Job whose Pods would have longer names, for the name becomes a label of theirs."""

LONGEST_CHILD: Final = LONGEST_POD - len("-t-0")
"""A Job with a longer name has no room for even the shortest name of a Pod."""

LONGEST_JOBFLOW: Final = LONGEST_CHILD - len("-x")
"""A JobFlow with a longer name has no room for even the shortest name of an entry."""

LONGEST_GENERATED_BASE: Final = 58
"""The API server cuts `metadata.generateName` after so many characters before it adds five of its own."""

_HASH: Final = 10
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)


def child_name(jobflow: str, flow: str) -> str:
    """The name of the Job that runs an entry. Volcano's; manifests and habits rest on it."""
    return f"{jobflow}-{flow}"


def label_value(value: str) -> str:
    """`value` as the value of a label: where it is too long it is cut and ends in a hash of all of it.

    Equal values give equal labels and different ones different labels. A value that starts with a letter or digit
    and has nothing but what names may have, as `<namespace>.<name>` does, gives a label that Kubernetes takes.
    """
    if len(value) <= LONGEST_LABEL:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()[:_HASH]
    return f"{value[: LONGEST_LABEL - _HASH - 1]}-{digest}"


def longest_name(metadata: ObjectMeta) -> str:
    """The object's name, or where the API server is still to make one, the longest that it can become.

    `x` stands for the characters that are added. Empty where there is neither name nor generateName.
    """
    if metadata.name or not metadata.generate_name:
        return metadata.name
    return f"{metadata.generate_name[:LONGEST_GENERATED_BASE]}xxxxx"


def is_subdomain(name: str) -> bool:
    """`name` is a DNS-1123 subdomain, as Kubernetes wants the names of most objects, JobTemplates and Jobs too."""
    return len(name) <= LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """`name` is a DNS-1123 label: a subdomain without dots of at most 63 characters."""
    return len(name) <= LONGEST_LABEL and _LABEL.fullmatch(name) is not None
