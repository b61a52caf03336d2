import json

import pytest
from msgspec.structs import replace

from controller.jobflow.plan import leftovers, starts
from controller.jobflow.progress import progress_of
from controller.jobflow.snapshot import Snapshot
from shared.api.jobflow import State
from tests.support.builders import a_jobflow
from tests.support.seeing import refused, seeing

DIAMOND = a_jobflow("get", "clean: get", "count: get", "train: clean count")


def started(seen: Snapshot) -> list[str]:
    return [create.name for create in starts(seen, progress_of(seen))]


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        pytest.param({}, ["etl-get"], id="the first entry waits for nobody"),
        pytest.param({"get": "Running"}, [], id="running is not enough"),
        pytest.param({"get": "Completing"}, [], id="completing is not enough"),
        pytest.param({"get": "Completed"}, ["etl-clean", "etl-count"], id="both arms start together"),
        pytest.param({"get": "Completed", "clean": "Completed", "count": "Running"}, [], id="the join waits"),
        pytest.param({"get": "Completed", "clean": "Completed", "count": "Completed"}, ["etl-train"], id="it goes on"),
        pytest.param(
            {"get": "Completed", "clean": "Aborted"}, ["etl-count"], id="a suspended Job holds up its own arm"
        ),
        pytest.param({"get": "Failed"}, [], id="after a failure nothing new starts"),
        pytest.param({"get": "Completed", "clean": "Failed"}, [], id="not in the other arm either"),
    ],
)
def test_an_entry_starts_once_all_that_it_depends_on_has_completed(jobs: dict[str, str], expected: list[str]) -> None:
    assert started(seeing(DIAMOND, **jobs)) == expected


@pytest.mark.parametrize("phase", ["Succeed", "Failed", "Terminating"])
def test_a_finished_jobflow_starts_nothing(phase: str) -> None:
    assert started(seeing(a_jobflow("get", phase=phase))) == []


def test_a_jobflow_that_is_being_deleted_starts_nothing() -> None:
    assert started(seeing(a_jobflow("get", metadata={"deletionTimestamp": "2026-03-01T11:00:00Z"}))) == []


def test_a_job_that_was_created_once_is_never_created_again() -> None:
    remembered = a_jobflow("get", status={"jobStatusList": [{"name": "etl-get", "state": "Running"}]})
    assert started(seeing(remembered)) == []


def test_an_entry_without_its_template_waits_and_the_others_go_on() -> None:
    assert started(seeing(a_jobflow("get", "other"), templates={"other"})) == ["etl-other"]


def test_a_name_that_a_stranger_bears_is_not_tried() -> None:
    assert started(seeing(a_jobflow("get", "other"), strangers={"get"})) == ["etl-other"]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        pytest.param(refused(waits=True), [], id="its time has not come"),
        pytest.param(refused(waits=False), ["etl-get"], id="its time has come"),
        pytest.param(refused(waits=True, version="uid-of-get/1"), ["etl-get"], id="the template is another"),
    ],
)
def test_a_job_that_was_refused_is_tried_again_in_its_time_or_with_another_template(problem, expected) -> None:
    assert started(seeing(a_jobflow("get"), problems={"get": problem})) == expected


def test_a_spec_that_cannot_be_run_starts_nothing() -> None:
    assert started(seeing(a_jobflow("get"), faults=("spec.flows[0].name: Required value",))) == []


def test_equal_snapshots_give_equal_decisions() -> None:
    seen = seeing(DIAMOND, get="Completed")
    assert list(starts(seen, progress_of(seen))) == list(starts(seen, progress_of(seen)))


def test_a_job_is_its_templates_spec_marked_as_the_jobflows_own() -> None:
    seen = seeing(a_jobflow("get", name="etl", namespace="ml", uid="u1"))
    job = json.loads(next(iter(starts(seen, progress_of(seen)))).manifest)
    assert job["apiVersion"] == "batch.volcano.sh/v1alpha1"
    assert job["kind"] == "Job"
    assert job["spec"] == json.loads(bytes(seen.templates["get"].spec))
    assert job["metadata"]["labels"] == job["metadata"]["annotations"]
    assert job["metadata"]["labels"] == {
        "volcano.sh/createdByJobTemplate": "ml.get",
        "volcano.sh/createdByJobFlow": "ml.etl",
    }
    assert job["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "flow.volcano.sh/v1alpha1",
            "kind": "JobFlow",
            "name": "etl",
            "uid": "u1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_a_label_that_would_be_too_long_is_cut_and_its_annotation_has_the_whole() -> None:
    seen = seeing(a_jobflow("get", name="e" * 50, namespace="n" * 60))
    metadata = json.loads(next(iter(starts(seen, progress_of(seen)))).manifest)["metadata"]
    assert len(metadata["labels"]["volcano.sh/createdByJobFlow"]) == 63
    assert metadata["annotations"]["volcano.sh/createdByJobFlow"] == "n" * 60 + "." + "e" * 50


def left_over(seen: Snapshot, phase: str) -> list[str]:
    stored = replace(seen.jobflow, status=replace(seen.jobflow.status, state=State(phase)))
    return [delete.name for delete in leftovers(seen, stored)]


def test_jobs_are_deleted_once_succeed_is_stored_and_the_policy_says_so() -> None:
    seen = seeing(a_jobflow("get", "clean: get", policy="delete"), get="Completed", clean="Completed")
    assert left_over(seen, "Succeed") == ["etl-get", "etl-clean"]
    assert left_over(seen, "Running") == []


@pytest.mark.parametrize("policy", ["retain", None])
def test_jobs_are_never_deleted_under_another_policy(policy: str | None) -> None:
    assert left_over(seeing(a_jobflow("get", policy=policy), get="Completed"), "Succeed") == []


def test_a_succeed_written_by_hand_deletes_no_job_that_runs() -> None:
    seen = seeing(a_jobflow("get", "clean", policy="delete"), get="Running", clean="Completed")
    assert left_over(seen, "Succeed") == ["etl-clean"]


def test_a_job_of_an_entry_that_was_taken_out_is_left_alone() -> None:
    was = a_jobflow("get", "clean", policy="delete")
    seen = seeing(was, get="Completed", clean="Completed")
    shrunk = replace(seen.jobflow, spec=replace(was.spec, flows=was.flows[:1]), status=was.status)
    stored = replace(shrunk, status=replace(was.status, state=State("Succeed")))
    assert [delete.name for delete in leftovers(seen, stored)] == ["etl-get"]
