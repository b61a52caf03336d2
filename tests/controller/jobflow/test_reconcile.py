import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api.meta import Key
from shared.kube.errors import Forbidden
from tests.support.builders import a_jobflow_object
from tests.support.world import FLOWS, World, a_world, complete


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


async def test_the_end_of_a_job_counts_though_its_owner_was_taken_away_before_its_jobflow_was_known() -> None:
    world = a_world("get")
    await world.settle(1)
    jobflow = world.get("JobFlow", "etl")
    world.phase("etl-get", "Completed")
    world.start()
    world.jobflows.remove(next(iter(world.jobflows)))  # the JobFlows are listed last
    job = world.get("Job", "etl-get")
    world.apply({**job, "metadata": {**job["metadata"], "ownerReferences": []}})
    world.apply(jobflow)
    await world.settle(5)
    assert world.status()["state"]["phase"] == "Succeed"


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
