"""What a real API server makes of the CustomResourceDefinitions."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("CRDs on a real API server")]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[KubeApiserver]:
    crds = sorted((ROOT / "charts" / "jobflow" / "crds").glob("*.yaml"))
    with KubeApiserver(require_binaries(), controller_manager=False, crds=crds) as running:
        yield running


def kubectl(server: KubeApiserver, *arguments: str, manifest: object = None) -> subprocess.CompletedProcess[str]:
    """Run kubectl, whatever its outcome; a manifest goes in by standard input."""
    return subprocess.run(
        [str(server.binaries.kubectl), "--kubeconfig", str(server.kubeconfig), *arguments],
        input=None if manifest is None else json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def an_object(kind: str, name: str, spec: object) -> dict[str, Any]:
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def stored_spec(server: KubeApiserver, kind: str, name: str, spec: object) -> object:
    """Create an object and return the spec that the API server stored."""
    created = kubectl(server, "create", "-o", "json", "-f", "-", manifest=an_object(kind, name, spec))
    assert created.returncode == 0, created.stderr
    return json.loads(created.stdout)["spec"]


def test_the_schemas_are_taken_without_a_complaint(server: KubeApiserver) -> None:
    found = json.loads(kubectl(server, "get", "crd", "-o", "json").stdout)["items"]
    assert len(found) >= 2
    for crd in found:
        conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
        assert conditions.get("Established") == "True"
        assert conditions.get("NonStructuralSchema", "False") == "False"


@pytest.mark.parametrize(
    ("field", "taught"),
    [
        ("jobflow.spec.flows.dependsOn.targets", "whose Jobs must all have completed"),
        ("jf.spec.jobRetainPolicy", "retain"),
        ("jobtemplate.spec.tasks.policies.event", "PodEvicted"),
        ("jt.spec.plugins", "svc"),
        ("jobflow.status.state", "reason"),
    ],
)
def test_kubectl_explain_teaches(server: KubeApiserver, field: str, taught: str) -> None:
    # The API server publishes the schema of a new CRD a moment after it serves it.
    assert eventually(lambda: taught in " ".join(kubectl(server, "explain", field).stdout.split()), timeout=20)


def test_every_example_is_stored_as_it_is_written(server: KubeApiserver) -> None:
    examples = [str(ROOT / "examples" / name) for name in ("diamond.yaml", "ml-pipeline", "nightly-report.yaml")]
    arguments = [argument for example in examples for argument in ("-f", example)]
    applied = kubectl(server, "apply", "--server-side", *arguments)
    assert (applied.returncode, applied.stderr) == (0, "")
    unchanged = kubectl(server, "diff", "--server-side", *arguments)
    assert unchanged.returncode == 0, unchanged.stdout


def test_a_pod_template_and_a_claim_come_back_unpruned(server: KubeApiserver) -> None:
    task = {
        "name": "main",
        "replicas": 1,
        "template": {
            "metadata": {"annotations": {"a": "b"}, "finalizers": ["x.example/y"]},
            "spec": {"containers": [{"name": "main", "aFieldOfTomorrow": {"deep": [1, {"er": None}]}}]},
        },
    }
    volume = {"mountPath": "/data", "volumeClaim": {"aFieldOfTomorrow": "kept"}}
    written = {"queue": "default", "maxRetry": 3, "tasks": [task], "volumes": [volume]}
    assert stored_spec(server, "JobTemplate", "unpruned", written) == written


def test_a_jobflow_keeps_its_jobs_by_default(server: KubeApiserver) -> None:
    stored = stored_spec(server, "JobFlow", "defaults", {"flows": [{"name": "one"}]})
    assert stored == {"flows": [{"name": "one"}], "jobRetainPolicy": "retain"}


def test_nothing_is_filled_into_a_patch(server: KubeApiserver) -> None:
    flow = {
        "name": "one",
        "patch": {"jobSpec": {"networkTopology": {}, "tasks": [{"partitionPolicy": {}}]}, "spec": {"any": [1]}},
    }
    stored = stored_spec(server, "JobFlow", "patched", {"flows": [flow], "jobRetainPolicy": "retain"})
    assert stored == {"flows": [flow], "jobRetainPolicy": "retain"}


def test_what_typed_go_clients_send_is_taken(server: KubeApiserver) -> None:
    """They write an empty header, and null for times that are not set."""
    probe = {"httpGetList": [{"taskName": "main", "path": "/", "port": 80, "httpHeader": {"name": "", "value": ""}}]}
    flow = {"name": "one", "dependsOn": {"targets": [], "probe": probe}}
    manifest = an_object("JobFlow", "from-go", {"flows": [flow]})
    manifest["metadata"]["creationTimestamp"] = None
    manifest["status"] = {"state": {}}
    created = kubectl(server, "create", "-f", "-", manifest=manifest)
    assert created.returncode == 0, created.stderr


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({"flows": [{}]}, "spec.flows[0].name: Required value", id="an entry without a name"),
        pytest.param(
            {"flows": [], "jobRetainPolicy": "keep"},
            'spec.jobRetainPolicy: Unsupported value: "keep"',
            id="an unknown policy",
        ),
        pytest.param(
            {"flows": [{"name": "a", "dependsOn": {"probe": {"tcpSocketList": [{"taskName": "t", "port": 65536}]}}}]},
            "spec.flows[0].dependsOn.probe.tcpSocketList[0].port: Invalid value: 65536",
            id="a port that there is not",
        ),
        pytest.param(None, "spec: Required value", id="no spec"),
    ],
)
def test_the_schema_refuses_with_the_place(server: KubeApiserver, spec: object, said: str) -> None:
    manifest = an_object("JobFlow", "refused", spec)
    if spec is None:
        del manifest["spec"]
    refused = kubectl(server, "create", "--validate=false", "-f", "-", manifest=manifest)
    assert refused.returncode == 1
    assert said in refused.stderr


@pytest.mark.parametrize("spec", [{}, {"flows": []}], ids=["no flows", "an empty list"])
def test_what_the_webhook_says_better_is_left_to_it(server: KubeApiserver, spec: object) -> None:
    stored_spec(server, "JobFlow", f"left-to-the-webhook-{len(json.dumps(spec))}", spec)


def test_a_number_beyond_32_bits_is_refused_with_its_place(server: KubeApiserver) -> None:
    template = an_object("JobTemplate", "many", {"tasks": [{"name": "main", "replicas": 2**31}]})
    refused = kubectl(server, "create", "-f", "-", manifest=template)
    assert refused.returncode == 1
    assert "spec.tasks[0].replicas: Invalid value: 2147483648" in refused.stderr
