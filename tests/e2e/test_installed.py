"""What `helm install` brings works: the examples run, by the accounts, flags and certificates of the chart."""

import json
import re
import signal
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.site import EXAMPLES, RUNNABLE, SYSTEM, Site, a_jobflow, running_site, steadily
from tests.support.helm import CHART
from tests.support.kubelet_api import Refusal
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.xdist_group("installed")]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as site:
        site.install()
        yield site


@pytest.fixture(scope="module", autouse=True)
def player(site: Site) -> Iterator[None]:
    with site.player():
        yield


@pytest.fixture(autouse=True)
def told(site: Site, request: pytest.FixtureRequest) -> Iterator[None]:
    """Show what the Pods said beside a failure."""
    before = request.session.testsfailed
    yield
    if request.session.testsfailed > before:
        for name, log in site.kubelet.logs():
            print(f"== {name}\n{log}")


def test_helm_test_says_that_it_works(site: Site) -> None:
    site.helm("test", site.release, "--namespace", SYSTEM, "--timeout=60s")


@pytest.mark.parametrize("example", RUNNABLE)
def test_the_examples_run_to_their_end(site: Site, example: str) -> None:
    site.run_example(example)


def test_what_is_wrong_is_refused_with_words_that_say_what_to_mend(site: Site) -> None:
    said = site.kubectl.refused("create", "-f", str(EXAMPLES / "refused" / "duplicate.yaml"))
    assert 'spec.flows[1].dependsOn.targets[0]: Not found: "extrakt"' in said
    assert 'spec.flows[2].name: Duplicate value: "extract"' in said


def test_one_controller_leads_and_the_other_stands_by_ready(site: Site) -> None:
    assert len(site.pods("controller")) == 2
    lease = site.system.get("lease", f"{site.release}-jobflow-controller")
    assert lease
    assert lease["spec"]["holderIdentity"]
    leaders = [metric_values(site, run, "leader_election_master_status") for run in site.pods("controller")]
    assert sorted(leaders) == [[0.0], [1.0]]


def test_the_metrics_service_leads_to_every_pod_of_both_programs(site: Site) -> None:
    slices = json.loads(
        site.system(
            "get", "endpointslices", "-l", f"kubernetes.io/service-name={site.release}-jobflow-metrics", "-o", "json"
        )
    )["items"]
    reached = {
        (endpoint["addresses"][0], each["ports"][0]["port"]) for each in slices for endpoint in each["endpoints"]
    }
    assert {port for _, port in reached} == {8080, 8081}
    for address, port in reached:
        at = site.kubelet.port(address, port)
        with urllib.request.urlopen(f"http://127.0.0.1:{at}/metrics", timeout=5) as answer:
            assert b"rest_client_requests_total" in answer.read()


def test_every_object_would_be_taken_by_kubectl_apply_as_well(site: Site) -> None:
    rendered = site.helm("template", "other", str(CHART), "--namespace", SYSTEM)
    site.system("apply", "--dry-run=server", "-f", "-", stdin=rendered)


def test_a_second_release_by_mistake_is_refused_and_told_where_the_first_one_is(site: Site) -> None:
    said = site.helm.refused("install", "again", str(CHART), "--namespace", "default")
    assert f'release "{site.release}" in namespace "{SYSTEM}"' in said
    assert f"helm uninstall {site.release} -n {SYSTEM}" in said


def test_no_request_fails_while_the_ca_is_replaced_by_the_cronjobs_own_command(site: Site) -> None:
    before = bundle(site)
    site.system("delete", "secret", f"{site.release}-jobflow-webhook-ca")
    with steadily(site.judged, at_least=100) as failures:
        site.certs_job("rotated")
    assert failures == []
    assert bundle(site) != before
    assert site.judged() == ""


def test_a_webhook_that_the_api_server_does_not_trust_is_noticed_by_these_tests(site: Site) -> None:
    """The negative control of the rotation: without an overlap it fails."""
    name = f"{site.release}-jobflow-webhook"
    other = site.system.get("configmap", "kube-root-ca.crt")
    configuration = site.kubectl.get("validatingwebhookconfiguration", name)
    assert other
    assert configuration
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" + name
    stranger = b64(other["data"]["ca.crt"])
    try:
        for index in range(2):
            set_bundle(site, path, index, stranger)
        assert eventually(lambda: raises_internal_error(site))
    finally:
        for index, webhook in enumerate(configuration["webhooks"]):
            set_bundle(site, path, index, webhook["clientConfig"]["caBundle"])
    assert eventually(lambda: not raises_internal_error(site))


def test_a_killed_webhook_is_missed_by_nobody_for_long_and_comes_back(site: Site) -> None:
    killed = site.pods("webhook")[0]
    killed.process.send_signal(signal.SIGKILL)
    assert eventually(lambda: not raises_internal_error(site), timeout=5)
    assert eventually(lambda: killed.restarts == 1 and len(site.pods("webhook")) == 2, timeout=30)


def test_when_the_leader_is_killed_the_other_one_goes_on(site: Site) -> None:
    (leader,) = [
        run for run in site.pods("controller") if metric_values(site, run, "leader_election_master_status") == [1.0]
    ]
    leader.process.send_signal(signal.SIGKILL)
    site.kubectl("create", "namespace", "after-the-kill")
    with site.player("after-the-kill"):
        site.run_example("diamond", "after-the-kill")


def test_programs_go_on_with_a_token_that_was_replaced(site: Site) -> None:
    for run in site.kubelet.pods(SYSTEM, "controller") + site.kubelet.pods(SYSTEM, "webhook"):
        run.renew_tokens()
    site.kubectl("create", "namespace", "new-tokens")
    with site.player("new-tokens"):
        site.run_example("diamond", "new-tokens")


def test_with_all_webhooks_gone_only_what_they_judge_stands_still(site: Site) -> None:
    site.kubectl("create", "namespace", "unjudged")
    kubectl = site.kubectl.within("unjudged")
    kubectl("apply", "-f", str(EXAMPLES / "diamond.yaml"))
    site.system("scale", "deployment", f"{site.release}-jobflow-webhook", "--replicas=0")
    try:
        assert eventually(lambda: not site.kubelet.pods(SYSTEM, "webhook"), timeout=40)
        said = kubectl.refused("create", "-f", "-", stdin=json.dumps(a_jobflow("extract")))
        assert 'failed calling webhook "jobflows.flow.volcano.sh"' in said
        kubectl("create", "configmap", "unaffected")
        kubectl("label", "jobflow", "diamond", "still=editable")
        with site.player("unjudged"):
            site.finishes("diamond", "unjudged")
        site.kubectl("delete", "namespace", "unjudged", "--timeout=60s")
    finally:
        site.system("scale", "deployment", f"{site.release}-jobflow-webhook", "--replicas=2")
        site.system("rollout", "status", f"deployment/{site.release}-jobflow-webhook", "--timeout=60s")


def test_no_pod_is_restarted_for_an_api_server_that_is_away_and_all_work_on_when_it_is_back(site: Site) -> None:
    before = {run.name: run.restarts for run in site.pods("webhook")}
    site.server.restart_apiserver()
    assert eventually(lambda: len(site.pods("controller")) == 2 and len(site.pods("webhook")) == 2, timeout=40)
    assert {run.name: run.restarts for run in site.pods("webhook")} == before
    assert eventually(lambda: site.judged(a_jobflow("a", "a")))


def test_no_secret_stands_in_arguments_environments_or_logs(site: Site) -> None:
    secret = site.system.get("secret", f"{site.release}-jobflow-webhook-tls")
    assert secret
    key = secret["data"]["tls.key"]
    pods = site.system("get", "pods", "-o", "json")
    logs = "".join(log for _, log in site.kubelet.logs())
    assert key not in pods
    assert "PRIVATE KEY" not in pods + logs
    assert not re.search(r"eyJ[\w-]{20,}", logs), "a ServiceAccount's token"


def metric_values(site: Site, run: Any, name: str) -> list[float]:
    port = next(port for port in run.ports if port not in {11251, 8443})
    with urllib.request.urlopen(f"http://127.0.0.1:{run.ports[port]}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name)]


def bundle(site: Site) -> list[str]:
    configuration = site.kubectl.get("validatingwebhookconfiguration", f"{site.release}-jobflow-webhook")
    assert configuration
    return [webhook["clientConfig"]["caBundle"] for webhook in configuration["webhooks"]]


def set_bundle(site: Site, path: str, index: int, value: str) -> None:
    patch: Any = [{"op": "replace", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value}]
    site.api("PATCH", path, patch, "application/json-patch+json")


def raises_internal_error(site: Site) -> bool:
    try:
        site.judged()
    except Refusal as refusal:
        return refusal.status == 500
    return False


def b64(text: str) -> str:
    from base64 import b64encode

    return b64encode(text.encode()).decode()
