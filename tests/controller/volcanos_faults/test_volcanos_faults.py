"""What is right where Volcano's own controller is wrong, as far as no other test is about it."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from shared.api.meta import Key
from shared.kube.errors import ApiError, Conflict, Forbidden, NotFound, Unavailable
from tests.support.builders import a_jobflow_object
from tests.support.world import World

ROOT: Final = Path(__file__).parents[3]


def a_world(*flows: str, **about: Any) -> World:
    world = World()
    world.template(*(flow.partition(":")[0] for flow in flows))
    world.apply(a_jobflow_object(*flows, **about))
    return world


async def complete(world: World, *jobs: str) -> None:
    for job in jobs:
        world.phase(job, "Running")
        world.phase(job, "Completed")
        await world.settle(1)


FAILURES: Final[list[type[ApiError]]] = [Conflict, Unavailable]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_that_could_not_be_stored_is_stored_as_soon_as_it_can_be(failure: type[ApiError]) -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    world.refusing["patch", "etl"] = lambda: failure("no", status=409)
    world.phase("etl-get", "Failed")
    await world.settle(30)
    assert world.status()["state"]["phase"] == "Pending"
    world.refusing.clear()
    await world.settle(15)
    assert world.status()["state"]["phase"] == "Failed"


async def test_what_was_decided_and_not_stored_is_decided_anew() -> None:
    world = a_world("get")
    await world.settle(1)
    before = world.jobflows.get(Key("ml", "etl"))
    world.refusing["patch", "etl"] = lambda: Unavailable("down", status=503)
    world.phase("etl-get", "Completed")
    await world.settle(5)
    assert world.jobflows.get(Key("ml", "etl")) is before
    assert before is not None
    assert before.phase == "Pending"


async def test_a_controller_that_is_killed_before_succeed_is_stored_deletes_and_repeats_nothing() -> None:
    world = a_world("get", "clean: get", policy="delete")
    await world.settle(1)
    await complete(world, "etl-get")
    world.refusing["patch", "etl"] = lambda: Unavailable("down", status=503)
    world.phase("etl-clean", "Completed")
    await world.settle(5)
    world.start()
    await world.settle(5)
    assert world.jobs_of("etl") == ["etl-clean", "etl-get"]
    world.refusing.clear()
    await world.settle(15)
    assert world.status()["state"]["phase"] == "Succeed"
    assert world.jobs_of("etl") == []
    assert world.creates() == ["etl-get", "etl-clean"]


@pytest.mark.parametrize(("end", "phase"), [("Completed", "Succeed"), ("Failed", "Failed")])
async def test_a_transition_counts_once_however_often_its_write_fails(end: str, phase: str) -> None:
    world = a_world("get")
    await world.settle(1)
    world.refusing["patch", "etl"] = lambda: Conflict("the object has been modified", status=409)
    world.phase("etl-get", end)
    await world.settle(30)
    assert phase not in [after for _, after in world.counts.seen]
    world.refusing.clear()
    await world.settle(60)
    assert [after for _, after in world.counts.seen].count(phase) == 1


async def test_a_finished_jobflow_whose_jobs_have_gone_is_run_no_second_time_by_the_next_controller() -> None:
    world = a_world("get", "clean: get", policy="retain")
    await world.settle(1)
    await complete(world, "etl-get", "etl-clean")
    for job in ("etl-get", "etl-clean"):
        world.remove("Job", job)
    await world.settle(5)
    world.start()
    world.due[Key("ml", "etl")] = world.now
    await world.settle(600)
    assert world.creates() == ["etl-get", "etl-clean"]
    assert world.status()["completedJobs"] == ["etl-clean", "etl-get"]


async def test_jobs_that_all_finish_before_anyone_looks_need_no_further_event() -> None:
    world = a_world("get", "clean")
    await world.settle(1)
    world.phase("etl-get", "Completed")
    world.phase("etl-clean", "Completed")
    await world.turn(Key("ml", "etl"))
    assert world.status()["state"]["phase"] == "Succeed"


async def test_a_terminated_job_fails_the_jobflow_at_once_whatever_runs_beside_it() -> None:
    world = a_world("get", "clean", "count: clean")
    await world.settle(1)
    world.phase("etl-get", "Terminated")
    world.phase("etl-clean", "Completed")
    await world.settle(1)
    assert world.status()["state"]["phase"] == "Failed"
    assert world.creates() == ["etl-get", "etl-clean"]


async def test_a_name_twice_that_slipped_in_is_told_and_finishes_once_it_is_mended() -> None:
    world = a_world("get", "get")
    await world.settle(5)
    assert world.status()["state"]["reason"] == "SpecInvalid"
    jobflow = world.get("JobFlow", "etl")
    world.apply({**jobflow, "spec": {"flows": [{"name": "get"}]}, "metadata": {**jobflow["metadata"], "generation": 2}})
    await world.settle(1)
    await complete(world, "etl-get")
    assert world.status()["state"]["phase"] == "Succeed"


async def test_an_entry_that_is_taken_out_counts_no_more_and_its_job_is_left_alone() -> None:
    world = a_world("get", "clean", policy="delete")
    await world.settle(1)
    await complete(world, "etl-get")
    jobflow = world.get("JobFlow", "etl")
    spec = {**jobflow["spec"], "flows": [{"name": "clean"}]}
    world.apply({**jobflow, "spec": spec, "metadata": {**jobflow["metadata"], "generation": 2}})
    await world.settle(5)
    assert world.status()["state"]["phase"] == "Running"
    await complete(world, "etl-clean")
    assert world.status()["state"]["phase"] == "Succeed"
    assert world.status()["progress"] == "1/1"
    assert world.jobs_of("etl") == ["etl-get"]


async def test_of_two_jobflows_that_want_one_name_each_has_its_own_job_in_its_time() -> None:
    world = World()
    world.template("c", "b-c")
    world.apply(a_jobflow_object("c", name="a-b", uid="first"))
    await world.settle(1)
    world.apply(a_jobflow_object("b-c", name="a", uid="second"))
    await world.settle(1)
    await complete(world, "a-b-c")
    assert world.status("a-b")["state"]["phase"] == "Succeed"
    assert world.status("a")["state"] | {"message": ""} == {
        "phase": "Pending",
        "reason": "JobNameConflict",
        "message": "",
    }
    world.remove("Job", "a-b-c")
    await world.settle(1)
    await complete(world, "a-b-c")
    assert world.status("a")["state"]["phase"] == "Succeed"
    assert world.creates() == ["a-b-c", "a-b-c"]


async def test_after_failed_what_runs_goes_on_and_the_status_stays_true_to_it() -> None:
    world = a_world("get", "clean", "count: clean")
    await world.settle(1)
    world.phase("etl-clean", "Running")
    world.phase("etl-get", "Failed")
    await world.settle(2)
    assert (world.status()["state"]["phase"], world.status()["runningJobs"]) == ("Failed", ["etl-clean"])
    world.phase("etl-clean", "Completed")
    await world.settle(5)
    assert world.status()["state"]["phase"] == "Failed"
    assert world.status()["completedJobs"] == ["etl-clean"]
    assert "runningJobs" not in world.status()
    assert world.creates() == ["etl-get", "etl-clean"]


async def test_a_job_that_is_gone_already_keeps_no_other_from_being_deleted() -> None:
    world = a_world("get", "clean", "count", policy="delete")
    await world.settle(1)
    for job in ("etl-get", "etl-clean", "etl-count"):
        world.phase(job, "Completed")
    world.refusing["delete", "etl-get"] = lambda: NotFound("gone", status=404)
    await world.settle(0)
    assert world.jobs_of("etl") == ["etl-get"]


async def test_the_record_has_the_end_of_every_job_though_the_jobs_are_deleted() -> None:
    world = a_world("get", "clean: get", policy="delete")
    await world.settle(1)
    await complete(world, "etl-get", "etl-clean")
    await world.settle(60)
    assert world.jobs_of("etl") == []
    records = world.status()["jobStatusList"]
    assert [it["state"] for it in records] == ["Completed", "Completed"]
    assert all(it["endTimestamp"] == it["runningHistories"][-1]["startTimestamp"] for it in records)


async def test_the_jobs_of_a_failed_jobflow_stay_for_whoever_looks_for_the_reason() -> None:
    world = a_world("get", "clean", policy="delete")
    await world.settle(1)
    await complete(world, "etl-get")
    world.phase("etl-clean", "Failed")
    await world.settle(60)
    assert world.jobs_of("etl") == ["etl-clean", "etl-get"]


async def test_each_job_is_of_the_template_as_it_is_when_the_job_is_created() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    for name in ("get", "clean"):
        template = world.get("JobTemplate", name)
        spec = {**template["spec"], "queue": "edited"}
        world.apply({**template, "spec": spec, "metadata": {**template["metadata"], "generation": 2}})
    await complete(world, "etl-get")
    assert world.get("Job", "etl-get")["spec"]["queue"] == "default"
    assert world.get("Job", "etl-clean")["spec"]["queue"] == "edited"


async def test_a_template_that_goes_stops_only_what_still_needs_it_until_it_is_back() -> None:
    world = a_world("get", "clean: get", "count: get")
    await world.settle(1)
    world.remove("JobTemplate", "get")
    world.remove("JobTemplate", "clean")
    await complete(world, "etl-get")
    assert world.creates() == ["etl-get", "etl-count"]
    state = world.status()["state"]
    assert (state["phase"], state["reason"]) == ("Running", "TemplateNotFound")
    world.template("clean")
    await world.settle(0)
    assert world.creates() == ["etl-get", "etl-count", "etl-clean"]


async def test_the_history_of_a_job_that_was_seen_without_a_phase_begins_with_its_first_one() -> None:
    world = a_world("get")
    await world.settle(2)
    assert "runningHistories" not in world.status()["jobStatusList"][0]
    world.phase("etl-get", "Pending")
    await world.settle(2)
    world.phase("etl-get", "Running")
    await world.settle(2)
    histories = world.status()["jobStatusList"][0]["runningHistories"]
    assert [it["state"] for it in histories] == ["Pending", "Running"]


async def test_a_jobflow_without_entries_that_slipped_in_is_told_so() -> None:
    world = a_world()
    await world.settle(5)
    state = world.status()["state"]
    assert (state["phase"], state["reason"]) == ("Pending", "SpecInvalid")
    assert "must have at least one entry" in state["message"]


async def test_a_hundred_changes_of_a_job_cost_a_few_writes() -> None:
    world = a_world("get")
    await world.settle(1)
    before = len(world.writes)
    for count in range(100):
        world.phase("etl-get", "Running", taskStatusCount={"work": {"phase": {"Running": count}}})
        await world.settle(0.02)
    await world.settle(5)
    assert 1 <= len(world.writes) - before <= 6
    assert world.status()["conditions"]["etl-get"]["taskStatusCount"]["work"]["phase"] == {"Running": 99}


def test_the_controller_may_make_jobflows_the_owners_that_block_their_deletion() -> None:
    rights = (ROOT / "charts/jobflow/templates/controller-rbac.yaml").read_text()
    lines = [line for line in rights.splitlines() if "{{" not in line]
    rules = [
        rule
        for document in yaml.safe_load_all("\n".join(lines))
        if document and document["kind"] == "ClusterRole"
        for rule in document.get("rules", [])
    ]
    granted = {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert ("flow.volcano.sh", "jobflows/finalizers", "update") in granted


async def test_controllers_in_one_process_have_nothing_in_common() -> None:
    one, other = a_world("get", uid="one"), a_world("get", "clean", uid="other")
    other.refusing["create", "*"] = lambda: Forbidden("no", status=403)
    for world in (one, other):
        await world.settle(1)
    await complete(one, "etl-get")
    await other.settle(1)
    assert one.status()["state"]["phase"] == "Succeed"
    assert other.status()["state"]["phase"] == "Pending"
    assert other.counts.seen == [("", "Pending")]


async def test_a_job_that_is_suspended_and_resumed_brings_its_jobflow_to_succeed() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    for phase in ("Running", "Aborting", "Aborted"):
        world.phase("etl-get", phase)
        await world.settle(2)
    assert world.status()["unKnowJobs"] == ["etl-get"]
    assert world.status()["state"]["phase"] == "Running"
    for phase in ("Restarting", "Pending"):
        world.phase("etl-get", phase)
        await world.settle(2)
    await complete(world, "etl-get", "etl-clean")
    assert world.status()["state"]["phase"] == "Succeed"
