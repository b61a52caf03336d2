"""What is worth knowing about a new JobFlow, and not wrong: one short line for each kind of matter."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from shared.api.jobflow import Flow, JobFlow
from shared.rules.difference import meaning
from shared.rules.fault import SPEC, shown

LONGEST_WARNING: Final = 120
"""Kubernetes asks for warnings of no more characters, and may cut them."""

MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What is known of the JobTemplates in the JobFlow's namespace. A watch fills it, which may be a moment late."""

    existing: Container[str]
    """Names of all that exist, those that are being deleted among them."""
    deleting: Container[str] = ()


def warnings_on_create(jobflow: JobFlow, known: TemplateFacts | None) -> list[str]:
    """Lines of at most 120 characters. Where nothing is `known` of the templates, nothing is said of them."""
    named = list(dict.fromkeys(flow.name for flow in jobflow.flows)) if known else []
    absent = [name for name in named if known and name not in known.existing]
    leaving = [name for name in named if known and name in known.existing and name in known.deleting]
    patches = [SPEC / "flows" / i / "patch" for i, flow in enumerate(jobflow.flows) if meaning(flow.patch)]
    probes = [SPEC / "flows" / i / "dependsOn" / "probe" for i, flow in enumerate(jobflow.flows) if _has_probe(flow)]
    matters = (
        (absent, "JobTemplate does not exist yet", "JobTemplates do not exist yet"),
        (leaving, "JobTemplate is being deleted", "JobTemplates are being deleted"),
        (patches, "patch has no effect yet", "patches have no effect yet"),
        (probes, "probe has no effect yet", "probes have no effect yet"),
    )
    return [_listing(things, one if len(things) == 1 else many) for things, one, many in matters if things]


def _has_probe(flow: Flow) -> bool:
    probe = flow.depends_on.probe if flow.depends_on else None
    return bool(probe and (probe.http_get_list or probe.tcp_socket_list or probe.task_status_list))


def _listing(things: Sequence[object], what: str) -> str:
    """`7 JobTemplates do not exist yet: a, b, c, d, e, ...`: as many of the first five as there is room for."""
    warning = f"{len(things)} {what}: "
    listed = 0
    for thing in things[:MOST_NAMES]:
        after = ", ..." if listed + 1 < len(things) else ""
        more = f"{', ' if listed else ''}{shown(str(thing))}"
        if len(warning) + len(more) + len(after) > LONGEST_WARNING:
            break
        warning += more
        listed += 1
    if not listed:
        return f"{warning}{shown(str(things[0]))}"[: LONGEST_WARNING - 3] + "..."
    return warning if listed == len(things) else f"{warning}, ..."
