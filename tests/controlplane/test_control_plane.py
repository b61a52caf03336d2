"""Checks that what was built, or found, is a control plane on which the other tests can rely.

A kube-apiserver may start and be ready and yet be broken: built with the wrong Go it publishes an OpenAPI document that
makes kubectl refuse every manifest. So these tests apply a CRD with kubectl and send its resource through a webhook.
"""

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver
from tests.support.volcano_crds import volcano_crds
from tests.support.waiting import eventually
from tests.support.webhook_server import Request, ValidatingWebhook

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

SHELF_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shelves.test.example"},
    "spec": {
        "group": "test.example",
        "scope": "Namespaced",
        "names": {"kind": "Shelf", "plural": "shelves", "singular": "shelf"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "boards": {
                                        "type": "integer",
                                        "description": "How many boards it has.",
                                        "minimum": 1,
                                    }
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[KubeApiserver]:
    with KubeApiserver(require_binaries(), audit=True) as server:
        server.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(SHELF_CRD))
        server.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/shelves.test.example")
        yield server


def shelf(name: str, boards: object) -> str:
    return yaml.safe_dump(
        {"apiVersion": "test.example/v1", "kind": "Shelf", "metadata": {"name": name}, "spec": {"boards": boards}}
    )


def test_kubectl_applies_and_explains_a_custom_resource(server: KubeApiserver) -> None:
    server.kubectl("apply", "-f", "-", stdin=shelf("client-side", 3))
    server.kubectl("apply", "--server-side", "-f", "-", stdin=shelf("server-side", 4))

    listed = json.loads(server.kubectl("get", "shelves", "-o", "json").stdout)["items"]

    boards = {each["metadata"]["name"]: each["spec"]["boards"] for each in listed}
    assert boards.items() >= {"client-side": 3, "server-side": 4}.items()
    # The description travels only if the API server's OpenAPI document is whole.
    assert eventually(lambda: "How many boards it has." in server.kubectl("explain", "shelf.spec", check=False).stdout)


def test_the_schema_of_a_crd_is_enforced(server: KubeApiserver) -> None:
    refused = server.kubectl("apply", "-f", "-", stdin=shelf("none", 0), check=False)

    assert refused.returncode == 1
    assert "spec.boards: Invalid value: 0" in refused.stderr


def test_a_custom_resource_goes_through_a_webhook_on_the_loopback(server: KubeApiserver) -> None:
    def judge(request: Request) -> str | None:
        return "too high to reach" if request["object"]["spec"]["boards"] > 10 else None

    def create(boards: int, *options: str) -> subprocess.CompletedProcess[str]:
        stdin = shelf(f"with-{boards}", boards)
        return server.kubectl("-n", "library", "create", *options, "-f", "-", stdin=stdin, check=False)

    with ValidatingWebhook(judge) as librarian:
        server.kubectl("create", "namespace", "library")
        configuration = librarian.configuration("librarian", "library", "test.example", "shelves")
        server.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(configuration))
        # It takes the API server a second or two to notice a registration.
        assert eventually(lambda: create(11, "--dry-run=server").returncode == 1)

        refused, taken = create(11), create(10)

    assert 'admission webhook "shelves.librarian.example" denied the request: too high to reach' in refused.stderr
    assert taken.stdout == "shelf.test.example/with-10 created\n"
    assert librarian.asked[-2:] == ["with-11", "with-10"]


def test_the_audit_log_has_every_request_with_its_user(server: KubeApiserver) -> None:
    server.kubectl("get", "shelf", "nowhere", check=False)

    def logged() -> bool:
        return any(
            event["verb"] == "get"
            and event["objectRef"].get("name") == "nowhere"
            and event["user"]["username"] == "admin"
            for event in server.audit_events()
            if event.get("objectRef", {}).get("resource") == "shelves"
        )

    assert eventually(logged)


def test_a_namespace_that_is_deleted_goes_with_what_was_in_it(server: KubeApiserver) -> None:
    server.kubectl("create", "namespace", "short-lived")
    server.kubectl("-n", "short-lived", "apply", "-f", "-", stdin=shelf("doomed", 1))

    server.kubectl("delete", "namespace", "short-lived", "--timeout=30s")

    assert "NotFound" in server.kubectl("-n", "short-lived", "get", "shelf", "doomed", check=False).stderr
    # Admission knows the one who cleans up by this name.
    assert "system:serviceaccount:kube-system:namespace-controller" in {
        event["user"]["username"]
        for event in server.audit_events()
        if event["verb"] == "deletecollection" and event["objectRef"]["resource"] == "shelves"
    }


def test_an_object_whose_owner_is_gone_is_garbage_collected(server: KubeApiserver) -> None:
    server.kubectl("create", "configmap", "owner")
    uid = server.kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}").stdout
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    owned = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owned", "ownerReferences": [owner]}}
    server.kubectl("create", "-f", "-", stdin=yaml.safe_dump(owned))

    server.kubectl("delete", "configmap", "owner")

    server.kubectl("wait", "--for=delete", "secret/owned", "--timeout=30s")


def test_what_was_stored_outlives_a_crash_of_the_api_server() -> None:
    with KubeApiserver(require_binaries(), controller_manager=False) as server:
        server.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        url = server.url

        server.restart_apiserver(how=signal.SIGKILL)

        assert server.url == url
        assert server.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"


def test_volcanos_own_crds_are_taken_and_judge_its_jobs() -> None:
    crds = volcano_crds()
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"minAvailable": -1},
    }
    installed = (crds.job, crds.jobflow, crds.jobtemplate)
    with KubeApiserver(require_binaries(), controller_manager=False, crds=installed) as server:
        assert "jf" in server.kubectl("api-resources", "--api-group=flow.volcano.sh").stdout

        refused = server.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(job), check=False)
        server.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(job | {"spec": {"minAvailable": 1}}))

        assert "spec.minAvailable: Invalid value: -1" in refused.stderr
        # A default of the real CRD, which a looser stand-in would not have.
        assert server.kubectl("get", "vcjob", "j", "-o", "jsonpath={.spec.queue}").stdout == "default"
