"""Snapshots for tests: a JobFlow, the states of its Jobs, and whatever else a decision may look at."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from controller.jobflow.snapshot import Problem, Snapshot
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.flow.names import child_name
from tests.support.builders import a_jobtemplate

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def a_job(jobflow: JobFlow, flow: str, phase: str, *, owner: str | None = None, **fields: Any) -> Job:
    """The Job of an entry, in `phase`; `fields` adds to its status, `metadata` and `spec` to those."""
    name = child_name(jobflow.name, flow)
    uid = jobflow.uid if owner is None else owner
    reference = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "name": jobflow.name,
        "uid": uid,
        "controller": True,
    }
    metadata = {
        "name": name,
        "namespace": jobflow.namespace,
        "uid": f"uid-of-{name}",
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "annotations": {"volcano.sh/createdByJobTemplate": f"{jobflow.namespace}.{flow}"},
        "ownerReferences": [reference] if uid else [],
        **fields.pop("metadata", {}),
    }
    spec = fields.pop("spec", {})
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"state": {"phase": phase}, **fields}}, Job)


def seeing(jobflow: JobFlow, *, templates: set[str] | None = None, **about: Any) -> Snapshot:
    """What is seen of `jobflow`: `clean="Running"` puts the Job of the entry `clean` in that phase.

    Every template exists unless `templates` names those that do. `departed`, `absent`, `strangers`, `problems` and
    `faults` are the snapshot's own, by entry name; a value that is a Job is taken as it is.
    """
    own = {"departed", "absent", "strangers", "problems", "faults", "now"}
    phases = {flow.replace("_", "-"): value for flow, value in about.items() if flow not in own}
    jobs = [it if isinstance(it, Job) else a_job(jobflow, flow, it) for flow, it in phases.items()]
    exist = {flow.name for flow in jobflow.flows} if templates is None else templates
    departed = [a_job(jobflow, flow, phase) for flow, phase in about.get("departed", {}).items()]
    return Snapshot(
        jobflow=jobflow,
        now=about.get("now", NOON),
        jobs={job.name: job for job in jobs},
        templates={name: a_jobtemplate(name, jobflow.namespace) for name in exist},
        departed={job.name: job for job in departed},
        absent={child_name(jobflow.name, flow): why for flow, why in about.get("absent", {}).items()},
        strangers=frozenset(child_name(jobflow.name, flow) for flow in about.get("strangers", ())),
        problems=about.get("problems", {}),
        faults=about.get("faults", ()),
    )


def refused(message: str = "the queue is closed", *, version: str = "uid-of-get/0", waits: bool = True) -> Problem:
    """An attempt that the API server refused."""
    return Problem("JobRefused", message, version, waits)
