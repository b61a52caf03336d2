"""What Kubernetes itself does to JobFlows: namespaces that go, garbage collection, and all of it with programs down.

A19 to A24, D01 to D12 and R07 of the fault catalogue, on the embedded API server and on a real one.
"""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.integration.conftest import CLUSTERS
from tests.support.cluster import PATIENCE
from tests.support.kubectl import VOLCANO_JOBS, as_yaml
from tests.support.programs import Program
from tests.support.waiting import eventually
from tests.support.workspace import Workspace, jobflow, jobtemplates

OURS = [each for each in CLUSTERS if str(each.id).endswith("-ours")]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("cluster", OURS, indirect=True),
]

GONE_WITHIN = 60.0
"""Seconds that a namespace may take to go."""

FLOW = jobflow("etl", "get", "train: get")


@pytest.fixture
def running(ns: Workspace) -> Workspace:
    """A namespace in which a JobFlow runs."""
    ns.kubectl.apply(*jobtemplates("get", "train"), FLOW)
    ns.play("etl-get", "Running")
    ns.wait_for_status("etl", runningJobs=["etl-get"])
    return ns


def is_gone(ns: Workspace, within: float = GONE_WITHIN) -> bool:
    return eventually(lambda: ns.kubectl.run("get", "namespace", ns.name).returncode != 0, within)


def goes(ns: Workspace) -> None:
    """Delete the namespace, and see that it ends."""
    ns.kubectl("delete", "namespace", ns.name, "--wait=false")
    assert is_gone(ns), ns.kubectl.run("get", "namespace", ns.name, "-o", "yaml").stdout


@pytest.fixture
def without(running: Workspace) -> Iterator[Callable[[str], None]]:
    """End one of the programs; it is started again at the end of the test."""
    programs = {"webhook": running.cluster.webhook, "controller": running.cluster.controller}
    ended: list[Program] = []

    def end(which: str) -> None:
        programs[which].kill()
        ended.append(programs[which])

    yield end
    for program in ended:
        if not program.runs:
            program.start()


def test_a_namespace_with_a_running_jobflow_goes(running: Workspace) -> None:
    goes(running)


def test_a_namespace_goes_while_the_webhook_is_down_or_once_it_is_back(
    running: Workspace, without: Callable[[str], None]
) -> None:
    without("webhook")
    running.kubectl("delete", "namespace", running.name, "--wait=false")
    # The webhook guards deletions: nothing is deleted unasked. What runs is not in the way of anything else.
    if not is_gone(running, 8):
        running.cluster.webhook.start()
        assert is_gone(running)


def test_a_namespace_goes_while_the_controller_is_down(running: Workspace, without: Callable[[str], None]) -> None:
    without("controller")
    goes(running)


def test_a_namespace_goes_once_the_finalizers_of_its_templates_are_taken_away(running: Workspace) -> None:
    hold(running, "jobtemplate", "get")
    running.kubectl("delete", "namespace", running.name, "--wait=false")
    assert eventually(lambda: not running.kubectl.by_name(VOLCANO_JOBS))
    assert not is_gone(running, 1)
    release(running, "jobtemplate", "get")
    assert is_gone(running)


def test_a_namespace_goes_once_the_finalizers_of_its_jobs_are_taken_away(running: Workspace) -> None:
    hold(running, VOLCANO_JOBS, "etl-get")
    running.kubectl("delete", "namespace", running.name, "--wait=false")
    assert eventually(lambda: running.kubectl.get("jobflow", "etl") is None, GONE_WITHIN)
    assert set(running.kubectl.by_name(VOLCANO_JOBS)) == {"etl-get"}, "nothing is created in a namespace that goes"
    release(running, VOLCANO_JOBS, "etl-get")
    assert is_gone(running)


def test_a_namespace_of_the_same_name_begins_anew(running: Workspace) -> None:
    goes(running)
    running.kubectl("create", "namespace", running.name)
    running.kubectl.apply(*jobtemplates("get", "train"), FLOW)
    running.play("etl-get", "Completed")
    running.play("etl-train", "Completed")
    running.wait_for_phase("etl", "Succeed")


def test_none_of_some_namespaces_that_are_made_run_and_deleted_stays(ns: Workspace) -> None:
    names = [f"{ns.name}-{number}" for number in range(5)]
    for name in names:
        ns.kubectl("create", "namespace", name)
        ns.kubectl.within(name).apply(*jobtemplates("get", "train"), FLOW)
        ns.kubectl("delete", "namespace", name, "--wait=false")
    assert eventually(lambda: not set(names) & set(ns.kubectl.by_name("namespaces")), GONE_WITHIN)


def hold(ns: Workspace, kind: str, name: str) -> None:
    patch = json.dumps({"metadata": {"finalizers": ["tests.example/hold"]}})
    ns.kubectl("patch", kind, name, "--type=merge", f"--patch={patch}")


def release(ns: Workspace, kind: str, name: str) -> None:
    ns.kubectl("patch", kind, name, "--type=merge", '--patch={"metadata":{"finalizers":null}}')


PHASES = ("Pending", "Running", "Succeed", "Failed")


def brought_to(ns: Workspace, phase: str) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    job = {"Running": "Running", "Succeed": "Completed", "Failed": "Failed"}.get(phase)
    ns.wait_for_job("etl-get")
    if job:
        ns.play("etl-get", job)
    ns.wait_for_phase("etl", phase)


@pytest.mark.parametrize("propagation", ["background", "foreground"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_deleted_jobflow_goes_with_its_jobs_in_whatever_phase_it_was(
    ns: Workspace, phase: str, propagation: str
) -> None:
    brought_to(ns, phase)
    ns.kubectl("annotate", "jobflow", "etl", "flow.volcano.sh/allow-delete=true")
    ns.kubectl("delete", "jobflow", "etl", f"--cascade={propagation}", PATIENCE)
    assert eventually(lambda: not ns.jobs(), GONE_WITHIN)


def test_the_owner_of_a_jobflow_takes_it_along(ns: Workspace) -> None:
    ns.kubectl("create", "configmap", "owner")
    owner = ns.kubectl.get("configmap", "owner")
    assert owner
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get", ownerReferences=[reference]))
    ns.play("etl-get", "Running")
    ns.kubectl("delete", "configmap", "owner")
    assert eventually(lambda: ns.kubectl.get("jobflow", "etl") is None and not ns.jobs(), GONE_WITHIN)


@pytest.mark.parametrize("webhook_knows", [True, False], ids=["the JobFlow first", "the template's deletion first"])
def test_a_template_deleted_as_its_jobflow_is_created_is_kept_or_waited_for(ns: Workspace, webhook_knows: bool) -> None:
    ns.kubectl.apply(*jobtemplates("get"))
    if webhook_knows:
        ns.kubectl.apply(jobflow("etl", "get"))
        ns.kubectl.refused("delete", "jobtemplate", "get")
    else:
        ns.kubectl("delete", "jobtemplate", "get")
        ns.kubectl.apply(jobflow("etl", "get"))
        ns.wait_for_reason("etl", "TemplateNotFound")
        ns.kubectl.apply(*jobtemplates("get"))
    ns.play("etl-get", "Completed")
    ns.wait_for_phase("etl", "Succeed")


def test_without_any_webhook_the_rest_of_the_cluster_works_and_jobflows_are_refused_with_a_word(
    running: Workspace, without: Callable[[str], None]
) -> None:
    without("webhook")
    refused = running.kubectl.refused("create", "-f", "-", stdin=as_yaml(jobflow("other", "get")))
    assert "failed calling webhook" in refused
    running.kubectl("create", "configmap", "something")
    running.kubectl("create", "serviceaccount", "somebody")
    running.kubectl("annotate", VOLCANO_JOBS, "etl-get", "seen=yes")
    running.play("etl-get", "Completed")
    running.play("etl-train", "Completed")
    running.wait_for_phase("etl", "Succeed")
    running.kubectl("create", "namespace", f"{running.name}-x")
    running.kubectl("delete", "namespace", f"{running.name}-x", PATIENCE)
