"""C22, C23: a restart with ten thousand JobFlows costs no write and little memory; a poisoned one delays no other."""

import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.faults.bed import ALONE, JOBFLOWS, JOBTEMPLATES, Bed, bed
from tests.support.replicas import Replica
from tests.support.workspace import jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

FINISHED = 10_000
GOOD = 200
POISON = "poison"


def put_finished(it: Bed, number: int) -> None:
    """Put JobFlows into the store as they are long after their end."""
    template = it.get(JOBFLOWS, "ns", "f")
    for n in range(number):
        name = f"f{n}"
        template["metadata"] |= {"name": name, "uid": f"00000000-0000-0000-0000-{n:012}"}
        template["status"] = {
            "state": {"phase": "Succeed"},
            "completedJobs": [f"{name}-a"],
            "jobStatusList": [{"name": f"{name}-a", "state": "Completed"}],
            "progress": "1/1",
            "observedGeneration": 1,
        }
        it.server.store.put(JOBFLOWS, template, None)


async def test_a_restart_among_ten_thousand_finished_jobflows_lists_by_pages_and_writes_nothing(tmp_path: Path):
    async with bed(tmp_path, play=None) as it:
        await it.post("ns", *jobtemplates("a"), jobflow("f", "a"))
        put_finished(it, FINISHED)
        await it.delete(JOBFLOWS, "ns", "f")
        for _ in range(2):
            replica = it.replicas.get("first") or it.new("first", ALONE)
            it.server.sent.clear()
            await it.restart(replica)
            await it.until(lambda replica=replica: looked_at(replica) >= FINISHED, "it has looked at all of them")
            assert not it.server.writes(), "nothing needs to be written"
            lists = [sent for sent in it.server.sent if (sent.verb, sent.resource) == ("list", "jobflows")]
            assert len(lists) >= FINISHED / 500, "the list came in pages"
            assert resident(replica) < 250, "MB"
            assert replica.stop() == 0
        it.check()


def looked_at(replica: Replica) -> float:
    """Return how many passes over JobFlows a controller has made."""
    with urllib.request.urlopen(replica.metrics, timeout=5) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    passes = (sample for family in families for sample in family.samples)
    name = "controller_runtime_reconcile_total"
    return sum(it.value for it in passes if it.name == name and it.labels["controller"] == "jobflow")


def resident(replica: Replica) -> float:
    """Return the memory of a controller in MB."""
    assert replica._process
    for line in Path(f"/proc/{replica._process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("its memory is not told")


async def test_a_jobflow_that_is_refused_for_ever_delays_no_other(tmp_path: Path):
    async with bed(tmp_path) as it:
        controller = await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a"))
        alone = await time_of(it, "alone")
        it.plan([{"match": {"name": POISON, "subresource": "status"}, "do": {"status": 500}}], controller)
        await it.post("ns", jobflow(POISON, "a"))
        beside = await time_of(it, "beside")
        tried = [sent for sent in it.server.writes() if sent.name == POISON]
        assert tried
        it.check()
        assert len(tried) < 40, "it is tried less and less often"
        assert beside < 1.5 * alone + 0.5, f"{beside:.1f} s beside it, {alone:.1f} s without"
        it.no_faults()
        await it.until(lambda: it.finished("ns", POISON), "it has succeeded once it was let", 40)


async def time_of(it: Bed, prefix: str) -> float:
    """Return how long some JobFlows take that are posted at once."""
    await it.post("ns", *(jobflow(f"{prefix}-{n}", "a") for n in range(GOOD)))
    return await it.until(lambda: all(it.finished("ns", f"{prefix}-{n}") for n in range(GOOD)), "all have succeeded")


async def test_jobtemplates_of_many_jobs_are_written_every_five_seconds_at_most(tmp_path: Path):
    async with bed(tmp_path) as it:
        await it.start("first", ALONE)
        await it.post("ns", *jobtemplates("a"))
        took = await time_of(it, "f")
        await it.until(it.templates_are_true, "the template tells of its Jobs")
        writes = [sent for sent in it.server.writes() if sent.resource == "jobtemplates"]
        assert len(writes) <= 2 + (took + 6) / 5
        assert len(it.get(JOBTEMPLATES, "ns", "a")["status"]["jobDependsOnList"]) == GOOD
        it.check()
