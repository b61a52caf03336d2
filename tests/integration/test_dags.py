"""The main job: what a user applies runs, in the order of its dependencies, to its end."""

import itertools

import pytest

from tests.support.cluster import PATIENCE, ROOT
from tests.support.kubectl import VOLCANO_JOBS, Object, documents
from tests.support.programs import Program
from tests.support.waiting import eventually
from tests.support.workspace import (
    Workspace,
    created_out_of_turn,
    creations,
    jobflow,
    jobtemplate,
    jobtemplates,
)

pytestmark = pytest.mark.integration

EXAMPLES = ROOT / "examples"
DIAMOND = jobflow("etl", "get", "clean: get", "count: get", "train: clean count")
NAMES = ("get", "clean", "count", "train")


def chain(length: int) -> Object:
    return jobflow("chain", "e0", *(f"e{i}: e{i - 1}" for i in range(1, length)))


def fan(width: int) -> Object:
    arms = [f"arm{i}" for i in range(width)]
    return jobflow("fan", "first", *(f"{arm}: first" for arm in arms), f"last: {' '.join(arms)}")


def dense(layers: int, width: int) -> Object:
    """Each entry depends on every entry of the layer before it."""
    grid = [[f"n{layer}-{i}" for i in range(width)] for layer in range(layers)]
    later = [f"{name}: {' '.join(above)}" for above, layer in itertools.pairwise(grid) for name in layer]
    return jobflow("dense", *grid[0], *later)


def backwards(length: int) -> Object:
    """A chain whose entries stand in the list from the last to the first."""
    return jobflow("backwards", *(f"e{i}: e{i - 1}" for i in range(length - 1, 0, -1)), "e0")


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(list(documents(EXAMPLES / "diamond.yaml")), id="the example of a diamond"),
        pytest.param(
            list(documents(*sorted((EXAMPLES / "ml-pipeline").glob("*.yaml")))), id="the example of a pipeline"
        ),
        pytest.param([chain(12)], id="a chain"),
        pytest.param([fan(25)], id="a fan"),
        pytest.param([dense(4, 4)], id="dense layers"),
        pytest.param([backwards(5)], id="a chain listed backwards"),
        pytest.param([jobflow("alone", "one")], id="a single entry"),
        pytest.param([jobflow("loose", "one", "two", "three")], id="entries without any dependency"),
    ],
)
def test_each_job_is_created_once_and_after_all_that_it_depends_on_has_completed(
    ns: Workspace, player: Program, objects: list[Object]
) -> None:
    flow = next(each for each in objects if each["kind"] == "JobFlow")
    entries = [entry["name"] for entry in flow["spec"]["flows"]]
    name = flow["metadata"]["name"]
    templates = [each for each in objects if each["kind"] == "JobTemplate"] or jobtemplates(*entries)

    ns.kubectl.apply(*templates, flow)
    status = ns.wait_for_phase(name, "Succeed")

    jobs = ns.job_history()
    assert creations(jobs) == sorted(f"{name}-{entry}" for entry in entries)
    assert created_out_of_turn(flow, jobs) == []
    assert status["completedJobs"] == sorted(f"{name}-{entry}" for entry in entries)
    writes = [kind for kind, _ in ns.kubectl.history("jobflows", ns.since) if kind == "MODIFIED"]
    changes = sum(kind == "MODIFIED" for kind, _ in jobs)
    assert len(writes) <= max(4 * len(entries) + 2, changes + len(entries) + 2), "it writes its status too often"


def test_a_job_waits_for_every_one_of_its_targets(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.play("etl-get", "Completed")
    ns.play("etl-clean", "Completed")
    ns.play("etl-count", "Running")
    ns.wait_for_status("etl", completedJobs=["etl-clean", "etl-get"], runningJobs=["etl-count"])
    assert ns.jobs() == {"etl-get", "etl-clean", "etl-count"}

    ns.play("etl-count", "Completed")

    ns.wait_for_job("etl-train")


@pytest.mark.parametrize("phase", ["Completing", "Aborted", "Restarting", "Terminating"])
def test_only_completed_counts_as_completed(ns: Workspace, phase: str) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))

    ns.play("etl-get", phase)

    listed = {"Completing": "completedJobs", "Terminating": "terminatedJobs"}.get(phase, "unKnowJobs")
    ns.wait_for_status("etl", **{listed: ["etl-get"]})
    assert ns.jobs() == {"etl-get"}


def test_a_job_is_its_template_under_the_name_the_labels_and_the_owner_that_volcano_gives(ns: Workspace) -> None:
    (template,) = jobtemplates("get")
    template["spec"] |= {"priorityClassName": "high", "plugins": {"env": [], "svc": ["--disable-network-policy=true"]}}
    ns.kubectl.apply(template, jobflow("etl", "get"))

    job = ns.wait_for_job("etl-get")

    flow = ns.kubectl.get("jobflow", "etl")
    stored = ns.kubectl.get("jobtemplate", "get")
    assert flow
    assert stored
    marks = {
        "volcano.sh/createdByJobFlow": f"{ns.name}.etl",
        "volcano.sh/createdByJobTemplate": f"{ns.name}.get",
    }
    assert job["metadata"]["labels"] == marks
    assert job["metadata"]["annotations"] == marks
    assert job["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "flow.volcano.sh/v1alpha1",
            "kind": "JobFlow",
            "name": "etl",
            "uid": flow["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    # What the Job CRD fills in aside, the Job says what its template says.
    assert job["spec"].items() >= stored["spec"].items()
    assert job["spec"]["priorityClassName"] == "high"


def test_the_status_says_what_ran_and_when(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    for phase in ("Pending", "Running", "Completed"):
        ns.play("etl-get", phase)
        listed = {"Pending": "pendingJobs", "Running": "runningJobs", "Completed": "completedJobs"}[phase]
        ns.wait_for_status("etl", **{listed: ["etl-get"]})
    ns.play("etl-train", "Running")

    status = ns.wait_for_status("etl", runningJobs=["etl-train"])

    first, second = status["jobStatusList"]
    assert (first["name"], first["state"]) == ("etl-get", "Completed")
    assert (second["name"], second["state"]) == ("etl-train", "Running")
    assert first["startTimestamp"] <= first["endTimestamp"]
    assert "endTimestamp" not in second
    assert [each["state"] for each in first["runningHistories"]] == ["Pending", "Running", "Completed"]
    assert {name: each["phase"] for name, each in status["conditions"].items()} == {
        "etl-get": "Completed",
        "etl-train": "Running",
    }
    assert status["state"]["phase"] == "Running"
    if ns.has_our_status:
        assert status["progress"] == "1/2"
        assert status["observedGeneration"] == 1
        assert "startTime" in status
        assert "completionTime" not in status


def test_an_entry_that_waits_is_told_as_waiting(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Running")

    status = ns.wait_for_status("etl", runningJobs=["etl-get"])

    assert status["conditions"]["etl-train"]["phase"] == "Waiting"
    assert [each["name"] for each in status["jobStatusList"]] == ["etl-get"]
    if ns.has_our_status:
        assert status["state"]["message"] == "train waits for get"


def test_kubectl_get_shows_how_it_goes(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.wait_for_phase("etl", "Succeed")

    header, row = (line.split() for line in ns.kubectl("get", "jf", "etl").splitlines())

    if ns.has_our_status:
        assert header == ["NAME", "STATUS", "PROGRESS", "MESSAGE", "AGE"]
        assert row[:3] == ["etl", "Succeed", "4/4"]
    else:
        assert header == ["NAME", "STATUS", "AGE"]
        assert row[:2] == ["etl", "Succeed"]


def test_kubectl_describe_shows_the_status(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    ns.wait_for_phase("etl", "Succeed")

    described = ns.kubectl("describe", "jobflow", "etl")

    assert "Completed Jobs:" in described
    assert "Phase:  Succeed" in described


def test_with_the_policy_delete_the_jobs_go_once_all_have_completed_and_the_record_stays(
    ns: Workspace, player: Program
) -> None:
    ns.kubectl.apply(*documents(EXAMPLES / "nightly-report.yaml"))

    ns.wait_for_phase("nightly-report", "Succeed")
    ns.kubectl("wait", "--for=delete", VOLCANO_JOBS, "--all", PATIENCE)

    assert len(ns.status("nightly-report")["completedJobs"]) == 4
    history = ns.kubectl.history("jobflows", ns.since)
    stored = next(
        int(flow["metadata"]["resourceVersion"])
        for _, flow in history
        if flow.get("status", {}).get("state", {}).get("phase") == "Succeed"
    )
    deleted = [int(job["metadata"]["resourceVersion"]) for kind, job in ns.job_history() if kind == "DELETED"]
    assert len(deleted) == 4
    assert min(deleted) > stored, "a Job was deleted before Succeed was stored"


def test_without_a_policy_the_jobs_stay(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)

    ns.wait_for_phase("etl", "Succeed")

    assert not [job for kind, job in ns.job_history() if kind == "DELETED"]
    assert ns.jobs() == {f"etl-{name}" for name in NAMES}


def test_a_jobtemplate_knows_the_jobs_that_were_made_of_it_in_all_jobflows(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("morning", "get"), jobflow("evening", "get"))

    ns.wait_for_phase("morning", "Succeed")
    ns.wait_for_phase("evening", "Succeed")

    def jobs() -> list[str]:
        template = ns.kubectl.get("jobtemplate", "get")
        assert template
        return list(template.get("status", {}).get("jobDependsOnList", ()))

    assert eventually(lambda: jobs() == ["evening-get", "morning-get"]), jobs()
    ns.kubectl("delete", VOLCANO_JOBS, "morning-get")
    assert eventually(lambda: jobs() == ["evening-get"]), jobs()


def test_a_failed_job_fails_the_jobflow_and_nothing_new_starts(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.play("etl-get", "Completed")
    ns.play("etl-clean", "Running")

    ns.play("etl-count", "Failed")
    ns.wait_for_phase("etl", "Failed")

    ns.play("etl-clean", "Completed")
    status = ns.wait_for_status("etl", completedJobs=["etl-clean", "etl-get"], failedJobs=["etl-count"])
    assert status["state"]["phase"] == "Failed", "what still ran has ended, and the status says so, but it stays Failed"
    assert ns.jobs() == {"etl-get", "etl-clean", "etl-count"}
    if ns.has_our_status:
        assert status["state"]["reason"] == "JobFailed"
        assert "etl-count" in status["state"]["message"]


def test_jobs_that_all_completed_before_anyone_looked_bring_it_to_succeed(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("one", "two"), jobflow("etl", "one", "two"))
    ns.wait_for_job("etl-two")
    ns.cluster.controller.kill()
    for job in ("etl-one", "etl-two"):
        ns.play(job, "Completed")

    ns.cluster.controller.start()

    ns.wait_for_phase("etl", "Succeed")


def test_a_finished_jobflow_may_be_deleted_and_its_jobs_go_with_it(ns: Workspace, player: Program) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.wait_for_phase("etl", "Succeed")

    ns.kubectl("delete", "jobflow", "etl", PATIENCE)

    ns.kubectl("wait", "--for=delete", VOLCANO_JOBS, "--all", PATIENCE)
    assert ns.jobs() == set()


def test_kubectl_get_w_shows_each_change_as_it_comes(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get"), jobflow("etl", "get"))
    with ns.kubectl.following("jobflow", "etl", "-o", "jsonpath={.status.state.phase}{'\\n'}") as lines:
        for job_phase, phase in (("Pending", "Pending"), ("Running", "Running"), ("Completed", "Succeed")):
            ns.play("etl-get", job_phase)
            assert any(line.strip() == phase for line in lines), f"the watch ended without {phase}"


def test_labels_are_cut_where_names_are_long_and_annotations_are_whole(ns: Workspace) -> None:
    template = "t" * 57
    obj = jobtemplate(template)
    obj["spec"]["tasks"][0]["name"] = "t"  # a Pod's name has that in it too
    ns.kubectl.apply(obj, jobflow("f", template))

    job = ns.wait_for_job(f"f-{template}")

    whole = f"{ns.name}.{template}"
    label = job["metadata"]["labels"]["volcano.sh/createdByJobTemplate"]
    assert job["metadata"]["annotations"]["volcano.sh/createdByJobTemplate"] == whole
    assert len(label) == 63 < len(whole)
    assert label[:50] == whole[:50]
    assert label[50:] != whole[50:63]
