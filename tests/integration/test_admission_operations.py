"""What users and Kubernetes itself do to JobFlows and JobTemplates that are there, by every way that kubectl has.

It is a matter of the API server more than of the CRDs: half of the clusters are enough.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.conftest import CLUSTERS
from tests.support.cluster import EMPTY_FLOW, PATIENCE, requests_sent
from tests.support.kubectl import VOLCANO_JOBS, Object, as_yaml
from tests.support.waiting import eventually
from tests.support.workspace import Workspace, a_job, jobflow, jobtemplate, jobtemplates

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize(
        "cluster",
        [each for each in CLUSTERS if each.id in ("embedded-volcano", "real-ours")],
        indirect=True,
        scope="session",
    ),
]

ALLOW = "flow.volcano.sh/allow-delete=true"
LOOP = jobflow("old", "a: b", "b: a")
CONFIGURATION = ("validatingwebhookconfiguration", "jobflow-webhook")
HOLD = "test.example/hold"


def uid(ns: Workspace, kind: str, name: str) -> str:
    found = ns.kubectl.get(kind, name)
    return str(found["metadata"]["uid"]) if found else ""


def merge(ns: Workspace, kind: str, name: str, patch: Object) -> None:
    ns.kubectl("patch", kind, name, "--type=merge", "--patch", json.dumps(patch))


@contextmanager
def webhook_not_asked(ns: Workspace) -> Iterator[None]:
    """The API server asks nobody, as before the webhook was installed."""
    found = ns.kubectl.get(*CONFIGURATION)
    assert found
    asked = {key: found[key] for key in ("apiVersion", "kind", "webhooks")} | {"metadata": {"name": CONFIGURATION[1]}}
    empty = ("create", "--dry-run=server", "-f", "-")
    ns.kubectl("delete", *CONFIGURATION)
    try:
        assert eventually(lambda: ns.kubectl.run(*empty, stdin=EMPTY_FLOW).returncode == 0)
        yield
    finally:
        ns.kubectl.apply(asked)
        assert eventually(lambda: ns.kubectl.run(*empty, stdin=EMPTY_FLOW).returncode != 0)


def test_what_would_be_refused_today_stays_editable_but_for_its_spec(ns: Workspace) -> None:
    bad = jobtemplate("bad", queue="root")
    with webhook_not_asked(ns):
        ns.kubectl.apply(LOOP, bad)

    ns.kubectl.apply(LOOP, bad)
    ns.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=as_yaml(LOOP, bad))
    for kind, name in (("jobflow", "old"), ("jobtemplate", "bad")):
        ns.kubectl("label", kind, name, "team=ml")
        ns.kubectl("annotate", kind, name, "note=kept")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "none"}
        merge(ns, kind, name, {"metadata": {"finalizers": [HOLD], "ownerReferences": [owner]}})
        merge(ns, kind, name, {"metadata": {"ownerReferences": None}})

    said = ns.kubectl.refused("apply", "-f", "-", stdin=as_yaml(jobflow("old", "a", "b: a")))
    assert "may not be changed once the JobFlow exists (changed: spec.flows" in said
    said = ns.kubectl.refused("apply", "-f", "-", stdin=as_yaml(jobtemplate("bad", queue="root", maxRetry=5)))
    assert 'spec.queue: Invalid value: "root"' in said
    ns.kubectl.apply(jobtemplate("bad", maxRetry=5))

    ns.kubectl("annotate", "jobflow", "old", ALLOW)
    for kind, name in (("jobflow", "old"), ("jobtemplate", "bad")):
        ns.kubectl.delete_unwatched(kind, name)
        ns.kubectl("label", kind, name, "leaving=yes")
        merge(ns, kind, name, {"metadata": {"finalizers": None}})
        ns.kubectl("wait", "--for=delete", f"{kind}/{name}", PATIENCE)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            ["patch", "jobflow", "etl", "--type=merge", '--patch={"spec":{"flows":[{"name":"x"}]}}'], id="patch"
        ),
        pytest.param(
            ["patch", "jobflow", "etl", "--type=json", '--patch=[{"op":"remove","path":"/spec/flows/1"}]'],
            id="JSON patch",
        ),
        pytest.param(["apply", "-f", "-"], id="apply"),
        pytest.param(["apply", "--server-side", "--force-conflicts", "-f", "-"], id="server-side apply"),
        pytest.param(["replace", "-f", "-"], id="replace"),
        pytest.param(["replace", "--dry-run=server", "-f", "-"], id="dry run"),
    ],
)
def test_a_spec_may_not_change_by_any_way(ns: Workspace, arguments: list[str]) -> None:
    ns.kubectl.apply(jobflow("etl", "get", "train: get"))
    before = ns.kubectl.get("jobflow", "etl")

    said = ns.kubectl.refused(*arguments, stdin=as_yaml(jobflow("etl", "get", "clean: get")))

    assert 'The JobFlow "etl" is invalid' in said
    assert "may not be changed once the JobFlow exists (changed: spec.flows" in said
    after = ns.kubectl.get("jobflow", "etl")
    assert before
    assert after
    assert before["spec"] == after["spec"]


def test_a_jobflow_has_nothing_to_scale(ns: Workspace) -> None:
    ns.kubectl.apply(jobflow("etl", "get"))

    assert "NotFound" in ns.kubectl.refused("scale", "jobflow", "etl", "--replicas=2")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["delete", "jobflow", "etl", "--force", "--grace-period=0"], id="by force"),
        pytest.param(["delete", "jobflow", "etl", "--dry-run=server"], id="as a dry run"),
        pytest.param(["delete", "jobflow", "etl", "--cascade=orphan"], id="without its Jobs"),
        pytest.param(["replace", "--force", "-f", "-"], id="to replace it"),
    ],
)
def test_a_jobflow_that_has_not_finished_is_deleted_by_no_way(ns: Workspace, arguments: list[str]) -> None:
    ns.kubectl.apply(jobflow("etl", "get"))
    before = uid(ns, "jobflow", "etl")

    said = ns.kubectl.refused(*arguments, stdin=as_yaml(jobflow("etl", "other")))

    assert f"kubectl annotate jobflow etl -n {ns.name} {ALLOW}" in said
    assert uid(ns, "jobflow", "etl") == before


def test_a_whole_collection_is_deleted_but_for_what_has_not_finished(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("done", "get"))
    ns.play("done-get", "Completed")
    ns.wait_for_phase("done", "Succeed")
    ns.kubectl.apply(jobflow("waiting", "other"))
    ns.wait_for_phase("waiting", "Pending")
    collection = f"/apis/flow.volcano.sh/v1alpha1/namespaces/{ns.name}/jobflows"

    said = ns.kubectl.refused("delete", "--raw", collection)

    assert "annotate jobflow waiting" in said, "the request has no name, and the answer has that of the object"
    assert "waiting" in ns.kubectl.by_name("jobflow")
    ns.kubectl("annotate", "jobflow", "waiting", ALLOW)
    ns.kubectl("delete", "--raw", collection)
    assert eventually(lambda: not ns.kubectl.by_name("jobflow"))


def test_a_finished_jobflow_may_be_replaced(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", "Failed")
    ns.wait_for_phase("etl", "Failed")
    first = uid(ns, "jobflow", "etl")

    ns.kubectl("replace", "--force", "-f", "-", stdin=as_yaml(jobflow("etl", "other")))

    assert uid(ns, "jobflow", "etl") not in ("", first)


def test_a_jobflow_that_waits_for_its_jobs_to_go_starts_no_more(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Running")
    merge(ns, VOLCANO_JOBS, "etl-get", {"metadata": {"finalizers": [HOLD]}})
    ns.kubectl("annotate", "jobflow", "etl", ALLOW)

    ns.kubectl.delete_unwatched("jobflow", "etl", "--cascade=foreground")

    ns.wait_for_phase("etl", "Terminating")
    ns.play("etl-get", "Completed")
    ns.wait_for_status("etl", completedJobs=["etl-get"])
    assert ns.jobs() == {"etl-get"}
    merge(ns, VOLCANO_JOBS, "etl-get", {"metadata": {"finalizers": None}})
    ns.kubectl("wait", "--for=delete", "jobflow/etl", PATIENCE)


def test_a_jobflow_goes_with_its_owner_though_it_has_not_finished(ns: Workspace) -> None:
    for name, how in (("soon", "--cascade=background"), ("after", "--cascade=foreground")):
        ns.kubectl("create", "configmap", f"owner-{name}")
        owner = uid(ns, "configmap", f"owner-{name}")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"owner-{name}", "uid": owner}
        ns.kubectl.apply(jobflow(name, "get", ownerReferences=[{**reference, "blockOwnerDeletion": True}]))
        ns.kubectl.delete_unwatched("configmap", f"owner-{name}", how)
    for name in ("soon", "after"):
        ns.kubectl("wait", "--for=delete", f"jobflow/{name}", PATIENCE)


def test_a_jobflow_may_be_born_with_finalizers_and_owners_but_not_with_a_status(ns: Workspace) -> None:
    ns.kubectl("create", "configmap", "owner")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid(ns, "configmap", "owner")}
    born = jobflow("etl", "get", finalizers=[HOLD], ownerReferences=[owner])

    ns.kubectl.apply(born | {"status": {"state": {"phase": "Succeed"}}})

    found = ns.kubectl.get("jobflow", "etl")
    assert found
    assert found["metadata"]["finalizers"] == [HOLD]
    assert ns.wait_for_phase("etl", "Pending")
    assert "the JobFlow is Pending" in ns.kubectl.refused("delete", "jobflow", "etl")
    merge(ns, "jobflow", "etl", {"metadata": {"finalizers": None}})


def test_a_default_that_is_written_out_or_left_out_is_no_change(ns: Workspace) -> None:
    ns.kubectl.apply(jobflow("plain", "get"), jobflow("written", "get", policy="retain"))

    ns.kubectl("replace", "-f", "-", stdin=as_yaml(jobflow("plain", "get", policy="retain"), jobflow("written", "get")))

    assert "jobRetainPolicy" in ns.kubectl.refused(
        "replace", "-f", "-", stdin=as_yaml(jobflow("plain", "get", policy="delete"))
    )


def test_a_new_spec_of_a_jobtemplate_is_judged_in_full(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"))

    said = ns.kubectl.refused("apply", "-f", "-", stdin=as_yaml(jobtemplate("get", minAvailable=5, queue="root")))

    assert 'The JobTemplate "get" is invalid' in said
    assert "spec.minAvailable" in said
    assert "spec.queue" in said


def test_a_dry_run_of_a_deletion_has_no_effect(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("unused"))

    ns.kubectl("delete", "jobtemplate", "unused", "--dry-run=server")
    ns.kubectl.apply(jobflow("etl", "unused"))
    assert "etl" in ns.kubectl.refused("delete", "jobtemplate", "unused", "--dry-run=server")

    assert ns.kubectl.get("jobtemplate", "unused")


@pytest.mark.parametrize("flags", [["--dry-run=server"], []], ids=["dry run", "for real"])
def test_the_webhook_changes_nothing_whatever_it_is_asked(ns: Workspace, flags: list[str]) -> None:
    template, flow = jobtemplate("get"), jobflow("etl", "get")
    for obj in (template, flow):
        ns.kubectl("create", *flags, "-f", "-", stdin=as_yaml(obj))
    ns.kubectl.apply(template, flow)
    ns.kubectl("replace", *flags, "-f", "-", stdin=as_yaml(jobtemplate("get", minAvailable=0)))
    ns.kubectl.refused("replace", *flags, "-f", "-", stdin=as_yaml(jobflow("etl", "get", policy="delete")))
    for kind, name in (("jobtemplate", "get"), ("jobflow", "etl")):
        ns.kubectl.refused("delete", kind, name, *flags)

    assert set(requests_sent(ns.cluster.webhook_metrics)) == {"GET"}


def test_while_the_webhook_is_down_only_what_it_judges_has_to_wait(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.cluster.webhook.kill()
    try:
        said = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(jobflow("next", "get")))
        assert 'failed calling webhook "jobflows.flow.volcano.sh"' in said
        ns.kubectl.refused("delete", "jobflow", "etl")
        ns.kubectl("label", "jobflow", "etl", "team=ml")
        ns.kubectl.patch_status("jobflow", "etl", {"state": {"phase": "Running"}})
        ns.kubectl.apply(a_job("stranger"))
        ns.kubectl("create", "configmap", "other")
        merge(ns, "jobtemplate", "get", {"metadata": {"finalizers": [HOLD]}})
        merge(ns, "jobtemplate", "get", {"metadata": {"finalizers": None}})
        ns.play("etl-get", "Completed")
        ns.wait_for_phase("etl", "Succeed")
    finally:
        ns.cluster.webhook.start()
    ns.kubectl.apply(jobflow("next", "get"))
