import msgspec
import pytest

from controller.jobflow.ladder import LARGEST, fitted, size_of
from controller.jobflow.progress import progress_of
from controller.jobflow.status import observe
from shared.api.jobflow import JobFlowStatus
from tests.support.builders import a_jobflow
from tests.support.seeing import a_job, seeing

PHASES = ["Pending", "Running", "Restarting", "Running", "Completed"]


def a_status(entries: int, completed: int) -> JobFlowStatus:
    """A JobFlow of so many entries with names of a usual length, the first of them completed after a restart."""
    jobflow = a_jobflow(*[f"step-{i:05}-of-the-pipeline" for i in range(entries)], name="nightly-training")
    conditions = [{"status": phase, "lastTransitionTime": f"2026-03-01T11:0{i}:00Z"} for i, phase in enumerate(PHASES)]
    counts = {"work": {"phase": {"Succeeded": 1}}}
    jobs = {
        flow.name: a_job(jobflow, flow.name, "Completed", conditions=conditions, taskStatusCount=counts)
        for flow in jobflow.flows[:completed]
    }
    seen = seeing(jobflow, **jobs)
    return observe(seen, progress_of(seen))


def test_a_jobflow_of_1000_entries_fits_whole() -> None:
    status = a_status(1000, 1000)
    assert fitted(status, 200_000) is status


@pytest.mark.parametrize("entries", [3000, 5000])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_larger_status_is_shortened_until_the_object_fits_and_says_so(entries: int, share: float) -> None:
    besides = 110 * entries
    status = fitted(a_status(entries, int(entries * share)), besides)
    assert size_of(status) + besides <= LARGEST
    if size_of(a_status(entries, int(entries * share))) + besides > LARGEST:
        assert (status.state.message or "").startswith("status shortened to fit: ")


def test_what_is_stored_leaves_room_to_what_etcd_takes() -> None:
    assert LARGEST <= 1_400_000  # of 1.5 MiB, for managed fields come on top


def test_what_the_controller_must_remember_is_never_left_out() -> None:
    whole = a_status(5000, 5000)
    status = fitted(whole, LARGEST)
    assert [(it.name, it.state) for it in status.job_status_list] == [
        (it.name, it.state) for it in whole.job_status_list
    ]
    assert status.completed_jobs == whole.completed_jobs


def test_a_running_job_keeps_its_history() -> None:
    jobflow = a_jobflow("get", "clean")
    conditions = [{"status": phase} for phase in ("Pending", "Running", "Restarting", "Running")]
    seen = seeing(jobflow, get=a_job(jobflow, "get", "Running", conditions=conditions), clean="Completed")
    status = fitted(observe(seen, progress_of(seen)), LARGEST)
    assert len(status.job_status_list[0].running_histories) == 4
    assert status.job_status_list[1].running_histories == ()


def test_the_size_is_that_of_the_json_that_is_sent() -> None:
    status = a_status(10, 5)
    assert size_of(status) == len(msgspec.json.encode(msgspec.to_builtins(status)))
