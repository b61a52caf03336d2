"""The chart and the programs say the same: flags, paths, ports, names of metrics. Both are read."""

import ast
import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from certs.settings import ApplySettings, RemoveSettings
from controller.jobflow.metrics import EdgeTimes, JobFlowGauges, VolcanosCounters
from controller.runtime.leader import LeaderMetrics
from controller.runtime.metrics import InformerMetrics, RuntimeMetrics
from controller.settings import ControllerSettings
from devcluster.stack.registration import webhook_configuration
from shared.api.meta import Key
from shared.kube.metrics import KubeMetrics
from shared.ops.settings import read_settings
from tests.support.helm import CHART, Helm, Object, require_helm
from webhook.metrics import Metrics
from webhook.settings import WebhookSettings

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("agreement")]

ROOT = CHART.parents[1]
EVERYTHING: Object = {
    "metrics": {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboard")},
    "networkPolicies": {"enabled": True},
    "controller": {"namespaces": ["a", "b"]},
    "webhook": {"clientCertificates": {"secretName": "api-servers", "allowedNames": ["front"]}},
    "certs": {"extraArgs": ["--patience=2m", "--bundle-wait=1m"]},
}


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(require_helm(), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def rendered(helm: Helm) -> list[Object]:
    return helm.template(values=EVERYTHING)


def of_kind(rendered: list[Object], kind: str, name: str = "") -> list[Object]:
    return [each for each in rendered if each["kind"] == kind and each["metadata"]["name"].endswith(name)]


def container(rendered: list[Object], kind: str, name: str) -> Object:
    (found,) = of_kind(rendered, kind, name)
    spec = found["spec"]["jobTemplate"]["spec"] if kind == "CronJob" else found["spec"]
    (only,) = spec["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.parametrize(
    ("found", "module", "settings"),
    [
        (("Deployment", "-controller"), "controller", ControllerSettings),
        (("Deployment", "-webhook"), "webhook", WebhookSettings),
        (("Job", "-certs-1"), "certs apply", ApplySettings),
        (("CronJob", "-certs"), "certs apply", ApplySettings),
        (("Job", "-remove"), "certs remove", RemoveSettings),
    ],
)
def test_every_flag_is_one_that_the_program_takes(
    rendered: list[Object], tmp_path: Path, found: tuple[str, str], module: str, settings: Any
) -> None:
    only = container(rendered, *found)
    python, option, program = only["command"]
    command = [program, *[arg for arg in only["args"] if not arg.startswith("--")]]
    assert (python, option, " ".join(command)) == ("python", "-m", module)
    for mount in only.get("volumeMounts", []):
        (tmp_path / mount["name"]).mkdir()
    arguments = []
    for arg in only["args"]:
        for mount in only.get("volumeMounts", []):
            if mount["mountPath"] in arg:
                file = tmp_path / mount["name"] / arg.rsplit("/", 1)[1]
                file.touch()
                arg = f"{arg.split('=')[0]}={file}"  # noqa: PLW2901
        if arg.startswith("--"):
            arguments.append(arg)
    read_settings(settings, module, arguments, {})


def test_a_program_that_the_chart_starts_is_a_module_with_a_main() -> None:
    for program in ("controller", "webhook", "certs"):
        subprocess.run([sys.executable, "-m", program, "--help"], check=True, capture_output=True, timeout=60)


def test_what_flags_name_is_mounted_and_what_is_mounted_is_in_a_volume(rendered: list[Object]) -> None:
    (deployment,) = of_kind(rendered, "Deployment", "-webhook")
    pod = deployment["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    volumes = {volume["name"]: volume["secret"] for volume in pod["volumes"]}
    files = {
        f"{mount['mountPath']}/{item['path']}"
        for mount in only["volumeMounts"]
        for item in volumes[mount["name"]]["items"]
    }
    named = {arg.split("=")[1] for arg in only["args"] if arg.startswith(("--tls-", "--client-ca"))}
    assert named == files


@pytest.mark.parametrize("name", ["-controller", "-webhook"])
def test_the_ports_of_the_flags_are_those_of_the_container_and_its_probes_name_one(
    rendered: list[Object], name: str
) -> None:
    only = container(rendered, "Deployment", name)
    declared = {port["name"]: port["containerPort"] for port in only["ports"]}
    flags = dict(arg.split("=", 1) for arg in only["args"])
    assert flags["--healthz-address"] == f":{declared['probes']}"
    assert flags["--metrics-address"] == f":{declared['metrics']}"
    if name == "-webhook":
        assert flags["--port"] == str(declared["admission"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert only[probe]["httpGet"]["port"] == "probes"


@pytest.mark.parametrize("name", ["controller", "webhook"])
def test_ports_and_amounts_are_the_programs_own_defaults(name: str) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())[name]
    settings = {"controller": ControllerSettings, "webhook": WebhookSettings}[name].model_fields
    assert values["ports"]["probes"] == settings["healthz_address"].default.port
    assert values["ports"]["metrics"] == settings["metrics_address"].default.port
    pairs = {
        "controller": {
            "workers": values.get("workers"),
            "concurrent_writes": values.get("concurrentWrites"),
            "kube_api_qps": values["kubeApi"]["qps"],
            "kube_api_burst": values["kubeApi"]["burst"],
        },
        "webhook": {"port": values["ports"].get("admission"), "max_flows": values.get("maxFlows")},
    }[name]
    assert {field: settings[field].default for field in pairs} == pairs


def test_every_setting_of_a_program_is_a_value_or_has_a_reason_to_be_none(rendered: list[Object]) -> None:
    """What is none can be set by extraArgs."""
    elsewhere = {"kubeconfig", "master", "kube_api_proxy_from_env", "bind_address"}
    for name, settings in {"-controller": ControllerSettings, "-webhook": WebhookSettings}.items():
        given = {
            arg.split("=")[0].lstrip("-").replace("-", "_") for arg in container(rendered, "Deployment", name)["args"]
        }
        assert settings.model_fields.keys() - {"verbosity", "v"} - given - elsewhere == set()


def test_the_webhook_configuration_asks_when_and_what_the_demo_asks(rendered: list[Object]) -> None:
    (ours,) = of_kind(rendered, "ValidatingWebhookConfiguration")
    theirs = webhook_configuration("https://example.org", b"")
    for webhook, demo in zip(copy.deepcopy(ours["webhooks"]), theirs["webhooks"], strict=True):
        service = webhook.pop("clientConfig")["service"]
        assert demo.pop("clientConfig")["url"].endswith(f".org{service['path']}")
        webhook.pop("namespaceSelector")
        for condition in webhook["matchConditions"]:
            condition["expression"] = condition["expression"].strip()
        assert webhook == demo


def test_the_service_leads_to_the_port_of_admission(rendered: list[Object]) -> None:
    (service,) = of_kind(rendered, "Service", "-webhook")
    (configuration,) = of_kind(rendered, "ValidatingWebhookConfiguration")
    (port,) = service["spec"]["ports"]
    for webhook in configuration["webhooks"]:
        asked = webhook["clientConfig"]["service"]
        assert (asked["name"], asked["namespace"]) == (service["metadata"]["name"], service["metadata"]["namespace"])
        assert (asked["port"], port["targetPort"]) == (port["port"], "admission")


def test_the_certificate_is_for_the_name_that_the_api_server_uses(rendered: list[Object]) -> None:
    (service,) = of_kind(rendered, "Service", "-webhook")
    args = container(rendered, "CronJob", "-certs")["args"]
    (names,) = (arg.split("=")[1].split(",") for arg in args if arg.startswith("--dns-name="))
    assert names[0] == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"


def test_a_pod_that_ends_has_time_for_all_that_it_waits_for() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())["webhook"]
    waits = [
        values["preStopSeconds"],
        *(int(values[name].removesuffix("s")) for name in ("shutdownDelay", "shutdownGrace")),
    ]
    assert sum(waits) < values["terminationGracePeriodSeconds"]


def served() -> set[str]:
    registry = CollectorRegistry()
    for make in (RuntimeMetrics, InformerMetrics, KubeMetrics, VolcanosCounters, EdgeTimes, Metrics):
        make(registry)
    JobFlowGauges(registry, [])
    LeaderMetrics(registry, Key("n", "n"))
    names = set(re.findall(r"^# TYPE (\w+) ", generate_latest(registry).decode(), re.MULTILINE))
    histograms = set(re.findall(r"^# TYPE (\w+) histogram", generate_latest(registry).decode(), re.MULTILINE))
    return names | {f"{name}_bucket" for name in histograms}


def metrics_in(expressions: str) -> set[str]:
    return set(re.findall(r"\b([a-z]+(?:_[a-z]+)+)\{", expressions))


def test_alerts_and_dashboard_ask_for_metrics_that_are_served(rendered: list[Object]) -> None:
    (rule,) = of_kind(rendered, "PrometheusRule")
    (dashboard,) = of_kind(rendered, "ConfigMap", "-dashboard")
    rules = [each["expr"] for group in rule["spec"]["groups"] for each in group["rules"]]
    panels = json.loads(dashboard["data"]["jobflow.json"])["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    asked = metrics_in(" ".join(rules + queries))
    assert len(asked) > 12
    assert asked - served() == set()


def test_alerts_look_at_the_job_that_the_service_monitor_makes(rendered: list[Object]) -> None:
    (rule,) = of_kind(rendered, "PrometheusRule")
    (service,) = of_kind(rendered, "Service", "-metrics")
    (monitor,) = of_kind(rendered, "ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    job = f'job="{service["metadata"]["name"]}", namespace="{service["metadata"]["namespace"]}"'
    for group in rule["spec"]["groups"]:
        for each in group["rules"]:
            assert job in each["expr"]


def test_the_documentation_says_what_to_do_about_each_alert(rendered: list[Object]) -> None:
    (rule,) = of_kind(rendered, "PrometheusRule")
    text = (ROOT / "docs" / "operating.md").read_text()
    for group in rule["spec"]["groups"]:
        for each in group["rules"]:
            assert f"`{each['alert']}`" in text


def test_nobody_is_granted_the_status_nor_everything(rendered: list[Object]) -> None:
    for role in of_kind(rendered, "ClusterRole") + of_kind(rendered, "Role"):
        for rule in role["rules"]:
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        if "users" in role["metadata"]["labels"]["app.kubernetes.io/component"]:
            assert not any("/" in resource for rule in role["rules"] for resource in rule["resources"])


def test_pods_have_tokens_only_by_their_own_wish(rendered: list[Object]) -> None:
    for account in of_kind(rendered, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def test_the_test_of_helm_is_python_that_parses_and_imports_what_there_is() -> None:
    tree = ast.parse((CHART / "files" / "works.py").read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert modules
    for module in modules:
        __import__(str(module))
