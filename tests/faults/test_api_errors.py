"""C04, C05 and C28: an API server that refuses, fails or is away is asked again, in time and not too often."""

from itertools import pairwise
from pathlib import Path

import pytest

from devcluster.faults import Drop, Fault, Match
from devcluster.player import Rules
from tests.faults.bed import ALONE, Bed, bed
from tests.faults.crashing import diamond, judge, judge_all
from tests.faults.plan import Plan
from tests.faults.recording import Sent
from tests.support.workspace import jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

REQUESTS = [
    {"verb": "create", "resource": "jobs"},
    {"verb": "patch", "resource": "jobflows"},
    {"verb": "delete", "resource": "jobs"},
    {"verb": "patch", "resource": "jobtemplates"},
    {"verb": "get", "resource": "jobflows"},
    {"verb": "list", "resource": "jobflows"},
]
LISTED = ("jobflows", "jobtemplates", "jobs")
WAIT = 2
"""Seconds that the API server asks for with a 429."""

UNDER_WAY = 0.25
"""Seconds within which requests that were sent side by side with the refused one arrive."""


@pytest.mark.parametrize("code", [409, 429, 500, 503, 504])
async def test_any_request_that_fails_is_sent_again_and_not_before_the_server_asked_for_it(tmp_path: Path, code: int):
    do = {"status": code} | ({"retry_after": WAIT} if code == 429 else {})
    lists: Plan = [{"match": {"verb": "list", "resource": it, "nth": n}, "do": do} for it in LISTED for n in (1, 2)]
    async with bed(tmp_path) as it:
        controller = it.new("first", ALONE)
        it.plan(lists, controller)
        await it.restart(controller)
        watches: Plan = [{"match": {"verb": "watch", "resource": it}, "do": do} for it in LISTED]
        for number, request in enumerate(REQUESTS):
            namespace = f"ns-{number}"
            plan: Plan = [{"match": {**request, "namespace": namespace, "nth": n}, "do": do} for n in (1, 2)]
            faults = it.plan(plan, controller)
            # A JobTemplate has nothing to tell of Jobs that are gone at once.
            await it.post(namespace, *diamond("delete" if request["verb"] == "delete" else "retain"))
            await it.until(lambda ns=namespace: it.finished(ns, "etl"), f"{request} is answered {code} twice")
            if request["verb"] not in ("get", "list"):  # how it looks, by a get or a list of one, is its own affair
                await it.until(lambda them=faults: all(fault.seen for fault in them), f"{request} was sent")
            judge(it, namespace)
        it.plan([{**step, "match": {**step["match"], "nth": 1}} for step in watches], controller)
        it.server.cut(controller.name)
        await it.post("last", *diamond("delete"))
        await it.until(lambda: it.finished("last", "etl"), f"the watches were refused with {code}")
        judge(it, "last")
        await judge_all(it)
        assert not too_early(it.server.sent)


def too_early(sent: list[Sent]) -> list[str]:
    """Return what was sent though the server had asked to wait with requests of that kind."""
    early = []
    for refused in (it for it in sent if it.code == 429):
        kind = (refused.verb, refused.resource)
        after = [it for it in sent if (it.verb, it.resource) == kind and UNDER_WAY < it.at - refused.at < WAIT - 0.1]
        early += [f"{it} {it.at - refused.at:.2f} s after {refused}" for it in after]
    return early


async def test_a_server_that_is_away_finds_the_controller_waiting_and_is_not_overrun_when_it_is_back(tmp_path: Path):
    flows = 30
    async with bed(tmp_path, play=Rules(run_seconds=0.3)) as it:
        controller = await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a", "b"), *(jobflow(f"f{n}", "a", "b: a") for n in range(flows)))
        await it.until(lambda: len(it.all("jobs.batch.volcano.sh", "ns")) >= flows, "all have begun")
        most = busiest_second(it.server.sent)
        it.server.faults.add(Fault(Match(user=controller.name), Drop()))
        it.server.cut(controller.name)
        away = it.server.clock.time()
        await it.until(lambda: it.server.clock.time() > away + 12, "the time of the outage has passed")
        assert controller.runs
        it.no_faults()
        back = it.server.clock.time()
        await it.until(lambda: all(it.finished("ns", f"f{n}") for n in range(flows)), "all have succeeded")
        it.check()
        first = [sent for sent in it.server.sent if back <= sent.at < back + 1]
        assert len(first) <= 2 * most, f"{len(first)} requests at once, after {most} in the busiest second before"
        creates = [sent for sent in it.server.writes() if sent.verb == "create" and sent.committed]
        assert len(creates) == 2 * flows


def busiest_second(sent: list[Sent]) -> int:
    return max(sum(1 for it in sent if each.at <= it.at < each.at + 1) for each in sent)


@pytest.mark.parametrize("do", [{"status": 500}, {"delay": 20}, "drop_before"], ids=str)
async def test_events_that_cannot_be_written_hold_up_no_pass(tmp_path: Path, do: object):
    async with bed(tmp_path) as it:
        controller = await it.start("first", ALONE)
        well = await times(it, "well")
        faults = it.plan([{"match": {"resource": "events"}, "do": do}], controller)
        ill = await times(it, "ill")
        await it.until(lambda: sum(fault.seen for fault in faults), "an Event was to be written")
        it.check()
        assert sorted(ill)[len(ill) // 2] <= 2 * sorted(well)[len(well) // 2] + 0.2, (
            f"{ill} with faults, {well} without"
        )


async def times(it: Bed, namespace: str) -> list[float]:
    """Run some JobFlows one after the other, and return how long each took from a Completed to the next create."""
    took = []
    await it.post(namespace, *jobtemplates("a", "b", "c"))
    for number in range(10):
        name = f"f{number}"
        await it.post(namespace, jobflow(name, "a", "b: a", "c: b"))
        await it.until(lambda name=name: it.finished(namespace, name), f"{name} has succeeded")
    creates = [sent for sent in it.server.writes(namespace=namespace) if sent.verb == "create"]
    for before, after in pairwise(creates):
        if before.name.partition("-")[0] == after.name.partition("-")[0]:
            took.append(after.at - before.at)
    return took
