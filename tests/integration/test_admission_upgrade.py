"""A cluster whose CRDs are replaced while JobFlows are there: what the new ones fill in is nobody's change."""

from pathlib import Path

import pytest
import trustme

from devcluster.stack.registration import webhook_configuration
from tests.support.cluster import EMPTY_FLOW, OUR_CRDS, crd_files, real_server, webhook_program
from tests.support.kubectl import as_yaml
from tests.support.waiting import eventually
from tests.support.workspace import jobflow

pytestmark = [pytest.mark.integration, pytest.mark.real, pytest.mark.xdist_group("real-ours")]


def test_a_default_of_new_crds_is_no_change_of_old_jobflows(tmp_path: Path) -> None:
    ca = trustme.CA()
    with real_server(tmp_path, crd_files("volcano")) as kubectl:
        webhook, url, _ = webhook_program(kubectl, tmp_path, ca)
        with webhook:
            kubectl.apply(webhook_configuration(url, ca.cert_pem.bytes()))
            assert eventually(lambda: kubectl.run("create", "--dry-run=server", "-f", "-", stdin=EMPTY_FLOW).returncode)
            kubectl.apply(jobflow("etl", "get"))
            for crd in OUR_CRDS.glob("*.yaml"):
                kubectl("apply", "--server-side", "--force-conflicts", "-f", str(crd))
            found = None

            def has_the_default() -> bool:
                nonlocal found
                found = kubectl.get("jobflow", "etl")
                return bool(found and found["spec"].get("jobRetainPolicy") == "retain")

            assert eventually(has_the_default)

            kubectl("label", "jobflow", "etl", "team=ml")
            assert kubectl("apply", "-f", "-", stdin=as_yaml(jobflow("etl", "get"))).endswith(" unchanged\n")
            kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=as_yaml(jobflow("etl", "get")))
            kubectl("replace", "-f", "-", stdin=as_yaml(jobflow("etl", "get", policy="retain")))
            said = kubectl.refused("replace", "-f", "-", stdin=as_yaml(jobflow("etl", "get", policy="delete")))
            assert "(changed: spec.jobRetainPolicy)" in said
