"""Several controllers as processes on one API server: one works, and what befalls it makes another one work in time."""

import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from devcluster.faults import Delay, Drop, Match
from tests.support.kubectl import VOLCANO_JOBS, Kubectl
from tests.support.programs import Program
from tests.support.replicas import LEASE, NAMESPACE, Embedded, Replica, Replicas, replicated
from tests.support.waiting import eventually
from tests.support.workspace import jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("leader"), pytest.mark.timeout(240)]

SERVERS = ["embedded", pytest.param("real", marks=pytest.mark.real)]
GUARDED = 5.0
"""Seconds that a write may be on its way."""

CHAIN = [f"s{number}" for number in range(5)]


@pytest.fixture(params=SERVERS)
def replicas(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicas]:
    with replicated(request.param, tmp_path) as replicas:
        replicas.kubectl.apply(*jobtemplates("get", *CHAIN))
        yield replicas


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Replicas]:
    with replicated("embedded", tmp_path) as replicas:
        replicas.kubectl.apply(*jobtemplates("get", *CHAIN))
        yield replicas


def pair(replicas: Replicas) -> tuple[Replica, Replica]:
    """Start two, and return the one that leads and the one that stands by."""
    leader = replicas.start("first")
    assert eventually(lambda: leads(leader), 5)
    return leader, replicas.start("second")


def leads(replica: Replica) -> bool:
    with urllib.request.urlopen(replica.metrics, timeout=5) as answer:
        return f'leader_election_master_status{{name="{LEASE}"}} 1.0' in answer.read().decode()


def post(kubectl: Kubectl, name: str) -> float:
    """Post a JobFlow, and return when."""
    kubectl.apply(jobflow(name, "get"))
    return time.monotonic()


def works_on(kubectl: Kubectl, name: str, within: float) -> bool:
    return eventually(lambda: kubectl.get(VOLCANO_JOBS, f"{name}-get"), within, 0.05)


def ended(replica: Replica, within: float) -> int | None:
    """Return the exit code of a replica that has to end by itself."""
    process = replica._process
    assert process
    assert eventually(lambda: process.poll() is not None, within, 0.02), f"it runs on:\n{replica.tail()}"
    return process.returncode


def send(replica: Replica, number: signal.Signals) -> None:
    assert replica._process
    os.kill(replica._process.pid, number)


def test_one_works_and_the_other_knows_everything_and_writes_nothing(replicas: Replicas) -> None:
    leader, other = pair(replicas)
    post(replicas.kubectl, "etl")
    assert works_on(replicas.kubectl, "etl", 5)
    assert replicas.writes(leader)
    assert not replicas.writes(other)
    assert not leads(other)
    for each in (leader, other):
        for probe in ("healthz", "readyz"):
            with urllib.request.urlopen(f"{each.health}/{probe}", timeout=5) as answer:
                assert answer.status == 200


def test_after_a_kill_another_writes_within_20_seconds_and_after_a_clean_stop_within_3(replicas: Replicas) -> None:
    first, second = pair(replicas)
    first.kill()
    killed = time.monotonic()
    post(replicas.kubectl, "etl")
    assert works_on(replicas.kubectl, "etl", 20 - (time.monotonic() - killed))
    assert leads(second)
    third = replicas.start("third")
    before = replicas.lease()["leaseTransitions"]

    asked = time.monotonic()
    post(replicas.kubectl, "other")  # one that comes while one leaves
    assert second.stop() == 0
    stopped = time.monotonic()
    assert stopped - asked < 10
    post(replicas.kubectl, "later")
    assert works_on(replicas.kubectl, "later", 3 - (time.monotonic() - stopped))
    assert works_on(replicas.kubectl, "other", 3)
    assert leads(third)
    assert replicas.lease()["leaseTransitions"] == before + 1
    assert "lease released" in [line["msg"] for line in second.said()]


@pytest.mark.parametrize("seconds", [5, 20])
def test_a_leader_that_was_stopped_for_long_sends_nothing_any_more(replicas: Replicas, seconds: int) -> None:
    leader, other = pair(replicas)
    with busy(replicas):
        assert eventually(lambda: len(replicas.writes(leader)) > 50)
        send(leader, signal.SIGSTOP)
        stopped = datetime.now(UTC)
        time.sleep(seconds)
        continued = datetime.now(UTC)
        send(leader, signal.SIGCONT)
        if seconds < 10:
            assert eventually(lambda: any(sent.at > continued for sent in replicas.writes(leader)), 5)
            assert leads(leader)
            assert not replicas.writes(other)
            return
        assert ended(leader, 1) == 1
        assert eventually(lambda: replicas.writes(other), 5)
        time.sleep(2)  # for the audit log
    took_over = datetime.fromisoformat(replicas.lease()["acquireTime"])
    assert took_over < continued
    late = [sent for sent in replicas.writes(leader) if sent.at > stopped + timedelta(seconds=GUARDED)]
    assert not late, late
    assert said_why(leader, "lost the lease")


def busy(replicas: Replicas) -> Program:
    """Many JobFlows, and a player for as long as the block lasts: whoever leads has always something to write."""
    replicas.kubectl.apply(
        *(jobflow(f"busy-{n}", CHAIN[0], *(f"{b}: {a}" for a, b in pairwise(CHAIN))) for n in range(60))
    )
    arguments = ["play", f"--kubeconfig={replicas.kubectl.kubeconfig}", "--delay=0.5", "--speed=2"]
    return Program("devcluster", arguments, replicas.kubectl.kubeconfig.parent / "player.log")


def said_why(replica: Replica, what: str) -> bool:
    """Whether its last word was one clear line."""
    last = replica.said()[-1]
    return last["level"] == "error" and what in last["msg"] and "Traceback" not in replica.tail()


def test_a_leader_whose_lease_is_stolen_or_deleted_ends_within_10_seconds(embedded: Replicas) -> None:
    kubectl = embedded.kubectl.within(NAMESPACE)
    first, second = pair(embedded)
    kubectl("patch", "lease", LEASE, "--type=merge", "--patch", '{"spec":{"holderIdentity":"a-thief"}}')
    assert ended(first, 10) == 1
    assert said_why(first, "held by a-thief")
    post(embedded.kubectl, "etl")
    assert works_on(embedded.kubectl, "etl", 20)
    assert leads(second)

    third = embedded.start("third")
    kubectl("delete", "lease", LEASE)
    assert ended(second, 10) == 1
    assert said_why(second, "somebody has deleted it")
    post(embedded.kubectl, "later")
    assert works_on(embedded.kubectl, "later", 20)
    assert leads(third)


def test_a_leader_whose_renewals_take_8_seconds_ends_within_10_and_the_other_takes_over(embedded: Replicas) -> None:
    first, second = pair(embedded)
    server = cast("Embedded", embedded.server)
    server.plan(Match("update", "leases"), Delay(8))
    slow = time.monotonic()
    assert ended(first, 10.2) == 1
    assert said_why(first, "not renewed for 10 s")
    server.no_faults()
    post(embedded.kubectl, "etl")
    assert works_on(embedded.kubectl, "etl", slow + 30 - time.monotonic())
    assert leads(second)


def test_without_an_api_server_a_leader_ends_and_started_again_stays_up_unready_and_then_works(
    embedded: Replicas,
) -> None:
    server = cast("Embedded", embedded.server)
    leader = embedded.start("only")
    assert eventually(lambda: leads(leader), 5)
    server.plan(Match(), Drop())
    assert ended(leader, 10.5) == 1
    leader.kill()
    leader.launch()
    assert eventually(lambda: said(leader, "list or watch failed"), 10)
    assert leader.runs
    with pytest.raises(urllib.error.HTTPError) as unready:
        urllib.request.urlopen(f"{leader.health}/readyz", timeout=5)
    assert unready.value.code == 503
    unready.value.close()
    server.no_faults()
    back = time.monotonic()
    embedded.kubectl.apply(jobflow("etl", "get"))
    assert works_on(embedded.kubectl, "etl", back + 31 - time.monotonic())


def said(replica: Replica, what: str) -> bool:
    return any(line["msg"] == what for line in replica.said())
