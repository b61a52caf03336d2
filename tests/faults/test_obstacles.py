"""C17, C19 and C20: causes that hold a JobFlow up, specs that slipped in while the webhook was down, and tampering."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.bed import ALONE, JOBFLOWS, JOBS, JOBTEMPLATES, Bed, bed
from tests.faults.plan import Plan
from tests.simulation.store import Object
from tests.support.replicas import Replica
from tests.support.workspace import a_job, jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

FAN = ("a", "b: a", "c: a", "d: b c")
"""What is in the way is always in b's; c is the other branch."""

WATCHED, POLLED = 5.0, 25.0
"""Seconds until a cause that is mended has its effect, where it is watched and where it is tried again (1 s and 20 s
on a machine that has nothing else to do)."""

REFUSED = {
    "refused by a webhook": (403, 'admission webhook "jobs.volcano.sh" denied the request: not today'),
    "invalid to a webhook": (422, 'Job.batch.volcano.sh "etl-b" is invalid: spec.queue: Not found'),
    "a closed queue": (403, "can only submit job to queue with state `Open`, queue `default` status is `Closed`"),
    "over quota": (403, "exceeded quota: jobs, requested: count/jobs=1, used: 10, limited: 10"),
}


@pytest.mark.parametrize("cause", REFUSED)
async def test_a_job_that_is_refused_holds_up_its_branch_alone_and_is_tried_until_it_is_taken(
    tmp_path: Path, cause: str
):
    code, message = REFUSED[cause]
    async with bed(tmp_path) as it:
        controller = await it.start("first", ALONE)
        match = {"verb": "create", "resource": "jobs", "namespace": "ns"}
        await it.post("ns", *jobtemplates("a", "b", "c", "d"))
        # The first create is a's: it may be.
        plan: Plan = [{"match": {**match, "nth": n}, "do": {"status": code, "message": message}} for n in (2, 4, 5)]
        it.plan(plan, controller)
        await it.post("ns", jobflow("etl", *FAN))
        await held_up(it, "JobRefused", message)
        await it.until(lambda: it.finished("ns", "etl"), "it has succeeded", POLLED + 20)
        await events_are_few(it, controller, "JobRefused")
        it.check()


async def held_up(it: Bed, reason: str, *words: str) -> str:
    """Wait until one branch has completed, and the status says why the other has not begun; return its entry."""

    def waiting() -> set[str]:
        return {"b", "c"} - {name[-1] for name in it.status("ns", "etl").get("completedJobs") or ()}

    def so() -> bool:
        state = it.status("ns", "etl").get("state") or {}
        told = state.get("reason") == reason and all(word in state.get("message", "") for word in words)
        return told and len(waiting()) == 1

    await it.until(so, f"one branch has completed, and the status says {reason} {words}")
    assert it.phase_of("ns", "etl") == "Running"
    (entry,) = waiting()
    return entry


async def events_are_few(it: Bed, controller: Replica, reason: str) -> None:
    """One Event, and no more than one change of it a minute."""

    def told() -> list[Object]:
        return [event for event in it.all("events", "ns") if event.get("reason") == reason]

    await it.until(told, f"there is an Event {reason}")
    assert len(told()) == 1, [event.get("note") for event in told()]
    sent = [each for each in it.server.sent if each.resource == "events" and each.name == told()[0]["metadata"]["name"]]
    assert len(sent) <= 2, sent


async def test_a_template_that_is_missing_holds_up_its_branch_alone_until_it_is_there(tmp_path: Path):
    async with bed(tmp_path) as it:
        controller = await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a", "c", "d"), jobflow("etl", *FAN))
        await held_up(it, "TemplateNotFound", '"b"')
        await it.post("ns", *jobtemplates("b"))
        took = await it.until(lambda: it.finished("ns", "etl"), "it has succeeded")
        assert took < WATCHED
        await events_are_few(it, controller, "TemplateNotFound")
        it.check()


async def test_a_template_that_is_being_deleted_counts_until_it_is_gone(tmp_path: Path):
    async with bed(tmp_path) as it:
        await it.start("first", ALONE)
        held = jobtemplates("a", "b", "c", "d")
        held[1]["metadata"]["finalizers"] = ["tests.example/hold"]
        await it.post("ns", *held)
        await it.delete(JOBTEMPLATES, "ns", "b")
        await it.post("ns", jobflow("etl", *FAN))
        await it.until(lambda: it.finished("ns", "etl"), "it has succeeded")
        it.check()


async def test_a_template_whose_job_cannot_be_is_mended_by_changing_it(tmp_path: Path):
    async with bed(tmp_path, play=None) as it:
        controller = await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a", "b", "c", "d"), jobflow("etl", *FAN))
        await it.until(lambda: it.all(JOBS, "ns"), "a is there")
        refusal = {"status": 422, "message": "spec.tasks[0].replicas: Invalid value: -1"}
        it.plan(
            [{"match": {"verb": "create", "resource": "jobs", "nth": n}, "do": refusal} for n in (1, 3, 4)], controller
        )
        await it.phase("ns", "etl-a", "Completed")
        status = partial(it.status, "ns", "etl")
        await plays_on(it, lambda: len(status().get("completedJobs") or ()) == 2, "one branch has completed")
        entry = await held_up(it, "JobRefused", "replicas")
        it.no_faults()
        await it.change(JOBTEMPLATES, "ns", entry, lambda template: template["spec"].update(minAvailable=2))
        took = await it.until(lambda: it.server.store.get(JOBS, "ns", f"etl-{entry}"), f"{entry} is there")
        assert took < WATCHED
        assert it.get(JOBS, "ns", f"etl-{entry}")["spec"]["minAvailable"] == 2
        it.check()


async def test_a_strangers_job_makes_room_when_it_goes(tmp_path: Path):
    async with bed(tmp_path, play=None) as it:
        await it.start("first", ALONE)
        await it.post("ns", a_job("etl-b"), *jobtemplates("a", "b", "c", "d"))
        before = it.get(JOBS, "ns", "etl-b")
        await it.post("ns", jobflow("etl", *FAN))
        for job in ("etl-a", "etl-c"):
            await it.until(lambda job=job: it.server.store.get(JOBS, "ns", job), f"{job} is there")
            await it.phase("ns", job, "Completed")
        await held_up(it, "JobNameConflict", '"etl-b"')
        assert it.get(JOBS, "ns", "etl-b") == before
        await it.delete(JOBS, "ns", "etl-b")
        took = await it.until(lambda: it.server.store.get(JOBS, "ns", "etl-b"), "there is room for our own")
        assert took < WATCHED
        it.check()


def flows(obj: Object) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = obj["spec"]["flows"]
    return entries


def depends(obj: Object, at: int, *targets: str) -> None:
    flows(obj)[at]["dependsOn"] = {"targets": list(targets)}


EDITS: dict[str, Callable[[Object], object]] = {
    "an entry more": lambda it: flows(it).append({"name": "e", "dependsOn": {"targets": ["a"]}}),
    "an entry more that nobody waits for": lambda it: flows(it).append({"name": "e"}),
    "an entry less": lambda it: flows(it).pop(),
    "an entry less that has begun": lambda it: it["spec"].update(flows=[{"name": "b"}, {"name": "c"}]),
    "another name for an entry": lambda it: flows(it)[3].update(name="e"),
    "fewer dependencies": lambda it: depends(it, 3, "c"),
    "more dependencies": lambda it: depends(it, 2, "a", "b"),
    "another policy": lambda it: it["spec"].update(jobRetainPolicy="delete"),
}
NONSENSE: dict[str, Callable[[Object], object]] = {
    "a cycle": lambda it: depends(it, 1, "d"),
    "an entry twice": lambda it: flows(it).append({"name": "d"}),
    "an unknown target": lambda it: depends(it, 3, "nobody"),
    "nothing": lambda it: it["spec"].update(flows=[]),
}


async def begun(it: Bed) -> None:
    """Run the JobFlow until a has completed, and b and c have not."""
    await it.post("ns", *jobtemplates("a", "b", "c", "d", "e"), jobflow("etl", *FAN))
    await it.until(lambda: it.all(JOBS, "ns"), "a is there")
    await it.phase("ns", "etl-a", "Completed")
    await it.until(lambda: len(it.all(JOBS, "ns")) == 3, "b and c are there")
    await it.until(lambda: it.phase_of("ns", "etl") == "Running", "its status says so")


async def plays_on(it: Bed, done: Callable[[], bool], what: str) -> None:
    """Complete every Job until something is so."""

    async def play() -> None:
        while True:
            for job in it.all(JOBS, "ns"):
                if not job.get("status") and "deletionTimestamp" not in job["metadata"]:
                    await it.phase("ns", job["metadata"]["name"], "Completed")
            await asyncio.sleep(0.02)

    playing = asyncio.create_task(play())
    try:
        await it.until(done, what)
    finally:
        playing.cancel()


@pytest.mark.parametrize("edit", EDITS)
async def test_an_edit_that_slipped_in_runs_as_the_spec_says_now(tmp_path: Path, edit: str):
    async with bed(tmp_path, play=None) as it:
        controller = await it.start("first", ALONE)
        await begun(it)
        await it.change(JOBFLOWS, "ns", "etl", EDITS[edit])
        await plays_on(it, lambda: it.finished("ns", "etl"), "it has succeeded")
        if edit == "an entry less that has begun":
            assert it.get(JOBS, "ns", "etl-a"), "the Job of an entry that was taken out is left alone"
        it.check()
        assert controller.runs


@pytest.mark.parametrize("edit", NONSENSE)
async def test_an_edit_that_makes_no_sense_starts_nothing_and_is_mended(tmp_path: Path, edit: str):
    async with bed(tmp_path, play=None) as it:
        controller = await it.start("first", ALONE)
        await begun(it)
        good = it.get(JOBFLOWS, "ns", "etl")["spec"]
        await it.change(JOBFLOWS, "ns", "etl", NONSENSE[edit])
        await it.until(lambda: it.status("ns", "etl")["state"].get("reason") == "SpecInvalid", "it says SpecInvalid")
        for job in ("etl-b", "etl-c"):
            await it.phase("ns", job, "Completed")
        done = ["etl-a", "etl-b", "etl-c"]
        await it.until(lambda: it.status("ns", "etl").get("completedJobs") == done, "the status stays true")
        assert it.phase_of("ns", "etl") == "Running"
        assert len(it.all(JOBS, "ns")) == 3
        await it.change(JOBFLOWS, "ns", "etl", lambda flow: flow.update(spec=good))
        await plays_on(it, lambda: it.finished("ns", "etl"), "it has succeeded")
        it.check()
        assert controller.runs


async def test_a_succeed_that_a_user_has_written_deletes_nothing_that_has_not_completed(tmp_path: Path):
    async with bed(tmp_path, play=None) as it:
        await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a", "b"), jobflow("etl", "a", "b", policy="delete"))
        await it.until(lambda: len(it.all(JOBS, "ns")) == 2, "both are there")
        await it.phase("ns", "etl-a", "Completed")
        await it.phase("ns", "etl-b", "Running")
        succeed = lambda flow: flow.setdefault("status", {}).setdefault("state", {}).update(phase="Succeed")  # noqa: E731
        await it.change(JOBFLOWS, "ns", "etl", succeed, "status")
        await it.until(lambda: not it.server.store.get(JOBS, "ns", "etl-a"), "what has completed is deleted")
        await asyncio.sleep(1)
        assert it.get(JOBS, "ns", "etl-b"), "what runs goes on"
        it.check()


TAMPERED: dict[str, tuple[str, str, str, Callable[[Object], object]]] = {
    "the status emptied": (JOBFLOWS, "etl", "status", lambda flow: flow.update(status={})),
    "a list with strangers in it": (
        JOBFLOWS,
        "etl",
        "status",
        lambda flow: flow["status"].update(completedJobs=["x", "a"], jobStatusList=[]),
    ),
    "a phase that is none": (JOBFLOWS, "etl", "status", lambda flow: flow["status"]["state"].update(phase="Nonsense")),
    "a job's phase that is none": (JOBS, "etl-b", "status", lambda job: job.update(status={"state": {"phase": "Wat"}})),
    "a job's labels gone": (JOBS, "etl-b", "", lambda job: job["metadata"].update(labels={}, annotations={})),
    "finalizers put on a job": (JOBS, "etl-b", "", lambda job: job["metadata"].update(finalizers=["tests.example/x"])),
    "a job's status gone": (JOBS, "etl-a", "status", lambda job: job.update(status={})),
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_tampering_changes_nothing_of_the_end(tmp_path: Path, what: str):
    storage, name, subresource, tamper = TAMPERED[what]
    async with bed(tmp_path, play=None) as it:
        controller = await it.start("first", ALONE)
        await begun(it)
        await it.until(lambda: it.status("ns", "etl").get("completedJobs"), "a is told to be Completed")
        await (
            it.force(storage, "ns", name, tamper)
            if "is none" in what
            else it.change(storage, "ns", name, tamper, subresource)
        )
        await asyncio.sleep(0.5)
        for job in ("etl-a", "etl-b", "etl-c"):
            await it.phase("ns", job, "Completed")
        await plays_on(it, lambda: it.finished("ns", "etl"), "it has succeeded")
        assert len(it.all(JOBS, "ns")) == 4
        it.check()
        assert controller.runs


async def test_a_job_whose_owner_was_taken_away_is_lost_and_left_alone(tmp_path: Path):
    async with bed(tmp_path, play=None) as it:
        await it.start("first", ALONE)
        await begun(it)
        await it.change(JOBS, "ns", "etl-b", lambda job: job["metadata"].update(ownerReferences=[]))
        await it.until(lambda: it.finished("ns", "etl", "Failed"), "it has failed")
        state = it.status("ns", "etl")["state"]
        assert (state["reason"], "etl-b" in state["message"]) == ("JobLost", True)
        assert it.get(JOBS, "ns", "etl-b")
        it.check()
