import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.jobflow.cluster import Stored
from shared.api.job import Job
from shared.api.meta import Key
from shared.kube.errors import AlreadyExists, Forbidden, Unavailable
from tests.support.builders import a_jobflow_object
from tests.support.world import World

DIAMOND = ("get", "clean: get", "count: get", "train: clean count")
FLOWS = ("get", "clean", "count", "train")


def a_world(*flows: str, templates: tuple[str, ...] = FLOWS, **about: Any) -> World:
    world = World()
    world.template(*templates)
    world.apply(a_jobflow_object(*(flows or DIAMOND), **about))
    return world


async def complete(world: World, *flows: str) -> None:
    for flow in flows:
        world.phase(f"etl-{flow}", "Running")
        world.phase(f"etl-{flow}", "Completed")
        await world.settle(1)


async def test_a_diamond_runs_in_the_order_of_its_dependencies_and_succeeds() -> None:
    world = a_world()
    await world.settle(1)
    assert world.creates() == ["etl-get"]
    await complete(world, "get")
    assert world.creates() == ["etl-get", "etl-clean", "etl-count"]
    await complete(world, "clean")
    assert len(world.creates()) == 3
    await complete(world, "count")
    assert world.creates()[-1] == "etl-train"
    await complete(world, "train")
    assert world.status()["state"]["phase"] == "Succeed"
    assert world.status()["progress"] == "4/4"
    assert world.counts.seen == [("", "Pending"), ("Pending", "Running"), ("Running", "Succeed")]


@pytest.mark.parametrize("policy", ["retain", "delete"])
async def test_nothing_is_remembered_of_a_jobflow_that_has_finished(policy: str) -> None:
    world = a_world("get", policy=policy)
    await world.settle(1)
    await complete(world, "get")
    await world.settle(30)
    assert world.status()["state"]["phase"] == "Succeed"
    assert world.reconciler._memories == {}


async def test_at_rest_nothing_is_written() -> None:
    world = a_world()
    await world.settle(5)
    before = list(world.writes)
    world.due[Key("ml", "etl")] = world.now
    await world.settle(600)
    assert world.writes == before


async def test_a_flow_costs_a_create_and_about_one_status_write_for_each_job() -> None:
    world = a_world("get", "clean: get", "count: clean", "train: count")
    await world.settle(1)
    for flow in FLOWS:
        await complete(world, flow)
    writes = [verb for verb, _ in world.writes]
    assert writes.count("create") == 4
    assert writes.count("status") <= 4 * 4 + 2


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


async def test_a_controller_that_starts_again_goes_on_where_things_are() -> None:
    world = a_world()
    await world.settle(1)
    await complete(world, "get", "clean")
    world.start()
    await world.settle(1)
    await complete(world, "count")
    world.start()
    await world.settle(1)
    await complete(world, "train")
    assert world.creates() == ["etl-get", "etl-clean", "etl-count", "etl-train"]
    assert world.status()["state"]["phase"] == "Succeed"


async def test_jobs_removed_after_they_completed_stay_done() -> None:
    world = a_world()
    await world.settle(1)
    for flow in FLOWS:
        await complete(world, flow)
        world.remove("Job", f"etl-{flow}")
        await world.settle(2)
    assert sorted(world.creates()) == sorted(f"etl-{flow}" for flow in FLOWS)
    assert world.status()["state"]["phase"] == "Succeed"
    assert world.status()["completedJobs"] == sorted(f"etl-{flow}" for flow in FLOWS)


async def test_a_job_removed_in_the_breath_that_it_completed_counts_by_its_last_sight() -> None:
    world = a_world()
    await world.settle(1)
    world.phase("etl-get", "Completed")
    world.remove("Job", "etl-get")
    await world.settle(2)
    assert world.status()["state"]["phase"] == "Running"
    assert world.creates() == ["etl-get", "etl-clean", "etl-count"]


async def test_a_running_job_that_somebody_deletes_is_lost_and_fails_the_jobflow() -> None:
    world = a_world()
    await world.settle(1)
    world.phase("etl-get", "Running")
    await world.settle(1)
    world.remove("Job", "etl-get")
    await world.settle(1)
    assert world.status()["state"]["reason"] == "JobLost"
    assert world.status()["state"]["phase"] == "Failed"
    assert world.creates() == ["etl-get"]


async def test_a_job_whose_owner_was_taken_away_is_lost_and_the_message_names_it() -> None:
    world = a_world("get")
    await world.settle(1)
    job = world.get("Job", "etl-get")
    world.apply({**job, "metadata": {**job["metadata"], "ownerReferences": []}})
    await world.settle(1)
    assert world.status()["state"]["phase"] == "Failed"
    message = 'Job "etl-get" was lost before it finished: the Job of that name is not, or not any more, of this JobFlow'
    assert world.status()["state"]["message"] == message


async def test_a_cache_that_forgot_a_job_does_not_make_it_lost() -> None:
    world = a_world("get")
    await world.settle(1)
    world.start()
    world.jobs.remove(next(iter(world.jobs)))
    await world.settle(30)
    assert world.status()["state"]["phase"] == "Pending"


async def test_a_template_that_comes_later_wakes_the_jobflow() -> None:
    world = a_world("get", "clean", templates=("clean",))
    await world.settle(1)
    assert world.creates() == ["etl-clean"]
    assert world.status()["state"]["reason"] == "TemplateNotFound"
    world.template("get")
    await world.settle(0)
    assert world.creates() == ["etl-clean", "etl-get"]
    await world.settle(1)
    assert "reason" not in world.status()["state"]


async def test_a_refused_job_is_tried_again_with_growing_pauses_and_told_in_the_servers_words() -> None:
    world = a_world("get", "clean")
    world.refusing["create", "etl-get"] = lambda: Forbidden('queue "x" is closed', status=403)
    attempts: list[float] = []
    original = world._may

    def noting(verb: str, name: str) -> None:
        if (verb, name) == ("create", "etl-get"):
            attempts.append(world.now)
        original(verb, name)

    world._may = noting  # type: ignore[method-assign]
    await world.settle(200)
    assert world.creates() == ["etl-clean"]
    assert world.status()["state"] == {
        "phase": "Pending",
        "reason": "JobRefused",
        "message": 'get waits: queue "x" is closed',
    }
    pauses = [later - earlier for earlier, later in itertools.pairwise(attempts)]
    assert 0.7 <= pauses[0] <= 1.5
    assert all(14 <= pause <= 21 for pause in pauses[5:])
    world.refusing.clear()
    await world.settle(21)
    assert world.creates() == ["etl-clean", "etl-get"]


async def test_a_refused_job_is_tried_at_once_when_its_template_is_mended() -> None:
    world = a_world("get")
    world.refusing["create", "etl-get"] = lambda: Forbidden("invalid", status=403)
    await world.settle(100)
    world.refusing.clear()
    template = world.get("JobTemplate", "get")
    world.apply({**template, "spec": {"queue": "other"}, "metadata": {**template["metadata"], "generation": 2}})
    await world.settle(0)
    assert world.creates() == ["etl-get"]


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


async def test_a_phase_between_two_writes_of_the_status_is_in_the_history_though_the_job_keeps_none() -> None:
    world = a_world("get")
    await world.settle(1)
    for phase in ("Pending", "Running", "Completed"):
        job = world.get("Job", "etl-get")
        world.apply({**job, "status": {"state": {"phase": phase}}})
        world.now += 0.01
    await world.settle(5)
    histories = world.status()["jobStatusList"][0]["runningHistories"]
    assert [each["state"] for each in histories] == ["Pending", "Running", "Completed"]
    assert world.status()["state"]["phase"] == "Succeed"


async def test_a_deleting_jobflow_is_terminating_and_starts_nothing() -> None:
    world = a_world()
    await world.settle(1)
    jobflow = world.get("JobFlow", "etl")
    world.apply({**jobflow, "metadata": {**jobflow["metadata"], "deletionTimestamp": "2026-03-01T12:00:01Z"}})
    world.phase("etl-get", "Completed")
    await world.settle(5)
    assert world.creates() == ["etl-get"]
    assert world.status()["state"]["phase"] == "Terminating"


async def test_one_job_that_cannot_be_created_holds_up_no_other() -> None:
    world = a_world("get", "clean", "count")
    world.refusing["create", "etl-get"] = lambda: Forbidden("no", status=403)
    await world.settle(0)
    assert world.creates() == ["etl-clean", "etl-count"]


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


async def test_a_lost_job_is_told_in_one_write_and_has_an_end() -> None:
    world = a_world("get", "clean")
    await world.settle(1)
    world.phase("etl-get", "Running")
    await world.settle(5)
    before = [verb for verb, _ in world.writes].count("status")
    world.remove("Job", "etl-get")
    await world.settle(60)
    [lost] = [it for it in world.status()["jobStatusList"] if it["name"] == "etl-get"]
    assert lost["state"] == "Lost"
    assert lost["endTimestamp"] == lost["runningHistories"][-1]["startTimestamp"]
    assert [verb for verb, _ in world.writes].count("status") == before + 1


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


async def test_a_suspended_job_is_told_for_nobody_else_will_resume_it() -> None:
    world = a_world("get", "clean: get")
    await world.settle(1)
    world.phase("etl-get", "Aborted")
    await world.settle(5)
    state = world.status()["state"]
    assert (state["phase"], state["reason"]) == ("Pending", "JobSuspended")
    assert "etl-get" in state["message"]
    world.phase("etl-get", "Running")
    await world.settle(5)
    assert "reason" not in world.status()["state"]


async def test_progress_of_a_large_jobflow_is_written_less_often() -> None:
    flows = [f"step-{i:04}" for i in range(1000)]
    world = a_world(*flows, templates=tuple(flows))
    await world.settle(5)
    world.phase("etl-step-0000", "Running")
    await world.settle(5)
    before = len(world.writes)
    for i in range(1, 100):
        world.phase(f"etl-step-{i:04}", "Running")
        await world.settle(0.1)
    written = len(world.writes) - before
    assert 3 <= written <= 20


@pytest.mark.looptime
async def test_the_creates_of_a_wide_jobflow_go_on_while_its_status_is_being_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = [f"step-{i:03}" for i in range(300)]
    world = a_world(*flows, templates=tuple(flows))
    world.moment = asyncio.get_running_loop().time
    create, patch, release = world.create_job, world.patch_jobflow_status, asyncio.Event()
    created_when_written: list[int] = []

    async def slow_create(namespace: str, manifest: bytes) -> Job:
        await asyncio.sleep(0.5)
        return await create(namespace, manifest)

    async def held_patch(key: Key, body: bytes) -> Stored:
        created_when_written.append(len(world.creates()))
        await release.wait()
        return await patch(key, body)

    monkeypatch.setattr(world, "create_job", slow_create)
    monkeypatch.setattr(world, "patch_jobflow_status", held_patch)
    turn = asyncio.ensure_future(world.turn(Key("ml", "etl")))
    await asyncio.sleep(30)
    assert 0 < created_when_written[0] < 300
    assert len(world.creates()) == 300
    release.set()
    await turn
    await world.settle(5)
    assert len(world.status()["jobStatusList"]) == len(world.creates()) == 300


@pytest.mark.looptime
async def test_a_status_that_cannot_be_written_cuts_no_create_short(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [f"step-{i:03}" for i in range(300)]
    world = a_world(*flows, templates=tuple(flows))
    world.moment = asyncio.get_running_loop().time
    create, begun = world.create_job, []

    async def slow_create(namespace: str, manifest: bytes) -> Job:
        begun.append(manifest)
        await asyncio.sleep(0.5)
        return await create(namespace, manifest)

    monkeypatch.setattr(world, "create_job", slow_create)
    world.refusing["patch", "etl"] = lambda: Unavailable("down", status=503)
    await world.turn(Key("ml", "etl"))
    assert 0 < len(world.creates()) < 300
    assert len(begun) == len(world.creates())


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


async def test_entries_added_while_it_runs_are_run() -> None:
    world = a_world("get", templates=("get", "more"))
    await world.settle(1)
    jobflow = world.get("JobFlow", "etl")
    spec = {"flows": [*jobflow["spec"]["flows"], {"name": "more"}]}
    world.apply({**jobflow, "spec": spec, "metadata": {**jobflow["metadata"], "generation": 2}})
    await world.settle(1)
    assert world.creates() == ["etl-get", "etl-more"]


@st.composite
def graphs(draw: st.DrawFn) -> list[str]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 7)))]
    return [
        f"{name}: {' '.join(sorted(draw(st.sets(st.sampled_from(names[:i])))))}" if i else name
        for i, name in enumerate(names)
    ]


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**32), st.sampled_from(["retain", "delete"]))
async def test_every_graph_runs_to_succeed_whatever_lags_fails_or_is_killed(
    flows: list[str], seed: int, policy: str
) -> None:
    world = World(seed=seed)
    random = world.chance
    names = [flow.partition(":")[0] for flow in flows]
    world.template(*names)
    world.apply(a_jobflow_object(*flows, policy=policy))
    targets = {flow.partition(":")[0]: flow.partition(":")[2].split() for flow in flows}
    completed: set[str] = set()
    for _ in range(400):
        match random.randrange(8):
            case 0:
                world.lagging = set(random.sample(["Job", "JobFlow", "JobTemplate"], random.randrange(4)))
            case 1:
                world.deliver()
            case 2:
                world.answers_lost = 1
            case 3 if random.random() < 0.2:
                world.start()
            case _:
                for name in world.jobs_of("etl"):
                    phase = world.get("Job", name).get("status", {}).get("state", {}).get("phase", "")
                    if random.random() < 0.5 and phase != "Completed":
                        world.phase(name, {"": "Pending", "Pending": "Running", "Running": "Completed"}[phase])
                        completed |= {name.removeprefix("etl-")} if phase == "Running" else set()
        before = len(world.creates())
        await world.settle(random.choice([0.0, 0.2, 2.0]))
        for name in world.creates()[before:]:
            assert set(targets[name.removeprefix("etl-")]) <= completed
    world.answers_lost = 0
    world.deliver()
    for _ in range(3 * len(names) + 3):
        for name in world.jobs_of("etl"):
            if world.get("Job", name).get("status", {}).get("state", {}).get("phase") != "Completed":
                world.phase(name, "Completed")
        await world.settle(30)
    assert world.status()["state"]["phase"] == "Succeed"
    assert sorted(world.creates()) == sorted(f"etl-{name}" for name in names)
    assert world.jobs_of("etl") == ([] if policy == "delete" else sorted(f"etl-{name}" for name in names))
