import pytest
from msgspec.structs import replace

from controller.jobflow.triggers import TEMPLATE, on_job, on_jobflow, on_jobtemplate, priority_of, template_keys
from controller.runtime.workqueue import Priority
from shared.api.jobflow import JobFlow
from shared.api.meta import Key
from shared.kube.cache import Cache
from tests.support.builders import a_jobflow, a_jobtemplate
from tests.support.seeing import a_job

ETL = a_jobflow("get", "clean: get")
MINE = Key("ml", "etl")


def holding(*jobflows: JobFlow) -> Cache[JobFlow]:
    cache: Cache[JobFlow] = Cache({TEMPLATE: template_keys})
    for jobflow in jobflows:
        cache.put(jobflow)
    return cache


@pytest.mark.parametrize("was", [True, False])
@pytest.mark.parametrize("present", [True, False])
def test_a_job_that_comes_changes_or_goes_wakes_its_owner(was: bool, present: bool) -> None:
    old, new = (a_job(ETL, "get", "Running") if it else None for it in (was, present))
    keys = {key for key, _ in on_job(old, new, holding(ETL))}
    assert keys == ({MINE} if was or present else set())


def test_a_job_whose_owner_was_taken_away_wakes_the_owner_that_it_had() -> None:
    keys = {
        key for key, _ in on_job(a_job(ETL, "get", "Running"), a_job(ETL, "get", "Running", owner=""), holding(ETL))
    }
    assert keys == {MINE}


def test_a_strangers_job_wakes_whoever_wants_its_name_when_it_comes_and_when_it_goes() -> None:
    stranger = a_job(ETL, "get", "Running", owner="")
    assert {key for key, _ in on_job(None, stranger, holding(ETL))} == {MINE}
    assert {key for key, _ in on_job(stranger, None, holding(ETL))} == {MINE}
    assert {key for key, _ in on_job(stranger, stranger, holding(ETL))} == set()


@pytest.mark.parametrize(("jobflow", "entry"), [("a", "b-c"), ("a-b", "c"), ("a-b-c", "d")])
def test_a_name_belongs_to_whoever_can_make_it_wherever_the_hyphen_divides(jobflow: str, entry: str) -> None:
    wants = a_jobflow(entry, name=jobflow, uid=f"uid-of-{jobflow}")
    stranger = a_job(wants, entry, "Running", owner="")
    others = a_jobflow("unrelated", name="a-x")
    assert [key for key, _ in on_job(stranger, None, holding(wants, others))] == [Key("ml", jobflow)]


def test_a_job_of_no_jobflow_wakes_nobody() -> None:
    other = a_job(a_jobflow("x", name="elsewhere"), "x", "Running", owner="")
    assert list(on_job(None, other, holding(ETL))) == []


def test_a_template_wakes_the_unfinished_jobflows_that_name_it() -> None:
    done = a_jobflow("get", name="done", phase="Succeed")
    jobflows = holding(ETL, done, a_jobflow("other", name="third"))
    assert [key for key, _ in on_jobtemplate(None, a_jobtemplate("get"), jobflows)] == [MINE]
    assert [key for key, _ in on_jobtemplate(a_jobtemplate("get"), None, jobflows)] == [MINE]


def test_a_template_whose_status_alone_changed_wakes_nobody() -> None:
    template = a_jobtemplate("get")
    again = replace(template, metadata=replace(template.metadata, resource_version="8"))
    assert list(on_jobtemplate(template, again, holding(ETL))) == []
    changed = a_jobtemplate("get", spec={"queue": "other"})
    assert [key for key, _ in on_jobtemplate(template, changed, holding(ETL))] == [MINE]


def test_what_was_started_comes_before_what_is_new() -> None:
    started = a_jobflow("get", status={"jobStatusList": [{"name": "etl-get"}]})
    assert priority_of(started) < priority_of(ETL)
    assert list(on_jobflow(None, ETL)) == [(MINE, Priority.NEW)]
    assert list(on_jobflow(ETL, None)) == [(MINE, Priority.NEW)]
