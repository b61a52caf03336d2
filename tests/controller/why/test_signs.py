"""What concerns the JobFlow as a whole is told: that it is done, goes, cannot be run, or that nobody looks after it."""

from typing import Any

import msgspec
import pytest

from controller.why.answer import answer
from controller.why.facts import Facts
from controller.why.objects import WholeJob, WholeJobFlow
from shared.api.lease import Lease
from tests.controller.why.picture import MADE, a_running_jobflow, facts_of, running
from tests.support.builders import a_jobflow, a_jobflow_object
from tests.support.seeing import a_job

JOBFLOW = a_running_jobflow("get", "clean: get")


def signs(facts: Facts) -> dict[str, str]:
    return {sign.kind: sign.text for sign in answer(facts).signs}


def a_lease(renewed: str, holder: str = "pod-1") -> Lease:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": f"2026-03-01T{renewed}.000000Z"}
    return msgspec.convert({"metadata": {"name": "jobflow-controller", "namespace": "volcano"}, "spec": spec}, Lease)


def test_of_one_that_gets_on_there_is_nothing_to_say() -> None:
    assert signs(facts_of(JOBFLOW, get="Running")) == {}


def test_one_that_nobody_has_ever_looked_at_has_no_controller() -> None:
    told = signs(facts_of(a_jobflow("get", metadata={"creationTimestamp": MADE})))
    assert "never been looked at" in told["NoController"]


def test_one_that_is_a_moment_old_is_given_time() -> None:
    assert signs(facts_of(a_jobflow("get", metadata={"creationTimestamp": "2026-03-01T11:59:50Z"}))) == {}


@pytest.mark.parametrize(
    ("about", "words"),
    [
        pytest.param(
            {"get": ("Completed", "11:55")}, "clean could have started long ago", id="an entry that nothing holds up"
        ),
        pytest.param(
            {"get": ("Failed", "11:55")}, "it should be at Failed, and is said to be at Running", id="a stale phase"
        ),
    ],
)
def test_what_a_controller_would_have_done_by_now_tells_of_its_absence(about: dict[str, Any], words: str) -> None:
    jobs = {name: running(JOBFLOW, name, phase, since=since) for name, (phase, since) in about.items()}
    assert words in signs(facts_of(JOBFLOW, **jobs))["NoController"]


def test_what_it_has_a_moment_for_still_does_not() -> None:
    get = a_job(
        JOBFLOW, "get", "Completed", conditions=[{"status": "Completed", "lastTransitionTime": "2026-03-01T11:59:50Z"}]
    )
    assert signs(facts_of(JOBFLOW, get=get)) == {}


def test_a_status_that_tells_of_an_older_spec_is_a_sign() -> None:
    jobflow = a_running_jobflow("get", metadata={"generation": 3})
    assert "generation 3, and the status tells of 1" in signs(facts_of(jobflow, get="Running"))["NoController"]


def test_without_generations_in_the_status_they_tell_nothing() -> None:
    jobflow = a_running_jobflow("get", metadata={"generation": 3}, status={"observedGeneration": None})
    assert signs(facts_of(jobflow, get="Running")) == {}


def test_a_lease_that_has_run_out_is_a_sign_by_itself() -> None:
    told = signs(facts_of(JOBFLOW, get="Running", leases=[a_lease("11:50:00")]))
    assert "the Lease volcano/jobflow-controller was last renewed 10m ago, by pod-1" in told["NoController"]


@pytest.mark.parametrize("holder", ["pod-1", ""])
def test_a_lease_that_is_held_or_between_two_holders_is_none(holder: str) -> None:
    assert signs(facts_of(JOBFLOW, get="Running", leases=[a_lease("11:59:55", holder)])) == {}


def test_a_live_controller_that_neglects_a_jobflow_is_told_as_that() -> None:
    get = running(JOBFLOW, "get", "Completed", since="11:55")
    told = signs(facts_of(JOBFLOW, get=get, leases=[a_lease("11:59:55")]))
    assert "some controller holds its Lease: see its log" in told["NoController"]


def test_that_there_is_no_lease_at_all_is_said_only_beside_another_sign() -> None:
    assert signs(facts_of(JOBFLOW, get="Running", leases=[])) == {}
    get = running(JOBFLOW, "get", "Completed", since="11:55")
    assert "there is no Lease of a controller" in signs(facts_of(JOBFLOW, get=get, leases=[]))["NoController"]


def test_a_deletion_says_which_finalizers_and_jobs_hold_it() -> None:
    metadata = {"deletionTimestamp": MADE, "finalizers": ["foregroundDeletion", "example.com/audit"]}
    jobflow = msgspec.convert(a_jobflow_object("get", metadata=metadata, phase="Terminating"), WholeJobFlow)
    slim = a_job(jobflow, "get", "Running", metadata={"finalizers": ["volcano.sh/keep"]})
    job = msgspec.convert(
        {
            "metadata": {"name": slim.name, "namespace": "ml", "uid": slim.uid, "finalizers": ["volcano.sh/keep"]},
            "status": {"state": {"phase": "Running"}},
        },
        WholeJob,
    )
    told = signs(facts_of(jobflow, get=job))["Deleting"]
    assert "stays until its Job is gone: etl-get (Running, held by its finalizers volcano.sh/keep)" in told
    assert "example.com/audit" in told


def test_a_spec_that_cannot_be_run_is_told_with_every_fault() -> None:
    told = signs(facts_of(JOBFLOW, faults=("spec.flows[1]: a", "spec.flows[2]: b")))["SpecInvalid"]
    assert "spec.flows[1]: a; spec.flows[2]: b" in told


def test_an_end_is_told_with_how_long_it_took() -> None:
    status = {"completionTime": "2026-03-01T11:58:00Z"}
    done = a_running_jobflow("get", phase="Succeed", status=status)
    assert signs(facts_of(done, get="Completed"))["Succeed"] == "It has succeeded, 8m after it began"


def test_a_failure_is_told_with_what_failed_and_what_never_starts() -> None:
    failed = a_running_jobflow("get", "clean: get", "train: clean", phase="Failed")
    told = signs(facts_of(failed, get="Failed"))["Failed"]
    assert "because of get (Failed); 2 entries will never start" in told
