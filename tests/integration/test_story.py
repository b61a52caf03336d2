"""What `kubectl describe` tells of a JobFlow, and that no work depends on it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from devcluster.faults import Delay, Drop, Match
from tests.support.kubectl import VOLCANO_JOBS, Kubectl
from tests.support.programs import Program
from tests.support.replicas import Embedded, Replica, Replicas, replicated
from tests.support.waiting import eventually
from tests.support.workspace import a_job, jobflow, jobtemplates

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("story"), pytest.mark.timeout(180)]

NAMES = ("get", "clean", "count", "train")
DIAMOND = ("get", "clean: get", "count: get", "train: clean count")


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def replicas(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicas]:
    with replicated(request.param, tmp_path) as replicas:
        replicas.kubectl.apply(*jobtemplates(*NAMES))
        yield replicas


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Replicas]:
    with replicated("embedded", tmp_path) as replicas:
        replicas.kubectl.apply(*jobtemplates(*NAMES))
        yield replicas


def player(replicas: Replicas) -> Program:
    arguments = ["play", f"--kubeconfig={replicas.kubectl.kubeconfig}", "--delay=0.1", "--speed=10"]
    return Program("devcluster", arguments, replicas.kubectl.kubeconfig.parent / "player.log")


def story(kubectl: Kubectl, name: str) -> list[tuple[str, str, str]]:
    """Type, reason and message of each line that `kubectl describe` shows under Events."""
    shown = kubectl("describe", "jobflow", name).partition("Events:")[2]
    lines = re.findall(r"^ +(Normal|Warning) +(\w+) +[^ ]+(?: \(.*\))? +jobflow-controller +(.*)$", shown, re.MULTILINE)
    return [(kind, reason, words.strip()) for kind, reason, words in lines]


def wait_for(kubectl: Kubectl, name: str, *reasons: str) -> list[tuple[str, str, str]]:
    """Wait until the story has all of `reasons`, and return it."""
    assert eventually(lambda: set(reasons) <= {it[1] for it in story(kubectl, name)}), story(kubectl, name)
    return story(kubectl, name)


def phase(kubectl: Kubectl, name: str) -> str:
    found = kubectl.get("jobflow", name) or {}
    return str(found.get("status", {}).get("state", {}).get("phase"))


def test_describe_reads_as_a_story(replicas: Replicas) -> None:
    kubectl = replicas.kubectl
    replicas.start("only")
    with player(replicas):
        kubectl.apply(jobflow("etl", *DIAMOND, policy="delete"))
        told = wait_for(kubectl, "etl", "JobsCreated", "JobFlowSucceeded", "JobsDeleted")
    assert {kind for kind, _, _ in told} == {"Normal"}
    assert told[0] == ("Normal", "JobsCreated", 'Created Job "etl-get"')
    assert [reason for _, reason, _ in told][-2:] == ["JobFlowSucceeded", "JobsDeleted"]
    assert ("Normal", "JobFlowSucceeded", "All 4 Jobs have completed") in told
    assert len(told) <= 2 + len(NAMES)


def test_what_goes_wrong_is_told_once(replicas: Replicas) -> None:
    kubectl = replicas.kubectl
    replicas.start("only")
    kubectl.apply(
        a_job("taken-get"), jobflow("taken", "get"), jobflow("untold", "nowhere"), jobflow("etl", "get", "clean")
    )
    assert wait_for(kubectl, "untold", "TemplateNotFound") == [
        ("Warning", "TemplateNotFound", 'nowhere waits: JobTemplate "nowhere" does not exist; create it')
    ]
    ((kind, _, words),) = wait_for(kubectl, "taken", "JobNameConflict")
    assert kind == "Warning"
    assert '"taken-get"' in words
    kubectl("wait", "--for=create", f"{VOLCANO_JOBS}/etl-clean", "--timeout=20s")
    kubectl.patch_status(VOLCANO_JOBS, "etl-get", {"state": {"phase": "Failed"}})
    kubectl("delete", VOLCANO_JOBS, "etl-clean")
    told = wait_for(kubectl, "etl", "JobFailed", "JobFlowFailed", "JobLost")
    assert ("Warning", "JobFailed", 'Job "etl-get" has failed') in told
    assert len(told) == len({(reason, words) for _, reason, words in told})
    assert len(story(kubectl, "untold")) == 1


def test_a_refusal_is_told_in_the_words_of_the_api_server(replicas: Replicas) -> None:
    kubectl = replicas.kubectl
    replicas.start("only")
    replicas.forbid("create")
    kubectl.apply(jobflow("etl", "get"))
    ((kind, _, words),) = wait_for(kubectl, "etl", "JobRefused")
    assert kind == "Warning"
    assert words.startswith("get waits: jobs.batch.volcano.sh is forbidden")


@pytest.mark.parametrize("fault", [Drop(), Delay(20)], ids=["down", "slow"])
def test_without_events_work_goes_on_as_ever(embedded: Replicas, fault: Drop | Delay) -> None:
    kubectl, server = embedded.kubectl, cast("Embedded", embedded.server)
    replica = embedded.start("only")
    with player(embedded):
        took = [seconds(kubectl, f"before-{n}") for n in range(3)]
        server.plan(Match("", "events"), fault)
        without = [seconds(kubectl, f"without-{n}") for n in range(3)]
    assert min(without) < 2 * max(took) + 1
    began = time.monotonic()
    assert replica.stop() == 0
    assert time.monotonic() - began < 10
    assert no_trouble(replica)


def seconds(kubectl: Kubectl, name: str) -> float:
    """How long a diamond takes."""
    began = time.monotonic()
    kubectl.apply(jobflow(name, *DIAMOND))
    assert eventually(lambda: phase(kubectl, name) == "Succeed", 20, 0.05)
    return time.monotonic() - began


def no_trouble(replica: Replica) -> bool:
    return not [line for line in replica.said() if line["level"] in ("warning", "error")]
