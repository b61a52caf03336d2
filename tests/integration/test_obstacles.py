"""What happens when something is wrong: the rest goes on, the status says why, and mending it revives the JobFlow."""

from collections.abc import Iterator

import pytest

from tests.support.cluster import PATIENCE
from tests.support.kubectl import VOLCANO_JOBS, as_yaml
from tests.support.programs import Program
from tests.support.waiting import eventually
from tests.support.webhook_server import ValidatingWebhook
from tests.support.workspace import (
    Workspace,
    a_job,
    created_out_of_turn,
    creations,
    jobflow,
    jobtemplates,
)

pytestmark = pytest.mark.integration

DIAMOND = jobflow("etl", "get", "clean: get", "count: get", "train: clean count")
NAMES = ("get", "clean", "count", "train")
ALL_JOBS = sorted(f"etl-{name}" for name in NAMES)


def test_an_entry_waits_for_its_template_and_the_other_branches_go_on(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates("get", "count", "train"), DIAMOND)
    ns.wait_for_status("etl", completedJobs=["etl-count", "etl-get"])
    if ns.has_our_status:
        assert '"clean"' in ns.wait_for_reason("etl", "TemplateNotFound")

    ns.kubectl.apply(*jobtemplates("clean"))

    ns.wait_for_phase("etl", "Succeed")
    assert created_out_of_turn(DIAMOND, ns.job_history()) == []


def test_the_creation_warns_of_templates_that_do_not_exist_yet(ns: Workspace) -> None:
    said = ns.kubectl.apply(*jobtemplates("get", "count"), DIAMOND)

    (warning,) = [line for line in said.splitlines() if line.startswith("Warning:")]
    assert "2 JobTemplates do not exist yet: clean, train" in warning


@pytest.fixture
def closed_queue(ns: Workspace) -> Iterator[ValidatingWebhook]:
    """Somebody's webhook, as Volcano's own, that refuses Jobs named etl-clean until it is told otherwise."""
    refusal = "can only submit job to queue with state `Open`, queue `default` status is `Closed`"
    with ValidatingWebhook(lambda request: refusal if request["name"] == "etl-clean" else None) as webhook:
        name = f"queue-of-{ns.name}"
        ns.kubectl.apply(webhook.configuration(name, ns.name, "batch.volcano.sh", "jobs"))
        assert eventually(lambda: probe_is_refused(ns)), "the API server does not ask the webhook"
        yield webhook
        ns.kubectl("delete", "validatingwebhookconfiguration", name)


def probe_is_refused(ns: Workspace) -> bool:
    done = ns.kubectl.run("create", "--dry-run=server", "-f", "-", stdin=as_yaml(a_job("etl-clean")))
    return done.returncode != 0 and "Closed" in done.stderr


def test_a_job_that_is_refused_is_tried_again_until_it_is_taken(
    ns: Workspace, player: Program, closed_queue: ValidatingWebhook
) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    status = ns.wait_for_status("etl", completedJobs=["etl-count", "etl-get"])
    assert status["state"]["phase"] == "Running"
    if ns.has_our_status:
        assert "queue `default` status is `Closed`" in ns.wait_for_reason("etl", "JobRefused")
    before = closed_queue.asked.count("etl-clean")

    assert eventually(lambda: closed_queue.asked.count("etl-clean") > before), "it was not tried again"
    closed_queue.judge = lambda request: None

    ns.wait_for_phase("etl", "Succeed")
    assert creations(ns.job_history()) == ALL_JOBS


def test_a_strangers_job_of_our_name_is_left_alone_and_makes_room_when_it_goes(ns: Workspace) -> None:
    ns.kubectl.apply(a_job("etl-clean", labels={"volcano.sh/createdByJobFlow": f"{ns.name}.etl"}))
    ns.play("etl-clean", "Completed")
    stranger = ns.wait_for_job("etl-clean")
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.play("etl-get", "Completed")
    ns.play("etl-count", "Completed")

    status = ns.wait_for_status("etl", completedJobs=["etl-count", "etl-get"])
    if ns.has_our_status:
        assert '"etl-clean"' in ns.wait_for_reason("etl", "JobNameConflict")

    assert "etl-clean" not in str(status["jobStatusList"])
    assert ns.wait_for_job("etl-clean") == stranger, "neither adopted nor changed"
    assert "etl-train" not in ns.jobs(), "the stranger's completion is not that of the entry"
    ns.kubectl("delete", VOLCANO_JOBS, "etl-clean")
    assert eventually(lambda: is_owned_by(ns, "etl-clean", "etl"), timeout=5)


def is_owned_by(ns: Workspace, job: str, flow: str) -> bool:
    found, owner = ns.kubectl.get(VOLCANO_JOBS, job), ns.kubectl.get("jobflow", flow)
    assert owner
    owners = [each["uid"] for each in found["metadata"].get("ownerReferences", ())] if found else []
    return owners == [owner["metadata"]["uid"]]


def test_a_jobflow_under_the_name_of_a_deleted_one_has_nothing_to_do_with_its_jobs(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    for job in ("etl-get", "etl-train"):
        ns.play(job, "Completed")
    ns.wait_for_phase("etl", "Succeed")
    # Kept by a finalizer, the Jobs of the first outlive it.
    for job in ("etl-get", "etl-train"):
        hold(ns, job)
    first = ns.kubectl.by_name(VOLCANO_JOBS)
    ns.kubectl("delete", "jobflow", "etl", PATIENCE)

    ns.kubectl.apply(jobflow("etl", "get", "train: get"))
    if ns.has_our_status:
        ns.wait_for_reason("etl", "JobNameConflict")
    else:
        ns.wait_for_phase("etl", "Pending")
    assert not ns.status("etl").get("completedJobs")
    for job in first:
        release(ns, job)

    ns.play_new("etl-get", "Completed", than=first)
    ns.play_new("etl-train", "Completed", than=first)
    ns.wait_for_phase("etl", "Succeed")


def hold(ns: Workspace, job: str) -> None:
    ns.kubectl("patch", VOLCANO_JOBS, job, "--type=merge", '--patch={"metadata":{"finalizers":["test.example/hold"]}}')


def release(ns: Workspace, job: str) -> None:
    ns.kubectl("patch", VOLCANO_JOBS, job, "--type=merge", '--patch={"metadata":{"finalizers":null}}')


def test_jobs_that_were_orphaned_are_strangers_to_the_next_jobflow(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.play("etl-get", "Completed")
    ns.wait_for_phase("etl", "Succeed")
    ns.kubectl("delete", "jobflow", "etl", "--cascade=orphan", PATIENCE)
    orphan = ns.wait_for_job("etl-get")
    assert "ownerReferences" not in orphan["metadata"]

    ns.kubectl.apply(jobflow("etl", "get"))
    if ns.has_our_status:
        ns.wait_for_reason("etl", "JobNameConflict")
    else:
        ns.wait_for_phase("etl", "Pending")
    ns.kubectl("delete", VOLCANO_JOBS, "etl-get")

    assert eventually(lambda: is_owned_by(ns, "etl-get", "etl"), timeout=5)


def test_a_job_that_is_deleted_while_it_runs_is_lost_and_the_jobflow_fails(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Running")
    ns.wait_for_status("etl", runningJobs=["etl-get"])

    ns.kubectl("delete", VOLCANO_JOBS, "etl-get")

    ns.wait_for_phase("etl", "Failed")
    status = ns.wait_for_status("etl", unKnowJobs=["etl-get"])
    assert ns.jobs() == set(), "it is not created again"
    if ns.has_our_status:
        assert status["state"]["reason"] == "JobLost"


def test_what_has_completed_stays_completed_when_its_job_is_deleted(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Completed")
    ns.wait_for_status("etl", completedJobs=["etl-get"])
    ns.kubectl("delete", VOLCANO_JOBS, "etl-get")

    ns.play("etl-train", "Completed")

    status = ns.wait_for_phase("etl", "Succeed")
    assert status["completedJobs"] == ["etl-get", "etl-train"]
    assert creations(ns.job_history()) == ["etl-get", "etl-train"]


@pytest.mark.parametrize("seen", range(1, len(NAMES) + 1), ids=lambda n: f"after {n} of {len(NAMES)} Jobs")
def test_a_controller_that_is_killed_is_taken_up_where_it_was(ns: Workspace, player: Program, seen: int) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    assert eventually(lambda: len(ns.jobs()) >= seen, every=0.01)

    ns.cluster.controller.kill()
    ns.cluster.controller.start()

    ns.wait_for_phase("etl", "Succeed")
    jobs = ns.job_history()
    assert creations(jobs) == ALL_JOBS, "each Job is created once, whatever the controller forgot"
    assert created_out_of_turn(DIAMOND, jobs) == []


def test_what_is_applied_while_the_controller_is_down_starts_when_it_is_back(ns: Workspace, player: Program) -> None:
    ns.cluster.controller.kill()
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)

    ns.cluster.controller.start()

    ns.wait_for_phase("etl", "Succeed")


def test_the_controller_ends_cleanly_when_it_is_asked_to(ns: Workspace) -> None:
    assert ns.cluster.controller.stop() == 0
    ns.cluster.controller.start()


def test_while_the_webhook_is_down_nothing_new_is_taken_and_what_runs_goes_on(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Running")
    ns.cluster.webhook.kill()
    try:
        refused = ns.kubectl.refused("create", "-f", "-", stdin=as_yaml(jobflow("other", "get")))
        assert 'failed calling webhook "jobflows.flow.volcano.sh"' in refused
        for job in ("etl-get", "etl-train"):
            ns.play(job, "Completed")
        ns.wait_for_phase("etl", "Succeed")
        ns.kubectl("label", "jobflow", "etl", "reviewed=yes")
    finally:
        ns.cluster.webhook.start()
