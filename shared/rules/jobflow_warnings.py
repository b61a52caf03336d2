"""What is worth knowing about a new JobFlow, and not wrong: one short line for each kind of matter."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.api.jobflow import Flow, JobFlow
from shared.flow import names
from shared.rules.difference import meaning
from shared.rules.fault import SPEC, shown

LONGEST_WARNING: Final = 120
"""Kubernetes asks for warnings of no more characters, and may cut them."""

MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Room:
    """The room that the name of a Job must leave for longer names, which Volcano makes of it."""

    for_pods: int = 0
    """Characters that the longest name of a Pod has after the Job's."""
    for_labels: int = 0
    """Characters that Services and volumes have after it at most: their names are DNS-1123 labels. 0 for none such."""


NO_ROOM: Final = Room()


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What is known of the JobTemplates in the JobFlow's namespace. A watch fills it, which may be a moment late."""

    existing: Container[str]
    """Names of all that exist, those that are being deleted among them."""
    deleting: Container[str] = ()
    rooms: Mapping[str, Room] = field(default_factory=dict)
    """What their Jobs' names must leave room for; those that need little of it may be missing."""


def room_for(tasks: Sequence[tuple[str | None, int]], plugins: Iterable[str], *, has_volumes: bool) -> Room:
    """The room that a JobTemplate needs, of whose tasks the names and replicas are given.

    Volcano names a Pod `<job>-<task>-<index>`, and tries the name of each task's with the task's place as the index.
    With the plugin `svc`, which others bring along, the Service and the subdomain of the Pods are named as the Job,
    with `ray` there is a Service `<job>-head-svc`; what Pods mount is a volume named `<job>-svc`, `<job>-ssh` or, for
    a volume of the Job, the Job's name and twelve characters.
    """
    pods = (
        len(f"-{name or f'default{place}'}-{max(place, replicas - 1)}") for place, (name, replicas) in enumerate(tasks)
    )
    labels = [LABELS[plugin] for plugin in plugins if plugin in LABELS]
    if has_volumes:
        labels.append(len("-") + VOLUME_HASH)
    return Room(max(pods, default=0), max(labels, default=0))


VOLUME_HASH: Final = 12
"""Random characters in the name of a Pod's volume for a volume of its Job."""

LABELS: Final = {
    "ssh": len("-ssh"),
    "svc": len("-svc"),
    "tensorflow": len("-svc"),
    "mpi": len("-svc"),
    "pytorch": len("-svc"),
    "ray": len("-head-svc"),
}
"""What Volcano's plugins put behind the name of a Job to name Services and volumes."""


def warnings_on_create(jobflow: JobFlow, known: TemplateFacts | None) -> list[str]:
    """Lines of at most 120 characters. Where nothing is `known` of the templates, nothing is said of them."""
    named = list(dict.fromkeys(flow.name for flow in jobflow.flows)) if known else []
    absent = [name for name in named if known and name not in known.existing]
    leaving = [name for name in named if known and name in known.existing and name in known.deleting]
    jobflow_name = names.longest_name(jobflow.metadata)
    children = {name: names.child_name(jobflow_name, name) for name in named}
    pods = [name for name in named if known and _has_long_pods(children[name], known.rooms.get(name, NO_ROOM))]
    labels = [name for name in named if known and _has_bad_labels(children[name], known.rooms.get(name, NO_ROOM))]
    patches = [SPEC / "flows" / i / "patch" for i, flow in enumerate(jobflow.flows) if meaning(flow.patch)]
    probes = [SPEC / "flows" / i / "dependsOn" / "probe" for i, flow in enumerate(jobflow.flows) if _has_probe(flow)]
    matters = (
        (absent, "JobTemplate does not exist yet", "JobTemplates do not exist yet"),
        (leaving, "JobTemplate is being deleted", "JobTemplates are being deleted"),
        (pods, f"JobTemplate {LONG_PODS}", f"JobTemplates {LONG_PODS}"),
        (labels, f"JobTemplate {BAD_LABELS}", f"JobTemplates {BAD_LABELS}"),
        (patches, "patch has no effect yet", "patches have no effect yet"),
        (probes, "probe has no effect yet", "probes have no effect yet"),
    )
    return [_listing(things, one if len(things) == 1 else many) for things, one, many in matters if things]


LONG_PODS: Final = f"may get Pods with names over {names.LONGEST_POD} characters"
BAD_LABELS: Final = "may get Services or volumes with invalid names"


def _has_long_pods(job: str, room: Room) -> bool:
    return room.for_pods > 0 and len(job) + room.for_pods > names.LONGEST_POD


def _has_bad_labels(job: str, room: Room) -> bool:
    return room.for_labels > 0 and not names.is_label(job + "x" * room.for_labels)


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
