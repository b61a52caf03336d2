import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.jobtemplate.reconcile import PATIENCE, PAUSE, JobTemplateReconciler
from controller.jobtemplate.status import (
    LONGEST,
    TEMPLATE,
    jobs_made,
    on_job,
    on_jobtemplate,
    template_keys,
    template_of,
)
from controller.runtime.turns import Turns
from shared.api.job import Job
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.kube.cache import Cache
from shared.kube.errors import NotFound
from tests.support.builders import a_jobflow, a_jobtemplate_object
from tests.support.seeing import a_job

ETL = a_jobflow("get")


def made_from(template: str, job: str = "etl-get", **about: Any) -> Job:
    return a_job(
        ETL,
        "get",
        "Running",
        metadata={"name": job, "annotations": {"volcano.sh/createdByJobTemplate": template}},
        **about,
    )


@pytest.mark.parametrize(
    ("job", "template"),
    [
        pytest.param(made_from("ml.get"), Key("ml", "get"), id="the annotation says it"),
        pytest.param(made_from("ml.get.v2"), Key("ml", "get.v2"), id="a name may have dots"),
        pytest.param(made_from("other.get"), None, id="another namespace's template is not told"),
        pytest.param(made_from("get"), None, id="an annotation without namespace says nothing"),
        pytest.param(made_from("ml.get", owner=""), None, id="a Job that no JobFlow controls does not count"),
    ],
)
def test_a_job_is_of_the_template_that_its_annotation_names(job: Job, template: Key | None) -> None:
    assert template_of(job) == template


def test_a_job_that_only_runs_on_touches_no_template() -> None:
    assert list(on_job(made_from("ml.get"), made_from("ml.get"))) == []
    assert list(on_job(None, made_from("ml.get"))) == [Key("ml", "get")]
    assert list(on_job(made_from("ml.get"), None)) == [Key("ml", "get")]
    assert list(on_job(made_from("ml.get"), made_from("ml.other"))) == [Key("ml", "get"), Key("ml", "other")]


def test_a_template_whose_status_somebody_wrote_is_looked_at() -> None:
    plain, written = a_template(), a_template("stranger")
    assert list(on_jobtemplate(None, plain)) == [Key("ml", "get")]
    assert list(on_jobtemplate(plain, written)) == [Key("ml", "get")]
    assert list(on_jobtemplate(plain, plain)) == []
    assert list(on_jobtemplate(plain, None)) == []


@given(st.sets(st.integers(0, 3000)))
def test_the_list_is_sorted_and_capped(numbers: set[int]) -> None:
    names = jobs_made(made_from("ml.get", f"job-{number:04}") for number in numbers).job_depends_on_list
    assert list(names) == sorted(f"job-{number:04}" for number in numbers)[:LONGEST]


def test_of_more_than_a_thousand_jobs_a_thousand_are_named() -> None:
    names = jobs_made(made_from("ml.get", f"job-{number:04}") for number in range(1200)).job_depends_on_list
    assert list(names) == [f"job-{number:04}" for number in range(1000)]


def a_template(*jobs: str) -> JobTemplate:
    obj = a_jobtemplate_object("get") | {"status": {"jobDependsOnList": list(jobs)}}
    return msgspec.json.decode(json.dumps(obj).encode(), type=JobTemplate)


class Server:
    """The API server, the caches, and a clock."""

    def __init__(self, *jobs: str) -> None:
        self.now = 0.0
        self.templates: Cache[JobTemplate] = Cache()
        self.jobs: Cache[Job] = Cache({TEMPLATE: template_keys})
        self.templates.put(a_template())
        self.written: list[list[str]] = []
        self.gone = False
        for job in jobs:
            self.jobs.put(made_from("ml.get", job))
        self.writes = Turns(1)
        self.reconciler = JobTemplateReconciler(
            self.templates, self.jobs, self, writes=self.writes, monotonic=lambda: self.now
        )

    async def patch_jobtemplate_status(self, key: Key, patch: bytes) -> JobTemplate:
        if self.gone:
            raise NotFound("gone", status=404)
        guard, add = json.loads(patch)
        assert guard["path"] == "/metadata/resourceVersion"
        self.written.append(add["value"].get("jobDependsOnList", []))
        self.templates.replace([])
        self.templates = self.reconciler._templates = Cache()  # type: ignore[assignment]
        template = a_template(*self.written[-1])
        self.templates.put(template)
        return template

    async def turn(self) -> float | None:
        return await self.reconciler.reconcile(Key("ml", "get"))


async def test_the_status_names_the_jobs_that_exist_and_shrinks_when_they_go() -> None:
    server = Server("b", "a")
    await server.turn()
    server.now = PAUSE
    server.jobs.remove(made_from("ml.get", "a"))
    await server.turn()
    server.now = 2 * PAUSE
    server.jobs.remove(made_from("ml.get", "b"))
    await server.turn()
    assert server.written == [["a", "b"], ["b"], []]


async def test_a_status_that_is_true_is_not_written() -> None:
    server = Server()
    assert await server.turn() is None
    assert server.written == []


async def test_a_template_is_written_once_in_five_seconds_and_always_truly_in_the_end() -> None:
    server = Server("a")
    await server.turn()
    server.jobs.put(made_from("ml.get", "b"))
    server.now = 1.0
    assert await server.turn() == PAUSE - 1.0
    server.jobs.put(made_from("ml.get", "c"))
    server.now = PAUSE
    await server.turn()
    assert server.written == [["a"], ["a", "b", "c"]]


async def test_a_status_makes_way_for_writes_that_somebody_waits_for_but_not_for_ever() -> None:
    server = Server("a")
    async with server.writes.of("another"):
        assert await server.turn() == PAUSE
        server.now = PATIENCE - 1
        assert await server.turn() == PAUSE
        server.now = PATIENCE
        late = asyncio.ensure_future(server.turn())
        await asyncio.sleep(0)
        assert server.written == []  # it has its place among the others now
    await late
    assert server.written == [["a"]]


async def test_a_template_that_is_gone_is_no_failure() -> None:
    server = Server("a")
    server.gone = True
    assert await server.turn() is None
