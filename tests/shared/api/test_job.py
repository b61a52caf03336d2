"""Jobs and JobTemplates, as far as the programs look at them."""

import msgspec

from shared.api.job import Job
from shared.api.job_spec import JobTemplateInFull
from shared.api.jobtemplate import JobTemplate
from tests.support.builders import a_job_spec, a_jobtemplate_object


def owned_by(*owners):
    return msgspec.convert({"metadata": {"ownerReferences": list(owners)}}, Job)


def test_the_owner_of_a_job_is_the_one_that_controls_it():
    assert owned_by({"uid": "a"}, {"uid": "b", "controller": True}).owner_uid == "b"
    assert owned_by({"uid": "a"}, {"uid": "b", "controller": False}).owner_uid == ""
    assert owned_by().owner_uid == ""


def test_a_job_that_nobody_has_looked_at_has_no_phase():
    assert msgspec.convert({"status": {}}, Job).phase == ""


def test_a_jobtemplate_keeps_what_it_does_not_know():
    text = b'{"metadata":{"name":"a"},"spec":{"tasks":[],"newerThanUs":{"a":[1.50]}}}'
    assert bytes(msgspec.json.decode(text, type=JobTemplate).spec) == b'{"tasks":[],"newerThanUs":{"a":[1.50]}}'


def test_the_spec_of_a_jobtemplate_is_read_for_those_who_judge_it():
    task = a_job_spec()["tasks"][0]
    built = a_jobtemplate_object(spec=a_job_spec(tasks=[{**task, "dependsOn": {"name": ["x"]}}], plugins={"svc": []}))
    template = msgspec.convert(built, JobTemplateInFull)
    assert template.tasks[0].template.spec.containers[0].image == "busybox:1.36"
    assert template.tasks[0].depends_on.name == ("x",)
    assert template.spec.plugins == {"svc": ()}
    assert msgspec.convert({}, JobTemplateInFull).tasks == ()
