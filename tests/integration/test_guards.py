"""What may be changed and deleted, and how a refusal tells the way out."""

import pytest

from tests.support.cluster import PATIENCE, ROOT
from tests.support.kubectl import VOLCANO_JOBS, as_yaml
from tests.support.programs import Program
from tests.support.workspace import Workspace, jobflow, jobtemplate, jobtemplates

pytestmark = pytest.mark.integration

EXAMPLES = ROOT / "examples"
ALLOW = "flow.volcano.sh/allow-delete=true"


def test_the_spec_of_a_jobflow_may_not_change_and_the_refusal_says_where_it_would(ns: Workspace) -> None:
    ns.kubectl("apply", "-f", str(EXAMPLES / "diamond.yaml"))

    said = ns.kubectl.refused("apply", "-f", str(EXAMPLES / "refused" / "spec-change.yaml"))

    assert 'The JobFlow "diamond" is invalid' in said
    assert (
        "spec: Forbidden: may not be changed once the JobFlow exists (changed: spec.flows[3].dependsOn.targets);"
        " create a new JobFlow instead"
    ) in said


def test_applying_the_same_again_changes_nothing(ns: Workspace) -> None:
    ns.kubectl("apply", "-f", str(EXAMPLES / "diamond.yaml"))

    again = ns.kubectl("apply", "-f", str(EXAMPLES / "diamond.yaml"))

    assert all(line.endswith(" unchanged") for line in again.splitlines())


def test_what_says_the_same_in_other_words_is_no_change(ns: Workspace) -> None:
    ns.kubectl.apply(jobflow("etl", "get"))
    same = jobflow("etl", "get")
    same["spec"]["flows"][0]["dependsOn"] = {"targets": []}

    ns.kubectl("replace", "-f", "-", stdin=as_yaml(same))


def test_labels_and_annotations_may_change_at_any_time(ns: Workspace) -> None:
    ns.kubectl.apply(jobflow("etl", "get"))

    ns.kubectl("label", "jobflow", "etl", "team=ml")
    ns.kubectl("annotate", "jobflow", "etl", "note=for the board")
    ns.kubectl("patch", "jobflow", "etl", "--type=merge", '--patch={"metadata":{"finalizers":["test.example/hold"]}}')
    ns.kubectl("patch", "jobflow", "etl", "--type=json", '--patch=[{"op":"remove","path":"/metadata/finalizers"}]')

    found = ns.kubectl.get("jobflow", "etl")
    assert found
    assert found["metadata"]["labels"] == {"team": "ml"}
    assert "finalizers" not in found["metadata"]


def test_a_running_jobflow_is_not_deleted_unless_its_annotation_allows_it(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Running")
    ns.wait_for_status("etl", runningJobs=["etl-get"])

    said = ns.kubectl.refused("delete", "jobflow", "etl")

    assert "Forbidden" in said
    assert "Running" in said
    assert "etl-get" in said
    way_out = f"annotate jobflow etl -n {ns.name} {ALLOW}"
    assert f"kubectl {way_out}" in said
    ns.kubectl(*way_out.split())
    ns.kubectl("delete", "jobflow", "etl", PATIENCE)
    ns.kubectl("wait", "--for=delete", VOLCANO_JOBS, "--all", PATIENCE)
    assert ns.jobs() == set()


def test_deleting_all_jobflows_at_once_spares_those_that_run(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("first", "get"), jobflow("second", "get"))
    ns.play("first-get", "Completed")
    ns.wait_for_phase("first", "Succeed")
    ns.play("second-get", "Running")
    ns.wait_for_phase("second", "Running")

    said = ns.kubectl.refused("delete", "jobflow", "--all")

    assert "second-get" in said
    assert set(ns.kubectl.by_name("jobflow")) == {"second"}


@pytest.mark.parametrize("phase", ["Completed", "Failed"])
def test_a_jobflow_that_has_finished_is_deleted_without_a_word(ns: Workspace, phase: str) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", phase)
    ns.wait_for_phase("etl", {"Completed": "Succeed", "Failed": "Failed"}[phase])

    ns.kubectl("delete", "jobflow", "etl", PATIENCE)


def test_a_jobflow_that_is_being_deleted_is_terminating_and_starts_nothing(ns: Workspace) -> None:
    flow = jobflow("etl", "get", "train: get", finalizers=["test.example/hold"])
    ns.kubectl.apply(*jobtemplates("get", "train"), flow)
    ns.play("etl-get", "Running")
    ns.kubectl("annotate", "jobflow", "etl", ALLOW)
    ns.kubectl.delete_unwatched("jobflow", "etl")
    ns.wait_for_phase("etl", "Terminating")

    ns.play("etl-get", "Completed")

    ns.wait_for_status("etl", completedJobs=["etl-get"])
    assert ns.jobs() == {"etl-get"}
    ns.kubectl("patch", "jobflow", "etl", "--type=merge", '--patch={"metadata":{"finalizers":null}}')
    ns.kubectl("wait", "--for=delete", "jobflow/etl", PATIENCE)


def test_a_namespace_is_deleted_with_the_jobflows_that_run_in_it(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", "Running")
    ns.wait_for_phase("etl", "Running")

    ns.kubectl("delete", "namespace", ns.name, PATIENCE)


def test_a_namespace_is_deleted_even_while_the_webhook_is_down(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", "Running")
    ns.cluster.webhook.kill()
    try:
        ns.kubectl("delete", "namespace", ns.name, PATIENCE)
    finally:
        ns.cluster.webhook.start()


def test_a_jobtemplate_in_use_is_not_deleted_and_the_refusal_names_its_users(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get"), jobflow("nightly", "get", "train: get"))

    said = ns.kubectl.refused("delete", "jobtemplate", "get")

    assert "Forbidden" in said
    assert "etl" in said
    assert "nightly" in said
    assert ALLOW in said
    ns.kubectl("annotate", "jobtemplate", "get", ALLOW)
    ns.kubectl("delete", "jobtemplate", "get")


def test_a_jobtemplate_that_no_unfinished_jobflow_names_is_deleted(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates("get", "unused"), jobflow("etl", "get"))
    ns.wait_for_phase("etl", "Succeed")

    ns.kubectl("delete", "jobtemplate", "get", "unused")


def test_a_jobtemplate_may_change_and_entries_still_to_start_use_the_new_one(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.wait_for_job("etl-get")

    ns.kubectl.apply(jobtemplate("train", maxRetry=7))
    ns.play("etl-get", "Completed")

    assert ns.wait_for_job("etl-train")["spec"]["maxRetry"] == 7


def test_a_finished_example_is_deleted_with_the_file_that_made_it(ns: Workspace, player: Program) -> None:
    ns.kubectl("apply", "-f", str(EXAMPLES / "diamond.yaml"))
    ns.wait_for_phase("diamond", "Succeed")

    ns.kubectl("delete", "-f", str(EXAMPLES / "diamond.yaml"), PATIENCE)

    assert ns.kubectl.by_name("jobtemplate") == {}
