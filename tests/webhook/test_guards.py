"""What may be deleted, and what a user is told where something may not."""

from typing import Any

import msgspec
import pytest

from shared.api.names import ALLOW_DELETE
from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from webhook import guards
from webhook.verdict import Verdict

RELEASED = {"annotations": {ALLOW_DELETE: "true"}}
DELETING = {"deletionTimestamp": "2026-11-21T12:00:00Z"}


def deleting_jobflow(username: str = "alice", **about: Any) -> Verdict:
    jobflow = msgspec.convert(a_jobflow_object("get", name="etl", namespace="ml", **about), guards.StoredJobFlow)
    return guards.delete_jobflow(jobflow, username)


def a_template(metadata: dict[str, Any] | None = None) -> guards.StoredJobTemplate:
    template = a_jobtemplate_object("get", "ml")
    template["metadata"] |= metadata or {}
    return msgspec.convert(template, guards.StoredJobTemplate)


@pytest.mark.parametrize("phase", ["Succeed", "Failed", "Terminating"])
def test_a_finished_jobflow_may_be_deleted(phase: str) -> None:
    assert deleting_jobflow(phase=phase).allowed


@pytest.mark.parametrize("phase", [None, "", "Pending", "Running", "Unheard-of", "succeed"])
def test_a_jobflow_that_has_not_finished_may_not_be_deleted(phase: str | None) -> None:
    verdict = deleting_jobflow(phase=phase)
    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 403, "Forbidden")
    assert verdict.rules == {"not-while-unfinished"}


def test_the_refusal_says_the_phase_the_jobs_that_run_and_the_way_out() -> None:
    status = {"state": {"phase": "Running"}, "runningJobs": [f"etl-{i}" for i in range(7)]}
    message = deleting_jobflow(status=status).message
    assert "Running" in message
    assert "etl-0, etl-1, etl-2, etl-3, etl-4 and 2 more" in message
    assert "kubectl annotate jobflow etl -n ml flow.volcano.sh/allow-delete=true" in message


def test_a_jobflow_that_nobody_has_looked_at_yet_is_pending() -> None:
    assert "Pending, with none of its Jobs running" in deleting_jobflow().message


def test_a_user_can_release_a_running_jobflow_and_the_audit_log_knows() -> None:
    verdict = deleting_jobflow(phase="Running", metadata=RELEASED)
    assert verdict.allowed
    assert verdict.audit == {"allow-delete": "annotation flow.volcano.sh/allow-delete"}


@pytest.mark.parametrize("value", ["", "True", "yes", "1", "false"])
def test_any_other_value_releases_nothing(value: str) -> None:
    assert not deleting_jobflow(phase="Running", metadata={"annotations": {ALLOW_DELETE: value}}).allowed


def test_what_is_being_deleted_already_may_be_deleted_again() -> None:
    assert deleting_jobflow(phase="Running", metadata=DELETING).allowed
    assert guards.delete_jobtemplate(a_template(DELETING), "alice") == Verdict(allowed=True)


@pytest.mark.parametrize(
    "username",
    [
        "system:serviceaccount:kube-system:namespace-controller",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:kube-controller-manager",
    ],
)
def test_who_cleans_up_the_cluster_is_never_held_up(username: str) -> None:
    verdict = deleting_jobflow(username, phase="Running", metadata=RELEASED)
    assert verdict.allowed
    assert not verdict.audit, "the annotation was not what decided"
    assert guards.delete_jobtemplate(a_template(), username) == Verdict(allowed=True)


@pytest.mark.parametrize(
    "username",
    ["", "system:admin", "system:serviceaccount:default:namespace-controller", "system:kube-controller-manager "],
)
def test_nobody_else_is_exempt(username: str) -> None:
    assert not deleting_jobflow(username, phase="Running").allowed
    assert guards.delete_jobtemplate(a_template(), username) is None


def test_a_jobtemplate_that_nobody_uses_may_be_deleted() -> None:
    assert guards.delete_used_jobtemplate(a_template(), []).allowed


def test_a_jobtemplate_in_use_may_not_be_deleted_and_its_users_are_named() -> None:
    verdict = guards.delete_used_jobtemplate(a_template(), ["etl", "report"])
    assert (verdict.allowed, verdict.code, verdict.rules) == (False, 403, {"not-while-in-use"})
    assert "etl, report" in verdict.message
    assert "kubectl annotate jobtemplate get -n ml flow.volcano.sh/allow-delete=true" in verdict.message


def test_a_released_jobtemplate_is_deleted_without_asking_who_uses_it() -> None:
    verdict = guards.delete_jobtemplate(a_template(RELEASED), "alice")
    assert verdict is not None
    assert verdict.allowed
    assert verdict.audit


def test_a_jobtemplate_is_not_deleted_on_a_guess() -> None:
    verdict = guards.cannot_verify(a_template())
    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 503, "ServiceUnavailable")
    assert "cannot verify that no JobFlow uses it; try again" in verdict.message
    assert "allow-delete=true" in verdict.message
