"""What is stored comes back as it was written, and where nothing happens nothing is written."""

import pytest

from tests.support.kubectl import VOLCANO_JOBS, Object
from tests.support.programs import Program
from tests.support.waiting import eventually
from tests.support.workspace import Workspace, a_job, jobflow, jobtemplate, jobtemplates

pytestmark = pytest.mark.integration

QUIET = 3
"""Seconds of watching for writes; the controller puts off a small status for half a second."""


def written(ns: Workspace, since: str, seconds: int = QUIET) -> list[str]:
    """Return who was written since a version, within some more seconds."""
    listening = {"jobflows": seconds, "jobtemplates": 1, "jobs": 1}
    return [
        f"{kind} {each['kind']} {each['metadata']['name']}"
        for plural, more in listening.items()
        for kind, each in ns.kubectl.history(plural, since, more)
    ]


def settled(ns: Workspace) -> int:
    """Wait until what was put off is written, and nothing is left of other tests; return the writes sent until then."""

    def alone() -> bool:
        return {line.split()[0] for line in ns.kubectl("get", "jobflows", "-A", "--no-headers").splitlines()} == {
            ns.name
        }

    def templates_know_their_jobs() -> bool:
        made: dict[str, list[str]] = {}
        for name, job in sorted(ns.kubectl.by_name(VOLCANO_JOBS).items()):
            if template := job["metadata"].get("annotations", {}).get("volcano.sh/createdByJobTemplate"):
                made.setdefault(template.removeprefix(f"{ns.name}."), []).append(name)
        templates = ns.kubectl.by_name("jobtemplates")
        return made == {
            name: template["status"]["jobDependsOnList"]
            for name, template in templates.items()
            if template.get("status", {}).get("jobDependsOnList")
        }

    assert eventually(templates_know_their_jobs)
    assert eventually(alone)
    while ns.kubectl.history("jobflows", ns.kubectl.version("jobflows")):
        pass
    return ns.cluster.writes_sent()


def test_a_finished_jobflow_is_written_no_more(ns: Workspace, player: Program) -> None:
    names = ("get", "clean", "count", "train")
    ns.kubectl.apply(*jobtemplates(*names), jobflow("etl", "get", "clean: get", "count: get", "train: clean count"))
    ns.wait_for_phase("etl", "Succeed")
    player.kill()
    before = settled(ns)

    assert written(ns, ns.kubectl.version("jobflows")) == []
    assert ns.cluster.writes_sent() == before


def test_a_jobflow_that_can_only_wait_is_written_no_more(ns: Workspace) -> None:
    ns.kubectl.apply(a_job("etl-blocked"), *jobtemplates("get", "blocked"))
    ns.kubectl.apply(jobflow("etl", "get", "missing: get", "blocked: get", "last: missing"))
    ns.play("etl-get", "Completed")
    ns.wait_for_status("etl", completedJobs=["etl-get"])
    before = settled(ns)

    assert written(ns, ns.kubectl.version("jobflows")) == []
    assert ns.cluster.writes_sent() == before


def test_looking_again_finds_nothing_to_write(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", "Running")
    ns.wait_for_phase("etl", "Running")
    before = settled(ns)

    since = ns.kubectl.version("jobflows")
    ns.kubectl("annotate", "jobflow", "etl", "looked-at=now")
    ns.kubectl("label", "jobs.batch.volcano.sh", "etl-get", "looked-at=now")
    ns.kubectl("label", "jobtemplate", "get", "looked-at=now")

    assert written(ns, since) == ["MODIFIED JobFlow etl", "MODIFIED JobTemplate get", "MODIFIED Job etl-get"]
    assert ns.cluster.writes_sent() == before


def test_a_restart_finds_nothing_to_write(ns: Workspace) -> None:
    """A status that Volcano's CRD has pruned looks as if it lacked something, and must not be written for that."""
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"), jobflow("done", "get"))
    ns.play("done-get", "Completed")
    ns.wait_for_phase("done", "Succeed")
    ns.play("etl-get", "Running")
    ns.wait_for_phase("etl", "Running")
    settled(ns)

    since = ns.kubectl.version("jobflows")
    ns.cluster.controller.kill()
    ns.cluster.controller.start()

    assert written(ns, since) == []
    assert ns.cluster.writes_sent() == 0


def test_a_jobtemplate_comes_back_with_all_that_was_written(ns: Workspace) -> None:
    rich = jobtemplate(
        "rich",
        minSuccess=1,
        ttlSecondsAfterFinished=600,
        plugins={"svc": ["--publish-not-ready-addresses=true"], "ssh": []},
        policies=[{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob", "timeout": "30s"}],
        volumes=[{"mountPath": "/data", "volumeClaimName": "data"}],
        networkTopology={"mode": "soft", "highestTierAllowed": 2},
    )
    (task,) = rich["spec"]["tasks"]
    task["template"]["metadata"] = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    task["template"]["spec"] |= {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
    }
    task["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}

    ns.kubectl.apply(rich)

    assert contains(stored_spec(ns, "jobtemplate", "rich"), rich["spec"])


def test_our_own_crds_keep_what_a_newer_volcano_or_kubernetes_may_bring(ns: Workspace) -> None:
    if not ns.has_our_status:
        pytest.skip("Volcano's CRDs prune what they do not know")
    template = jobtemplate("new")
    template["spec"]["tasks"][0]["template"]["spec"]["fieldOfTomorrow"] = {"deep": [{"er": True}]}
    flow = jobflow("etl", "new")
    flow["spec"]["flows"][0]["patch"] = {"jobSpec": {"tasks": [{"name": "work", "replicas": 3}]}}

    ns.kubectl.apply(template, flow)

    assert contains(stored_spec(ns, "jobtemplate", "new"), template["spec"])
    assert contains(stored_spec(ns, "jobflow", "etl"), flow["spec"])


def test_kubectl_explain_teaches_the_fields_of_our_own_crds(ns: Workspace) -> None:
    if not ns.has_our_status:
        pytest.skip("Volcano's CRDs have no descriptions")

    said = ns.kubectl("explain", "jobflow.spec.flows.dependsOn")

    assert "targets\t<[]string>" in said
    assert "must all have completed" in " ".join(said.split())


def stored_spec(ns: Workspace, kind: str, name: str) -> Object:
    found = ns.kubectl.get(kind, name)
    assert found
    return dict(found["spec"])


def contains(stored: object, written: object) -> bool:
    """Whether everything that was written is there; the CRD's defaults may have been added."""
    if isinstance(written, dict):
        return isinstance(stored, dict) and all(
            key in stored and contains(stored[key], value) for key, value in written.items()
        )
    if isinstance(written, list):
        return isinstance(stored, list) and len(stored) == len(written) and all(map(contains, stored, written))
    return stored == written
