"""What a snapshot holds, with everything that stands behind it switched off: a protection must not rest on another."""

from controller.jobflow.actions import Created
from controller.jobflow.look import Caches, take_snapshot
from controller.jobflow.memory import LAG, Memory
from controller.jobflow.snapshot import Snapshot
from controller.jobflow.triggers import OWNER, TEMPLATE, owner_uids, template_keys
from shared.api.job import Job
from shared.api.jobflow import JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.kube.cache import Cache
from tests.support.builders import a_jobflow, a_jobtemplate
from tests.support.seeing import NOON, a_job

ETL = a_jobflow("get", "clean: get")


def looking(*jobs: Job, jobflow: JobFlow = ETL, memory: Memory | None = None, moment: float = 0.0) -> Snapshot:
    jobflows: Cache[JobFlow] = Cache({TEMPLATE: template_keys})
    templates: Cache[JobTemplate] = Cache()
    cached: Cache[Job] = Cache({OWNER: owner_uids})
    for flow in jobflow.flows:
        templates.put(a_jobtemplate(flow.name, jobflow.namespace))
    for job in jobs:
        cached.put(job)
    return take_snapshot(jobflow, Caches(jobflows, templates, cached), memory or Memory(), NOON, moment)


def test_a_job_is_the_jobflows_own_by_the_uid_of_its_owner_and_by_nothing_else() -> None:
    seen = looking(a_job(ETL, "get", "Completed"), a_job(ETL, "clean", "Completed", owner="uid-of-the-etl-before"))
    assert set(seen.jobs) == {"etl-get"}
    assert seen.strangers == {"etl-clean"}


def test_a_job_without_an_owner_is_a_stranger() -> None:
    seen = looking(a_job(ETL, "get", "Running", owner=""))
    assert (dict(seen.jobs), seen.strangers) == ({}, {"etl-get"})


def test_the_template_of_an_entry_is_that_of_its_name_in_the_jobflows_namespace() -> None:
    seen = looking()
    assert {name: template.key.namespace for name, template in seen.templates.items()} == {"get": "ml", "clean": "ml"}


def test_a_job_that_was_just_created_is_seen_before_the_cache_shows_it() -> None:
    memory = Memory(created={"etl-get": (a_job(ETL, "get", ""), 0.0)})
    assert set(looking(memory=memory, moment=LAG - 0.1).jobs) == {"etl-get"}


def test_a_create_that_was_answered_is_remembered_until_the_cache_shows_it() -> None:
    memory = Memory()
    memory.take(Created("get", a_job(ETL, "get", "")), now=0.0, chance=0.0)
    assert set(looking(memory=memory, moment=LAG - 0.1).jobs) == {"etl-get"}


def test_what_the_cache_shows_is_newer_than_the_answer_to_the_create() -> None:
    memory = Memory(created={"etl-get": (a_job(ETL, "get", ""), 0.0)})
    assert looking(a_job(ETL, "get", "Running"), memory=memory).jobs["etl-get"].phase == "Running"
    assert memory.created == {}


def test_a_job_that_the_cache_never_shows_counts_as_gone_after_a_while() -> None:
    memory = Memory(created={"etl-get": (a_job(ETL, "get", ""), 0.0)})
    seen = looking(memory=memory, moment=LAG + 0.1)
    assert (dict(seen.jobs), set(seen.departed)) == ({}, {"etl-get"})


def test_a_broken_spec_is_told_and_a_name_that_has_its_job_is_not_judged() -> None:
    broken = a_jobflow("UPPER", "clean")
    assert looking(jobflow=broken).faults != ()
    assert looking(a_job(broken, "UPPER", "Running"), jobflow=broken).faults == ()
