"""Sees in one pass that a JobFlow breaks no rule, where that is plain to see.

Most JobFlows are right, and are written in the order in which they run. For those the rules of `shared.rules`, one
after the other, take several times as long as this. What is not plain here is no fault: the rules decide.
"""

import re
from typing import Final

from shared.api.jobflow import JobFlow, RetainPolicy
from shared.flow.names import LONGEST_CHILD
from shared.rules.jobflow import DEPENDENCIES_PER_FLOW, MOST_BYTES, STATUS_PER_FLOW

POLICIES: Final = frozenset({None, *RetainPolicy})

STATUS: Final = 2 * LONGEST_CHILD + STATUS_PER_FLOW
"""The least bytes of status for an entry whose Job has the longest name that there may be."""

_LINES: Final = re.compile(r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\n)+", re.ASCII)
"""Names without dots, one a line."""


def is_plainly_right(jobflow: JobFlow, max_flows: int, size: int) -> bool:
    """Whether no rule for new JobFlows is broken. Where that is not plain to see the answer is False."""
    flows, name = jobflow.flows, jobflow.name
    if not 0 < len(flows) <= max_flows or size + len(flows) * STATUS > MOST_BYTES:
        return False
    if jobflow.spec.job_retain_policy not in POLICIES:
        return False
    names = [flow.name for flow in flows]
    lines = "\n".join((name, *names, ""))
    if lines.count("\n") != len(names) + 1 or not _LINES.fullmatch(lines):
        return False
    if len(name) + 1 + max(map(len, names)) > LONGEST_CHILD:
        return False
    before = set[str]()
    dependencies = 0
    for flow in flows:
        if depends_on := flow.depends_on:
            targets = depends_on.targets or ()
            if depends_on.probe or len(set(targets)) != len(targets) or not before.issuperset(targets):
                return False
            dependencies += len(targets)
        before.add(flow.name)
    return len(before) == len(names) and dependencies <= max_flows * DEPENDENCIES_PER_FLOW
