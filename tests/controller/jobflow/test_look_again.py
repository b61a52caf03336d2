"""A look at what is new sees what a look at everything would see."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.jobflow import one_pass
from controller.jobflow.look import look, take_snapshot
from controller.jobflow.memory import Look, Memory
from controller.jobflow.plan import starts, template_version
from controller.jobflow.progress import progress_of
from controller.jobflow.snapshot import Snapshot
from shared.api.jobflow import FINISHED
from shared.api.meta import Key
from shared.kube.errors import Forbidden
from tests.support.builders import a_jobflow_object
from tests.support.world import World

DAG = ("a", "b: a", "c: a", "d: b c", "e", "f: e d")
NAMES = ("a", "b", "c", "d", "e", "f")
PHASES = ("Pending", "Running", "Completing", "Completed", "Failed", "Aborted", "Restarting", "Odd")

a_flow = st.sampled_from(NAMES)
a_step = st.one_of(
    st.tuples(st.just("phase"), a_flow, st.sampled_from(PHASES)),
    st.tuples(st.just("phase"), a_flow, st.sampled_from(["Running", "Completed", "Completed"])),
    st.tuples(st.just("remove"), a_flow, st.just("")),
    st.tuples(st.just("disown"), a_flow, st.just("")),
    st.tuples(st.just("stranger"), a_flow, st.just("")),
    st.tuples(st.just("template"), a_flow, st.sampled_from(["gone", "there"])),
    st.tuples(st.just("lag"), st.just(""), st.sampled_from(["Job", "JobFlow", "none"])),
    st.tuples(st.just("refuse"), a_flow, st.sampled_from(["yes", "no"])),
)


def made_from(seen: Snapshot) -> dict[str, tuple[str, bytes]]:
    return {name: (template_version(it), bytes(it.spec)) for name, it in seen.templates.items()}


class Compared:
    """Stands for `look`, and looks at everything beside it."""

    def __init__(self) -> None:
        self.of_news = 0

    def __call__(self, jobflow: Any, caches: Any, memory: Memory, **moments: Any) -> Look:
        before = memory.look
        fresh = copy.copy(memory)
        fresh.created, fresh.departed = dict(memory.created), dict(memory.departed)
        found = look(jobflow, caches, memory, **moments)
        if not moments["absent"]:
            seen = take_snapshot(jobflow, caches, fresh, moments["now"], moments["moment"])
            # A JobFlow that has finished starts nothing, and nobody is told of a template's new status.
            if jobflow.phase not in FINISHED:
                assert made_from(found.seen) == made_from(seen)
            assert found.seen == replace(seen, templates=found.seen.templates)
            assert found.progress == progress_of(seen)
            if before and found.ripe is not None:
                ready_before = {it.flow for it in starts(before.seen, before.progress)}
                ready = {it.flow for it in starts(found.seen, found.progress)}
                assert ready - ready_before <= {flow.name for flow in found.ripe}
            assert set(memory.created) == set(fresh.created)
        self.of_news += found.ripe is not None
        return found


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    compared = Compared()
    monkeypatch.setattr(one_pass, "look", compared)
    return compared


async def happens(world: World, what: str, flow: str, how: str) -> None:
    job = f"etl-{flow}"
    there = ("Job", Key("ml", job)) in world.objects
    if what == "phase" and there:
        world.phase(job, how)
    elif what == "remove" and there:
        world.remove("Job", job)
    elif what == "disown" and there:
        obj = world.get("Job", job)
        world.apply({**obj, "metadata": {**obj["metadata"], "ownerReferences": []}})
    elif what == "stranger" and not there:
        world.apply({"kind": "Job", "metadata": {"name": job, "namespace": "ml"}, "spec": {}})
    elif what == "template":
        if how == "there":
            world.template(flow)
        elif ("JobTemplate", Key("ml", flow)) in world.objects:
            world.remove("JobTemplate", flow)
    elif what == "lag":
        world.deliver()
        world.lagging = {how} - {"none"}
    elif what == "refuse":
        world.refusing.pop(("create", job), None)
        if how == "yes":
            world.refusing["create", job] = lambda: Forbidden("quota", status=403)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(a_step, st.sampled_from([0.0, 0.05, 0.3, 2.0])), max_size=30))
async def test_a_look_at_what_is_new_sees_what_a_look_at_everything_would_see(steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(one_pass, "look", Compared())
        world = World()
        world.template(*NAMES)
        world.apply(a_jobflow_object(*DAG))
        await world.settle(0)
        for (what, flow, how), seconds in steps:
            await happens(world, what, flow, how)
            await world.settle(seconds)


async def test_the_phase_of_a_job_costs_no_look_at_everything(compared: Compared) -> None:
    world = World()
    world.template(*NAMES)
    world.apply(a_jobflow_object(*DAG))
    await world.settle(5)
    world.phase("etl-a", "Running")
    await world.settle(5)
    before = compared.of_news
    world.phase("etl-a", "Completed")
    await world.settle(0)
    assert "etl-b" in world.creates()
    assert compared.of_news > before
