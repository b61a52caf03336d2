"""C06 to C08 and C10 to C12: watches that fall silent, lie or end, and what happened while nobody watched."""

import asyncio
import os
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from devcluster.faults import Break, Call, Drop, Fault, Freeze, Match, Valve
from devcluster.player import Rules
from tests.faults.bed import ALONE, JOBFLOWS, JOBS, Bed, bed
from tests.faults.crashing import FEWEST, MOST, diamond, happened, judge, judge_all
from tests.faults.frontends import Behind
from tests.faults.plan import Plan
from tests.simulation.store import phase_of
from tests.support.replicas import Replica
from tests.support.workspace import jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

WATCHED = ("jobflows", "jobtemplates", "jobs")
BY_HAND = pytest.mark.skipif(not os.environ.get("JOBFLOW_CAMPAIGN"), reason="takes minutes: set JOBFLOW_CAMPAIGN=1")
SILENT = 30.0 if os.environ.get("JOBFLOW_CAMPAIGN") else 1.3
"""Seconds that a watch is silent. More than one is long enough for whoever trusts a cache to act on what is old."""


@pytest.mark.parametrize("resource", WATCHED)
async def test_a_watch_that_falls_silent_at_any_write_has_nothing_done_twice_or_too_early(
    tmp_path: Path, resource: str
):
    async with bed(tmp_path) as it:
        controller = it.new("first", ALONE)
        valve = Valve()
        valve.opened.set()
        it.server.faults.add(Fault(Match("watch", resource, user=controller.name), valve))
        await it.restart(controller)
        for k in range(1, MOST + 1, 2):
            namespace = f"ns-{k}"
            shut = Fault(Match("write", namespace=namespace, user=controller.name), Call(valve.opened.clear), k)
            it.server.faults.add(shut)
            await it.post(namespace, *diamond("delete" if k % 4 == 1 else "retain"))
            if not await happened(it, [shut], namespace):
                assert k > FEWEST
                break
            await asyncio.sleep(SILENT)
            valve.opened.set()
            await it.until(lambda ns=namespace: it.finished(ns, "etl"), f"{namespace} has succeeded")
            judge(it, namespace)
        await judge_all(it)


@pytest.mark.parametrize("by", [1, 3, 10, 30])
async def test_a_front_end_that_is_behind_has_nothing_done_twice_or_taken_back(tmp_path: Path, by: int):
    async with bed(tmp_path, play=Rules(run_seconds=0.05)) as it:
        await it.post("before", *jobtemplates(*(f"t{number}" for number in range(by))))  # it knows the kinds, at least
        controller = await it.start("first", ALONE)
        for k in (3, 7, 11):
            namespace = f"ns-{k}"
            plan: Plan = [{"match": {"verb": "write", "namespace": namespace, "nth": k}, "do": "kill"}]
            faults = it.plan(plan, controller)
            await it.post(namespace, *diamond())
            assert await happened(it, faults, namespace)
            it.no_faults()
            async with Behind(it.server, by) as behind:
                it.connect(controller, behind)
                await it.restart(controller)
                await asyncio.sleep(1.5)  # it works with what it knows
                it.check()
                behind.catch_up()
                await it.until(lambda ns=namespace: it.finished(ns, "etl"), f"{namespace} has succeeded")
                judge(it, namespace)
                controller.kill()
            it.connect(controller, it.server)
            await it.restart(controller)
        await judge_all(it)


@BY_HAND
async def test_a_watch_that_is_open_and_silent_for_ever_is_opened_again_within_150_seconds(tmp_path: Path):
    async with bed(tmp_path) as it:
        controller = it.new("first", ALONE)
        for resource in WATCHED:
            it.server.faults.add(Fault(Match("watch", resource, user=controller.name), Freeze(), nth=1))
        await it.restart(controller)
        await it.post("ns", *diamond())
        await it.until(lambda: it.finished("ns", "etl"), "it has succeeded", 160)
        judge(it, "ns")


LINES = {
    "410": "410",
    "truncated": "truncate",
    "no JSON": "bad_json",
    "closed": "close",
    "twice": "duplicate",
    "late": {"lag": 0.2},
}
WRONG = {
    "unknown kind": b'{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Teapot","metadata":{"name":"x"}}}\n',
    "no metadata": b'{"type":"MODIFIED","object":{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job"}}\n',
    "no object": b'{"type":"ADDED"}\n',
    "unknown type": b'{"type":"TELEPORTED","object":{"kind":"Job","metadata":{"name":"x","resourceVersion":"5"}}}\n',
    "an error in the stream": b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd is gone"}}\n',
    "a line of 3 MB": b'{"type":"MODIFIED","object":' + b'"' + b"x" * 3_000_000 + b'"}\n',
}


@pytest.mark.parametrize("kind", [*LINES, *WRONG])
async def test_whatever_a_watch_brings_the_cache_is_as_the_server_afterwards(tmp_path: Path, kind: str):
    async with bed(tmp_path) as it:
        controller = it.new("first", ALONE)
        for resource in WATCHED:
            for nth in (1, 2):
                if kind in LINES:
                    it.plan(
                        [{"match": {"verb": "watch", "resource": resource, "nth": nth}, "do": LINES[kind]}], controller
                    )
                else:
                    match = Match("watch", resource, user=controller.name)
                    it.server.faults.add(Fault(match, Break(nth, WRONG[kind]), nth))
        await it.restart(controller)
        await it.post("ns", *diamond())
        await it.post("other", *diamond("delete"))
        for namespace in ("ns", "other"):
            await it.until(lambda ns=namespace: it.finished(ns, "etl"), f"{namespace} has succeeded")
            judge(it, namespace)
        await judge_all(it)
        await it.until(lambda: known(controller) == there(it), "the cache has what the server has")
        assert controller.runs


def known(controller: Replica) -> Counter[str]:
    """Return how many JobFlows a controller knows in each phase."""
    with urllib.request.urlopen(controller.metrics, timeout=5) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    samples = [sample for family in families for sample in family.samples if sample.name == "jobflow_jobflows"]
    return +Counter({sample.labels["phase"]: int(sample.value) for sample in samples})


def there(it: Bed) -> Counter[str]:
    return Counter(phase_of(flow) for flow in it.all(JOBFLOWS))


@pytest.mark.parametrize(
    "what", ["job completed", "job completed and deleted", "job deleted", "jobflow made anew", "jobflow deleted"]
)
async def test_what_happened_while_nobody_watched_is_seen_in_the_next_list(tmp_path: Path, what: str):
    async with bed(tmp_path, play=None) as it:
        controller = await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a", "b"), jobflow("etl", "a", "b: a"))
        await it.until(lambda: it.all(JOBS, "ns"), "a has been created")
        await it.phase("ns", "etl-a", "Running")
        await it.until(lambda: it.status("ns", "etl").get("runningJobs"), "it is seen to run")
        first = it.get(JOBFLOWS, "ns", "etl")["metadata"]["uid"]
        it.server.faults.add(Fault(Match(user=controller.name), Drop()))
        it.server.cut(controller.name)
        if what.startswith("job completed"):
            await it.phase("ns", "etl-a", "Completing")
            await it.phase("ns", "etl-a", "Completed")
        if what in ("job completed and deleted", "job deleted"):
            await it.delete(JOBS, "ns", "etl-a")
        if what.startswith("jobflow"):
            await it.delete(JOBFLOWS, "ns", "etl")
        if what == "jobflow made anew":
            await it.post("ns", jobflow("etl", "a", "b: a"))
        await it.until(lambda: what.startswith("job c") or not lives(it, first), "the Jobs of what is gone are gone")
        it.server.store.compact()
        it.no_faults()
        match what:
            case "job completed":
                await it.until(lambda: len(it.all(JOBS, "ns")) == 2, "b has been created")
                await it.phase("ns", "etl-b", "Completed")
                await it.until(lambda: it.finished("ns", "etl"), "it has succeeded")
            case "job completed and deleted" | "job deleted":
                await it.until(lambda: it.finished("ns", "etl", "Failed"), "it has failed")
                assert it.status("ns", "etl")["state"]["reason"] == "JobLost"
            case "jobflow made anew":
                await it.until(lambda: it.all(JOBS, "ns"), "its own Job is there")
                (job,) = it.all(JOBS, "ns")
                assert job["metadata"]["ownerReferences"][0]["uid"] == it.get(JOBFLOWS, "ns", "etl")["metadata"]["uid"]
            case "jobflow deleted":
                await it.post("next", *jobtemplates("a"), jobflow("etl", "a"))
                await it.until(lambda: it.all(JOBS, "next"), "another one is worked on")
                assert not it.all(JOBS, "ns")
        # The Job that completed and went while nobody looked is lost, as far as anybody can know.
        it.server.judge.violations[:] = [
            each
            for each in it.server.judge.violations
            if what != "job completed and deleted" or not each.startswith("I5")
        ]
        it.check()


def lives(it: Bed, uid: str) -> bool:
    """Whether a JobFlow of that uid has Jobs in phase Running."""
    mine = [job for job in it.all(JOBS, "ns") if job["metadata"]["ownerReferences"][0]["uid"] == uid]
    return bool(mine)


async def test_a_jobflow_that_is_deleted_and_made_anew_at_any_write_has_nothing_of_the_first(tmp_path: Path):
    async with bed(tmp_path) as it:
        controller = await it.start("first", ALONE)
        tasks = []
        for k in range(1, MOST + 1):
            namespace = f"ns-{k}"

            async def anew(namespace: str = namespace) -> None:
                await it.delete(JOBFLOWS, namespace, "etl")
                await it.post(namespace, diamond()[-1])

            again = Fault(
                Match("write", namespace=namespace, user=controller.name),
                Call(lambda anew=anew: tasks.append(asyncio.create_task(anew()))),
                k,
            )
            it.server.faults.add(again)
            await it.post(namespace, *diamond())
            if not await happened(it, [again], namespace):
                assert k > FEWEST
                break
            it.no_faults()
            await asyncio.gather(*tasks)
            await it.until(lambda ns=namespace: it.finished(ns, "etl"), f"the second of {namespace} has succeeded")
            await it.until(lambda ns=namespace: len(it.all(JOBS, ns)) == 4, "the Jobs of the first are gone")
            it.check()
        await judge_all(it)
