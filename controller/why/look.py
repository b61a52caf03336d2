"""Read what an answer is made from. Nothing is written, and what may not be read is done without where that can be.

Needed are `get` of the JobFlow, and `list` of jobs.batch.volcano.sh and jobtemplates.flow.volcano.sh in its namespace.
Of use are `list` of jobflows (for names like the one asked for), of events, and of the controller's Lease wherever it
is, and `get` of podgroups.scheduling.volcano.sh.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from controller.jobflow.explain import GONE, JOB_REFUSED, NOT_OURS
from controller.jobflow.look import Caches, take_snapshot
from controller.jobflow.memory import Memory
from controller.jobflow.plan import template_version
from controller.jobflow.progress import progress_of, unaccounted
from controller.jobflow.snapshot import Problem, Snapshot
from controller.jobflow.triggers import OWNER, owner_uids
from controller.why.facts import Facts, refusals_in, refusals_told, runs_by_template, tells_refusals
from controller.why.objects import Event, PodGroup, WholeJob, WholeJobFlow
from controller.why.words import listed
from shared.api.job import Job, JobPhase
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.lease import Lease
from shared.api.meta import Key
from shared.api.times import parse_duration, parse_time
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from shared.kube.resources import JOBTEMPLATES, Resource, T, Unread
from shared.kube.transport import Request
from shared.rules.near_miss import Lexicon

WHOLE_JOBFLOWS: Final = Resource("flow.volcano.sh", "v1alpha1", "jobflows", WholeJobFlow)
WHOLE_JOBS: Final = Resource("batch.volcano.sh", "v1alpha1", "jobs", WholeJob)
EVENTS: Final = Resource("", "v1", "events", Event)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", Lease)
PODGROUPS: Final = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", PodGroup)

LEASE: Final = "jobflow-controller"
"""The Lease of controllers, unless their flags give it another name."""

ASKED_ABOUT: Final = 5
"""Jobs for which the scheduler and Events are asked: the first that are Pending or broken."""

PODGROUP_OF_JOB: Final = "{name}-{uid}"
"""How Volcano names the PodGroup of a Job."""


OF_LATE: Final = timedelta(minutes=5)
"""How old an Event may be that is to stand for the present. The controller tells of what lasts more often."""


class NoJobFlow(Exception):
    """There is no JobFlow of that name; the message says so to a person."""


async def look(client: KubeClient, key: Key, clock: Callable[[], datetime]) -> Facts:
    """Read all that bears on the JobFlow. Raises NoJobFlow, and ApiError where what is needed cannot be read."""
    try:
        jobflow = await client.get(WHOLE_JOBFLOWS, key)
    except NotFound as missing:
        raise NoJobFlow(await _not_found(client, key, missing)) from None
    # Jobs after the JobFlow: what its status tells of and is not among them is really gone.
    jobs = [job async for job in _each(client, WHOLE_JOBS, key.namespace)]
    templates = [template async for template in _each(client, JOBTEMPLATES, key.namespace)]
    unread: list[str] = []
    events = await _events(client, key.namespace, jobflow.uid, unread)
    seen = snapshot(jobflow, jobs, templates, events, clock())
    return Facts(
        seen,
        strangers={job.name: job for job in jobs if job.name in seen.strangers},
        runs=runs_by_template(key.namespace, jobs),
        estimates=_estimates(jobflow, templates),
        events=events,
        said=await _said(client, seen, unread),
        leases=await _leases(client, unread),
        unread=tuple(dict.fromkeys(unread)),
    )


def snapshot(
    jobflow: WholeJobFlow,
    jobs: Iterable[WholeJob],
    templates: Iterable[JobTemplate],
    events: Iterable[Event],
    now: datetime,
) -> Snapshot:
    """What the controller would decide on if it looked now, and remembered the refusals that were told."""
    caches = Caches(Cache[JobFlow](), Cache[JobTemplate](), Cache[Job]({OWNER: owner_uids}))
    _fill(caches.templates, templates)
    _fill(caches.jobs, jobs)
    seen = take_snapshot(jobflow, caches, Memory(), now, 0.0)
    found = {name: NOT_OURS if caches.jobs.get(Key(jobflow.namespace, name)) else GONE for name in unaccounted(seen)}
    seen = replace(seen, absent=found)
    return replace(seen, problems=_problems(seen, events))


def _fill(cache: Any, objects: Iterable[Any]) -> None:
    for each in objects:
        cache.put(each)


def _problems(seen: Snapshot, events: Iterable[Event]) -> dict[str, Problem]:
    """Refusals that the status tells of; where it has no room for all of them, or none for any, those of Events.

    Volcano's own CRD drops the reason from the status. Then an Event of late stands for it.
    """
    jobflow = seen.jobflow
    told = refusals_told(jobflow)
    ours = jobflow.status.observed_generation is not None
    if tells_refusals(jobflow) or not ours:
        for event in events:
            seen_at = parse_time(event.last_seen)
            recent = seen_at is not None and seen.now - seen_at < OF_LATE
            if event.reason == JOB_REFUSED and (ours or recent):
                told = refusals_in(event.message, jobflow) | told
    started = progress_of(seen).states
    return {
        name: Problem(JOB_REFUSED, words, template_version(template), waits=True)
        for name, words in told.items()
        if name not in started and (template := seen.templates.get(name))
    }


async def _each(client: KubeClient, resource: Resource[T], namespace: str) -> Any:
    async for page in client.list_pages(resource, namespace=namespace):
        for item in page.items:
            if not isinstance(item, Unread):
                yield item


async def _not_found(client: KubeClient, key: Key, missing: NotFound) -> str:
    """That there is none of that name, and which may have been meant."""
    if missing.reason == "NotFound" and "requested resource" in missing.message:
        return "the API server knows no JobFlows: their CRD is not installed"
    none = f'no JobFlow "{key.name}" in namespace {key.namespace}'
    try:
        names = [jobflow.name async for jobflow in _each(client, WHOLE_JOBFLOWS, key.namespace)]
    except ApiError:
        return none
    if near := Lexicon(names).nearest(key.name):
        return f"{none}; did you mean {near}?"
    return f"{none}; there are {listed(sorted(names))}" if names else f"{none}, nor any other"


async def _events(client: KubeClient, namespace: str, uid: str, unread: list[str]) -> list[Event]:
    query = (("fieldSelector", f"involvedObject.uid={uid}"), ("limit", "200"))
    found = await _page(client, EVENTS, Request("GET", EVENTS.path(namespace), query), unread, f"Events of {namespace}")
    return sorted(found or (), key=lambda event: event.last_seen, reverse=True)


async def _leases(client: KubeClient, unread: list[str]) -> list[Lease] | None:
    query = (("fieldSelector", f"metadata.name={LEASE}"),)
    request = Request("GET", LEASES.path(), query)
    return await _page(client, LEASES, request, unread, "Leases, which tell whether a controller is alive")


async def _page(
    client: KubeClient, resource: Resource[T], request: Request, unread: list[str], what: str
) -> list[T] | None:
    """A short list; None, and a word in `unread`, where it may not be read."""
    try:
        page = resource.decode_page(await client.read("list", resource, request))
    except (Forbidden, NotFound, Unavailable) as wrong:
        unread.append(f"{what}: {wrong.message}")
        return None
    return [item for item in page.items if not isinstance(item, Unread)]


async def _said(client: KubeClient, seen: Snapshot, unread: list[str]) -> dict[str, str]:
    """What the scheduler says of Jobs that are Pending, and the last warning about those that are not well."""
    asked = [job for job in seen.jobs.values() if job.phase in _NOT_WELL][:ASKED_ABOUT]
    said: dict[str, str] = {}
    for job in asked:
        if job.phase in ("", JobPhase.PENDING) and (words := await _unschedulable(client, job)):
            said[job.name] = words
            continue
        events = await _events(client, seen.jobflow.namespace, job.uid, unread)
        warnings = [event for event in events if event.type == "Warning"]
        if warnings:
            said[job.name] = f"{warnings[0].reason}: {' '.join(warnings[0].message.split())}"
    return said


_NOT_WELL: Final = frozenset({"", JobPhase.PENDING, JobPhase.RESTARTING, JobPhase.FAILED, JobPhase.TERMINATED})


async def _unschedulable(client: KubeClient, job: Job) -> str:
    try:
        group = await client.get(PODGROUPS, Key(job.namespace, PODGROUP_OF_JOB.format(name=job.name, uid=job.uid)))
    except (Forbidden, NotFound, Unavailable):
        return ""
    return " ".join(group.unschedulable.split())


class _Declared(msgspec.Struct, rename="camel"):
    """What of a template's Job spec says how long it takes."""

    running_estimate: str | None = None


def _estimates(jobflow: JobFlow, templates: Iterable[JobTemplate]) -> dict[str, float]:
    wanted = {flow.name for flow in jobflow.flows}
    found: dict[str, float] = {}
    for template in templates:
        if template.name in wanted:
            try:
                declared = msgspec.json.decode(template.spec, type=_Declared)
            except msgspec.MsgspecError:
                continue
            if length := parse_duration(declared.running_estimate):
                found[template.name] = length.total_seconds()
    return found
