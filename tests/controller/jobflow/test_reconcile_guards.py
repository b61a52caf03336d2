"""What the controller must not do, and what it does when somebody else has."""

from controller.jobflow.build import build_job
from controller.jobflow.cluster import Stored
from shared.api.meta import Key
from shared.kube.errors import AlreadyExists, Forbidden, Unavailable
from tests.support.builders import a_jobflow_object, a_jobtemplate
from tests.support.world import World, a_world, complete


async def test_a_job_is_not_created_twice_though_the_cache_never_shows_it() -> None:
    world = a_world()
    world.lagging = {"Job", "JobFlow"}
    await world.settle(120)
    world.due[Key("ml", "etl")] = world.now
    await world.settle(120)
    assert world.creates() == ["etl-get"]
    world.deliver()
    await complete(world, "get")
    assert world.creates() == ["etl-get", "etl-clean", "etl-count"]


async def test_a_create_whose_answer_was_lost_is_found_again() -> None:
    world = a_world()
    world.lagging = {"Job"}
    world.answers_lost = 1
    await world.settle(10)
    assert world.creates() == ["etl-get"]
    assert world.status()["pendingJobs"] == ["etl-get"]


async def test_a_status_write_whose_answer_was_lost_counts_once() -> None:
    world = a_world("get")
    await world.settle(1)
    world.phase("etl-get", "Completed")
    world.answers_lost = 1
    await world.settle(10)
    assert world.status()["state"]["phase"] == "Succeed"
    assert [after for _, after in world.counts.seen].count("Succeed") <= 1


async def test_a_strangers_job_is_told_never_touched_and_makes_room_when_it_goes() -> None:
    world = World()
    world.template("get")
    stranger = {
        "kind": "Job",
        "metadata": {"name": "etl-get", "namespace": "ml"},
        "status": {"state": {"phase": "Completed"}},
    }
    world.apply(stranger)
    world.apply(a_jobflow_object("get", policy="delete"))
    await world.settle(60)
    assert world.creates() == []
    assert world.status()["state"]["reason"] == "JobNameConflict"
    assert world.status().get("jobStatusList") is None
    world.remove("Job", "etl-get")
    await world.settle(0)
    assert world.creates() == ["etl-get"]


async def test_a_strangers_job_that_the_cache_does_not_show_is_never_adopted() -> None:
    world = World()
    world.template("get")
    world.lagging = {"Job"}
    world.apply({"kind": "Job", "metadata": {"name": "etl-get", "namespace": "ml"}})
    world.apply(a_jobflow_object("get"))
    await world.settle(5)
    assert world.status()["state"]["reason"] == "JobNameConflict"
    assert world.creates() == []


async def test_a_name_that_was_given_up_while_it_was_asked_for_is_no_conflict() -> None:
    world = a_world("get")
    world.refusing["create", "etl-get"] = lambda: AlreadyExists("already exists", status=409)
    await world.settle(0)
    world.refusing.clear()
    await world.settle(0.5)
    assert world.creates() == ["etl-get"]


async def test_a_jobflow_created_again_under_its_name_does_not_take_over_the_jobs_of_the_first() -> None:
    world = a_world("get", "clean: get", uid="first")
    await world.settle(1)
    await complete(world, "get")
    world.remove("JobFlow", "etl")
    world.apply(a_jobflow_object("get", "clean: get", uid="second"))
    await world.settle(5)
    assert world.creates() == ["etl-get", "etl-clean"]
    for name in world.jobs_of("etl"):
        world.remove("Job", name)
    await world.settle(1)
    assert world.creates() == ["etl-get", "etl-clean", "etl-get"]


async def test_nothing_is_created_for_a_jobflow_that_is_gone_though_the_cache_still_shows_it() -> None:
    world = a_world("get")
    world.lagging = {"JobFlow"}
    world.remove("JobFlow", "etl")
    await world.settle(60)
    assert world.writes == []


async def test_nothing_is_created_for_a_jobflow_that_finished_unseen() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    world.lagging = {"JobFlow"}
    jobflow = world.get("JobFlow", "etl")
    world.apply({**jobflow, "status": {**jobflow["status"], "state": {"phase": "Failed"}}})
    world.now += 5
    await complete(world, "get")
    assert world.creates() == ["etl-get"]


async def test_nothing_is_created_for_the_first_of_two_jobflows_of_one_name_while_the_cache_still_shows_it() -> None:
    world = a_world("get", "clean: get", uid="first")
    await world.settle(1)
    world.lagging = {"JobFlow"}
    world.remove("JobFlow", "etl")
    world.apply(a_jobflow_object("get", "clean: get", uid="second"))
    world.now += 5
    await complete(world, "get")
    assert world.creates() == ["etl-get"]


async def test_nothing_is_created_from_a_spec_that_is_another_by_now() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    world.lagging = {"JobFlow"}
    jobflow = world.get("JobFlow", "etl")
    world.apply({**jobflow, "spec": {"flows": [{"name": "get"}]}, "metadata": {**jobflow["metadata"], "generation": 2}})
    world.now += 5
    await complete(world, "get")
    assert world.creates() == ["etl-get"]
    assert world.status()["state"]["phase"] == "Succeed"


async def test_succeed_is_stored_before_any_job_is_deleted() -> None:
    world = a_world("get", "clean: get", policy="delete")
    await world.settle(1)
    await complete(world, "get")
    world.refusing["patch", "etl"] = lambda: Unavailable("down", status=503)
    world.phase("etl-clean", "Completed")
    await world.settle(5)
    assert world.jobs_of("etl") == ["etl-clean", "etl-get"]
    world.refusing.clear()
    await world.settle(5)
    assert world.jobs_of("etl") == []
    assert world.writes[-3:] == [("status", "etl"), ("delete", "etl-get"), ("delete", "etl-clean")]
    assert world.status()["completedJobs"] == ["etl-clean", "etl-get"]


async def test_a_look_that_forbids_is_taken_again_at_once_and_not_believed_for_a_second() -> None:
    world = a_world("get", policy="delete")
    await world.settle(1)
    world.now += 5
    world.phase("etl-get", "Running")
    world.phase("etl-get", "Completed")
    world.answers_lost = 1
    await world.settle(0.9)
    assert world.jobs_of("etl") == []


async def test_what_was_refused_is_not_tried_again_once_the_jobflow_has_failed() -> None:
    world = a_world("get", "clean")
    world.refusing["create", "etl-get"] = lambda: Forbidden("no", status=403)
    await world.settle(0)
    world.phase("etl-clean", "Failed")
    await world.settle(600)
    assert world.status()["state"]["phase"] == "Failed"
    assert world.creates() == ["etl-clean"]


async def test_what_a_live_look_shows_to_have_been_created_is_not_created_again_though_it_is_gone() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    await complete(world, "get")
    jobflow = world.get("JobFlow", "etl")
    another = a_world("get", "clean: get")  # as it was before etl-clean was created, with nothing remembered
    another.objects |= {key: obj for key, obj in world.objects.items() if key[1].name != "etl-clean"}
    unlisted = {**jobflow["status"], "jobStatusList": jobflow["status"]["jobStatusList"][:1]}
    another.objects["JobFlow", Key("ml", "etl")] = {**jobflow, "status": unlisted}
    another.start()
    another.version, another.writes = world.version + 10, []
    another.lagging = {"JobFlow"}
    another.apply(jobflow)  # another controller has created it, and told so; then somebody deleted it
    another.due = {Key("ml", "etl"): 0.0}
    await another.settle(5)
    assert another.creates() == []


async def test_nothing_is_created_for_a_jobflow_that_was_just_seen_to_be_gone() -> None:
    world = a_world()
    await world.settle(1)
    world.phase("etl-get", "Running")
    await world.settle(0)  # the answer to this write of the status would allow creates for a second
    world.lagging = {"JobFlow"}
    world.remove("JobFlow", "etl")
    world.phase("etl-get", "Completing")
    await world.settle(0.6)
    world.phase("etl-get", "Completed")
    await world.settle(0.3)
    assert world.creates() == ["etl-get"]


async def test_a_spec_that_slipped_in_broken_is_told_and_starts_nothing() -> None:
    world = a_world("get", "clean: gett", templates=("get", "clean"))
    await world.settle(5)
    assert world.creates() == []
    assert world.status()["state"] == {
        "phase": "Pending",
        "reason": "SpecInvalid",
        "message": 'spec.flows[1].dependsOn.targets[0]: Not found: "gett": names no entry of spec.flows; '
        'did you mean "get"?',
    }


async def test_what_another_controller_creates_and_somebody_deletes_during_a_live_look_is_not_created_again() -> None:
    world = a_world("get")
    look = world.get_jobflow

    async def slow_look(key: Key) -> Stored:
        found = await look(key)
        if not world.creates():
            await world.create_job(
                "ml", build_job(found.jobflow, found.jobflow.flows[0], a_jobtemplate("get")), lambda: None
            )
            world.remove("Job", "etl-get")
        return found

    world.get_jobflow = slow_look  # type: ignore[method-assign]
    await world.settle(5)
    assert world.creates() == ["etl-get"]
    assert world.status()["state"]["reason"] == "JobLost"
