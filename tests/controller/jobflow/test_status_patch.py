import json
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.jobflow.progress import progress_of
from controller.jobflow.status import observe
from controller.jobflow.status_patch import MOST_OPERATIONS, differs, status_patch
from shared.api.job import JobPhase
from shared.api.jobflow import JobFlow, JobFlowStatus
from tests.support.builders import a_jobflow
from tests.support.seeing import seeing

FLOWS = ["get", "clean: get", "count: get", "train: clean count", "a~b", "b"]
BARE = a_jobflow(*FLOWS, metadata={"resourceVersion": "7", "generation": 1})


def observed(jobflow: JobFlow, phases: dict[str, str]) -> JobFlowStatus:
    seen = seeing(jobflow, **phases)
    return observe(seen, progress_of(seen))


def as_json(status: JobFlowStatus) -> Any:
    return json.loads(msgspec.json.encode(status))


def patched(stored: JobFlow, wanted: JobFlowStatus) -> Any:
    """The object as an API server has it after the patch."""
    document = {"metadata": {"resourceVersion": stored.metadata.resource_version}}
    status = as_json(stored.status)
    if status:
        document["status"] = status
    return jsonpatch.apply_patch(document, json.loads(status_patch(stored, wanted)))


def states() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(
        st.sampled_from(["get", "clean", "count", "train", "a~b", "b"]), st.sampled_from(list(JobPhase))
    )


@given(states(), states())
def test_the_patch_makes_exactly_the_status_that_is_wanted(before: dict[str, str], after: dict[str, str]) -> None:
    stored = replace(BARE, status=observed(BARE, before)) if before else BARE
    wanted = observed(BARE, after)
    assert patched(stored, wanted)["status"] == as_json(wanted)


def test_the_patch_names_the_version_that_it_was_made_from() -> None:
    first = json.loads(status_patch(BARE, observed(BARE, {"get": "Running"})))[0]
    assert first == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_every_later_patch_names_it_too() -> None:
    stored = replace(BARE, status=observed(BARE, {"get": "Running"}))
    first = json.loads(status_patch(stored, observed(stored, {"get": "Completed"})))[0]
    assert first == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_one_job_that_completes_costs_the_same_in_a_small_and_in_a_large_jobflow() -> None:
    sizes = []
    for entries in (50, 1000):
        jobflow = a_jobflow(*[f"step-{i:04}" for i in range(entries)])
        phases = {f"step-{i:04}": "Completed" if i < 20 else "Running" for i in range(entries)}
        stored = replace(jobflow, status=observed(jobflow, phases))
        sizes.append(len(status_patch(stored, observed(stored, {**phases, "step-0020": "Completed"}))))
    assert sizes[1] < 1.2 * sizes[0]


def test_a_patch_never_has_more_operations_than_the_api_server_takes() -> None:
    jobflow = a_jobflow(*[f"step-{i:04}" for i in range(5000)])
    stored = replace(jobflow, status=observed(jobflow, {flow.name: "Running" for flow in jobflow.flows}))
    wanted = observed(stored, {flow.name: "Completed" for flow in jobflow.flows})
    assert len(json.loads(status_patch(stored, wanted))) <= MOST_OPERATIONS + 1


def pruned(status: JobFlowStatus) -> JobFlowStatus:
    """The status as Volcano's own CRD stores it."""
    state = replace(status.state, reason=None, message=None)
    return replace(status, state=state, progress=None, observed_generation=None, start_time=None, completion_time=None)


def test_fields_that_volcanos_crd_prunes_are_no_reason_to_write_again() -> None:
    wanted = observed(BARE, {"get": "Running"})
    assert not differs(pruned(wanted), wanted)


def test_what_volcanos_crd_keeps_is_a_reason_to_write() -> None:
    assert differs(pruned(observed(BARE, {"get": "Pending"})), observed(BARE, {"get": "Running"}))


@pytest.mark.parametrize("field", ["progress", "start_time"])
def test_with_our_own_crd_every_field_counts(field: str) -> None:
    wanted = observed(BARE, {"get": "Running"})
    assert differs(replace(wanted, **{field: "other"}), wanted)


def test_the_first_status_is_written_whatever_the_crd() -> None:
    assert differs(JobFlowStatus(), observed(BARE, {}))
