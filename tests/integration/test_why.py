"""`jobflow-why` against a cluster at work: it names what holds a JobFlow up, for whoever may only look."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.test_obstacles import closed_queue
from tests.support.kubectl import Object
from tests.support.waiting import eventually
from tests.support.webhook_server import ValidatingWebhook
from tests.support.workspace import Workspace, a_job, jobflow, jobtemplates

__all__ = ["closed_queue"]

pytestmark = pytest.mark.integration

DIAMOND = jobflow("etl", "get", "clean: get", "count: get", "train: clean count")
NAMES = ("get", "clean", "count", "train")


def why(ns: Workspace, *arguments: str, kubeconfig: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """The command, asked about the JobFlow etl."""
    command = [sys.executable, "-m", "controller", "why", f"{ns.name}/etl", *arguments]
    config = str(kubeconfig or ns.kubectl.kubeconfig)
    return subprocess.run(
        [*command, "--kubeconfig", config, "--width", "110"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "TZ": "UTC"},
    )


def answer(ns: Workspace, *arguments: str) -> dict[str, Any]:
    ended = why(ns, *arguments, "-o", "json")
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


def causes(ns: Workspace) -> list[tuple[str, list[str], int]]:
    return [(cause["kind"], cause["entries"], cause["holdsUp"]) for cause in answer(ns)["causes"]]


def test_the_root_cause_comes_first_with_the_chain_to_what_waits_for_it(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.play("etl-get", "Running")

    told = why(ns)

    assert told.returncode == 0, told.stderr
    assert "get is Running since" in told.stdout
    assert "train waits for clean, which waits for get" in told.stdout
    assert "└─ clean, count  wait" in why(ns, "-o", "tree").stdout
    assert "Entry train of JobFlow" in why(ns, "etl-train").stdout, "an entry may be named by its Job"


def test_what_somebody_has_to_mend_is_named(ns: Workspace, closed_queue: ValidatingWebhook) -> None:
    ns.kubectl.apply(a_job("etl-count"), *jobtemplates("get", "clean", "count"), DIAMOND)
    ns.play("etl-get", "Completed")
    assert eventually(lambda: "JobRefused" in [kind for kind, _, _ in causes(ns)])

    found = {kind: names for kind, names, _ in causes(ns)}

    assert found["JobNameConflict"] == ["count"]
    assert found["TemplateNotFound"] == ["train"]
    assert found["JobRefused"] == ["clean"]
    assert "queue `default` status is `Closed`" in " ".join(why(ns, "clean").stdout.split())


def test_durations_of_earlier_runs_of_the_same_templates_make_the_estimate(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("earlier", "get", "train: get"))
    for job in ("earlier-get", "earlier-train"):
        ns.play(job, "Completed")
    ns.wait_for_phase("earlier", "Succeed")
    ns.kubectl.apply(jobflow("etl", "get", "train: get"))
    ns.wait_for_job("etl-get")

    estimate = answer(ns)["estimate"]

    assert [(step["entry"], step["basis"], step["runs"]) for step in estimate["path"]] == [
        ("get", "runs", 1),
        ("train", "runs", 1),
    ]
    assert not estimate["atLeast"]


def test_an_end_is_told_as_one(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates("get", "train"), jobflow("etl", "get", "train: get"))
    ns.play("etl-get", "Failed")
    ns.wait_for_phase("etl", "Failed")

    told = why(ns).stdout

    assert "because of get (Failed); 1 entry will never start" in told


def test_names_that_are_not_there_are_exit_code_1_with_a_near_miss(ns: Workspace) -> None:
    ns.kubectl.apply(*jobtemplates(*NAMES), jobflow("etl-nightly", "get"))
    missing = why(ns)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == f'jobflow-why: no JobFlow "etl" in namespace {ns.name}; there are etl-nightly\n'

    ns.kubectl.apply(DIAMOND)
    missing = why(ns, "trian")
    assert missing.returncode == 1
    assert "did you mean train?" in missing.stderr


READS = (
    ("flow.volcano.sh", "jobflows", ["get"]),
    ("flow.volcano.sh", "jobtemplates", ["list"]),
    ("batch.volcano.sh", "jobs", ["list"]),
)
"""All that an answer needs."""


def as_a_reader(ns: Workspace, directory: Path, rules: list[Object]) -> Path:
    """A kubeconfig of a ServiceAccount with a Role of these rules."""
    ns.kubectl("create", "serviceaccount", "reader")
    metadata = {"name": "reader", "namespace": ns.name}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": ns.name}
    version = "rbac.authorization.k8s.io/v1"
    ns.kubectl.apply(
        {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    )
    config = yaml.safe_load(ns.kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": ns.kubectl("create", "token", "reader").strip()}
    file = directory / "reader.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def test_who_may_do_nothing_but_read_three_kinds_has_an_answer(ns: Workspace, tmp_path: Path) -> None:
    rules = [{"apiGroups": [group], "resources": [plural], "verbs": verbs} for group, plural, verbs in READS]
    reader = as_a_reader(ns, tmp_path, rules)
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)
    ns.play("etl-get", "Running")

    told = why(ns, kubeconfig=reader)

    assert told.returncode == 0, told.stderr
    assert "get is Running since" in told.stdout
    for expected in ("What could not be read", "Events of", "Leases, which tell whether a controller is alive"):
        assert expected in told.stdout


def test_who_may_not_read_is_told_what_is_missing_with_exit_code_2(ns: Workspace, tmp_path: Path) -> None:
    reader = as_a_reader(ns, tmp_path, [])
    ns.kubectl.apply(*jobtemplates(*NAMES), DIAMOND)

    told = why(ns, kubeconfig=reader)

    assert (told.returncode, told.stdout) == (2, "")
    assert 'cannot get resource "jobflows"' in told.stderr


def test_of_a_thousand_entries_the_answer_is_a_screen_and_takes_seconds(ns: Workspace) -> None:
    middle = [f"f{number:03}" for number in range(998)]
    flows = ["first", *[f"{name}: first" for name in middle], f"last: {' '.join(middle)}"]
    ns.kubectl.apply(*jobtemplates("first"), jobflow("etl", *flows))
    ns.play("etl-first", "Running")
    began = time.monotonic()

    told = why(ns)

    assert time.monotonic() - began < 15
    assert len(told.stdout.splitlines()) <= 24, told.stdout
    assert "998 entries (f000, f001, f002 and 995 more) wait for first (Running)" in told.stdout
