"""The clusters that the integration suite runs on: it is the same suite on all of them.

The server is the embedded one or a real kube-apiserver; the CRDs of JobFlow and JobTemplate are ours or Volcano's. Each
cluster is started once and has both programs as real processes; each test gets a namespace of its own in it.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.support.cluster import Cluster, running_cluster
from tests.support.programs import Program
from tests.support.workspace import Workspace

CLUSTERS = [
    # One group for each: with several workers, none starts a cluster that another has already.
    pytest.param((server, crds), id=f"{server}-{crds}", marks=[*marks, pytest.mark.xdist_group(f"{server}-{crds}")])
    for server, marks in (("embedded", []), ("real", [pytest.mark.real]))
    for crds in ("ours", "volcano")
]

numbers = count(10)
"""Of namespaces: two digits and more, so that a name's length does not depend on which tests are run."""

running: list[Cluster] = []


@pytest.fixture(scope="session", params=CLUSTERS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server, crds = request.param
    with running_cluster(server, crds, tmp_path_factory.mktemp(f"{server}-{crds}")) as cluster:
        running.append(cluster)
        yield cluster
        running.remove(cluster)


@pytest.fixture
def ns(cluster: Cluster) -> Iterator[Workspace]:
    """A namespace of the test's own, on a cluster whose two programs run."""
    for program in (cluster.webhook, cluster.controller):
        if not program.runs:
            program.kill()
            program.start()
    name = f"test-{next(numbers)}"
    cluster.kubectl("create", "namespace", name)
    kubectl = cluster.kubectl.within(name)
    yield Workspace(cluster, kubectl, kubectl.version("jobs"))
    kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.fixture
def player(ns: Workspace) -> Iterator[Program]:
    """Every Job of the test's namespace runs for a moment and completes."""
    with ns.cluster.player(ns.name) as player:
        yield player


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show what the programs said last beside a failure."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]
        for cluster in running:
            for program in (cluster.controller, cluster.webhook):
                report.sections.append((f"log of the {program.module}", program.tail()))  # type: ignore[attr-defined]
    return report
