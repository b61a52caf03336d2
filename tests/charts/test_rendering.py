"""The chart renders to what Kubernetes takes, with every documented value, and refuses what is none."""

import copy
import functools
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import kubernetes_validate.utils
import pytest
import yaml

from tests.support.helm import CHART, Helm, Object, require_helm

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("rendering")]

OLDEST, NEWEST = "1.28", kubernetes_validate.latest_version()
VALUES: Object = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: Object = json.loads((CHART / "values.schema.json").read_text())
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
OF_THE_RELEASE = {"secretName": "demo-jobflow-webhook-tls", "caBundle": CA}
PROVIDED = {"mode": "provided", "provided": {"secretName": "my-tls", "caBundle": CA}}

EVERYTHING: Object = {
    "certs": {"mode": "managed"},
    "metrics": {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboard")},
    "networkPolicies": {"enabled": True},
}
"""What is off by default, switched on."""

OTHER_VALUES: dict[str, Any] = {
    "nameOverride": "flows",
    "fullnameOverride": "my.flows",
    "commonLabels": {"team": "batch"},
    "commonAnnotations": {"contact": "batch@example.org"},
    "image.repository": "registry.example.org/jobflow",
    "image.tag": "1.2.3",
    "image.digest": "sha256:" + "0" * 64,
    "image.pullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry"}],
    "certs.mode": "cert-manager",
    "certs.managed.schedule": "0 0 * * 0",
    "certs.certManager.issuerRef.group": "awspca.cert-manager.io",
    "certs.certManager.issuerRef.kind": "ClusterIssuer",
    "certs.certManager.issuerRef.name": "company",
    "certs.certManager.duration": "48h",
    "certs.certManager.renewBefore": "24h",
    "certs.provided.secretName": "my-tls",
    "certs.provided.caBundle": CA,
    "certs.extraArgs": ["--bundle-wait=5s"],
    "certs.annotations": {"argocd.argoproj.io/hook": "Sync"},
    "controller.namespaces": ["team-a", "team-b"],
    "controller.workers": 4,
    "controller.concurrentWrites": 8,
    "controller.resyncPeriod": "30m",
    "controller.leaderElection.leaseDuration": "60s",
    "controller.leaderElection.renewDeadline": "40s",
    "controller.leaderElection.retryPeriod": "5s",
    "webhook.maxFlows": 5000,
    "webhook.failurePolicy": "Ignore",
    "webhook.timeoutSeconds": 10,
    "webhook.url": "https://127.0.0.1:9443",
    "webhook.preStopSeconds": 0,
    "webhook.shutdownDelay": "20s",
    "webhook.shutdownGrace": "20s",
    "webhook.terminationGracePeriodSeconds": 60,
    "webhook.clientCertificates.secretName": "api-servers",
    "webhook.clientCertificates.allowedNames": ["kube-apiserver", "front"],
    "webhook.ports.admission": 9443,
    "rbac.create": False,
    "rbac.aggregateToUserRoles": False,
    "metrics.service.enabled": False,
    "metrics.service.annotations": {"prometheus.io/scrape": "true"},
    "metrics.serviceMonitor.enabled": False,
    "metrics.serviceMonitor.labels": {"release": "prometheus"},
    "metrics.serviceMonitor.interval": "15s",
    "metrics.serviceMonitor.scrapeTimeout": "5s",
    "metrics.prometheusRule.enabled": False,
    "metrics.prometheusRule.labels": {"release": "prometheus"},
    "metrics.prometheusRule.certificateDays": 10,
    "metrics.prometheusRule.heldUpFor": "4h",
    "metrics.prometheusRule.extraRules": [{"alert": "Mine", "expr": "vector(1)"}],
    "metrics.dashboard.enabled": False,
    "metrics.dashboard.labels": {"grafana_dashboard": "yes"},
    "metrics.dashboard.annotations": {"grafana_folder": "Batch"},
    "networkPolicies.enabled": False,
    "networkPolicies.apiServer.ports": [8443],
    "networkPolicies.apiServer.to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
    "networkPolicies.apiServer.from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
    "networkPolicies.metricsFrom": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}],
    "networkPolicies.extraIngress": [{"ports": [{"port": "probes"}]}],
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-mine"}}],
    **{
        f"{component}.{name}": value
        for component in ("controller", "webhook")
        for name, value in {
            "replicas": 3,
            "logLevel": 4,
            "kubeApi.qps": 20,
            "kubeApi.burst": 30,
            "ports.probes": 10001,
            "ports.metrics": 10002,
            "extraArgs": ["--kube-api-qps=5"],
            "podDisruptionBudget.enabled": False,
            "podDisruptionBudget.maxUnavailable": "50%",
            "topologySpreadConstraints": [],
        }.items()
    },
    **{
        f"{component}.{name}": value
        for component in ("controller", "webhook", "certs")
        for name, value in {
            "extraEnv": [{"name": "TZ", "value": "UTC"}],
            "resources.requests": {"cpu": "2", "memory": "1Gi"},
            "resources.limits": {"memory": "2Gi"},
            "serviceAccount.create": False,
            "serviceAccount.name": "mine",
            "serviceAccount.annotations": {"role": "batch"},
            "podLabels": {"team": "batch"},
            "podAnnotations": {"sidecar": "off"},
            "priorityClassName": "system-cluster-critical",
            "nodeSelector": {"pool": "system"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
        }.items()
    },
    "certs.logLevel": 4,
}
"""Another value for each that there is."""


@pytest.fixture(scope="module", autouse=True)
def schemas() -> Iterator[None]:
    """Each is read once."""
    read = kubernetes_validate.utils.schema_contents
    kubernetes_validate.utils.schema_contents = functools.cache(read)
    yield
    kubernetes_validate.utils.schema_contents = read


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(require_helm(), tmp_path_factory.mktemp("helm"))


def leaves(values: Object, prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and value and name not in {"labels", "requests", "limits"}:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def with_value(path: str, value: Any, base: Object = EVERYTHING) -> Object:
    values = copy.deepcopy(base)
    at = values
    *parents, last = path.split(".")
    for name in parents:
        at = at.setdefault(name, {})
    at[last] = value
    if values.get("certs", {}).get("mode") == "provided":
        values["certs"] = {**PROVIDED, **values["certs"]}
    return values


def check(objects: list[Object]) -> None:
    """Each object is strictly valid; those of other projects are only looked at."""
    assert objects
    for each in objects:
        assert len(each["metadata"]["name"]) <= 52, each["metadata"]["name"]
        if each["apiVersion"].startswith(("monitoring.coreos.com/", "cert-manager.io/")):
            continue
        validate(json.dumps(each, sort_keys=True))


@functools.cache
def validate(text: str) -> None:
    """An object that was valid once is so again; most are the same, whatever the values."""
    for version in (OLDEST, NEWEST):
        kubernetes_validate.validate(json.loads(text), version, strict=True)


def test_there_is_another_value_for_each_that_is_documented() -> None:
    assert set(leaves(VALUES)) - OTHER_VALUES.keys() == set()


def test_the_schema_knows_every_value_and_no_other() -> None:
    def known(schema: Object, prefix: str = "") -> Iterator[str]:
        for name, each in schema["properties"].items():
            if "properties" in each:
                yield from known(each, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}"

    not_set = {"global", *(f"{component}.resources.claims" for component in ("controller", "webhook", "certs"))}
    assert set(known(SCHEMA)) - not_set == set(leaves(VALUES))


@pytest.mark.parametrize("path", OTHER_VALUES)
def test_with_every_other_value_all_objects_are_valid(helm: Helm, path: str) -> None:
    check(rendered(helm, with_value(path, OTHER_VALUES[path])))


DEPENDENT = {
    "nameOverride", "certs.certManager.issuerRef.group", "certs.certManager.issuerRef.kind",
}  # fmt: skip


@pytest.mark.parametrize("path", [path for path in OTHER_VALUES if path not in DEPENDENT])
def test_every_value_changes_something(helm: Helm, path: str) -> None:
    base = copy.deepcopy(EVERYTHING)
    base["networkPolicies"]["enabled"] = True
    if path.startswith("certs.certManager"):
        base["certs"] = {"mode": "cert-manager"}
    if path.startswith("certs.provided"):
        base["certs"] = copy.deepcopy(PROVIDED)
    if path.endswith("allowedNames"):
        base["webhook"] = {"clientCertificates": {"secretName": "x"}}
    value = {"certs.provided.secretName": "another-tls", "certs.provided.caBundle": CA * 2}.get(
        path, OTHER_VALUES[path]
    )
    assert rendered(helm, with_value(path, value, base)) != rendered(helm, base)


bases: dict[str, list[Object]] = {}


def rendered(helm: Helm, values: Object) -> list[Object]:
    key = json.dumps(values, sort_keys=True)
    if key not in bases:
        bases[key] = helm.template(values=values)
    return bases[key]


COMBINED: dict[str, list[Object]] = {
    "certs": [{"mode": "managed"}, {"mode": "cert-manager"}, PROVIDED],
    "controller": [{}, {"namespaces": ["a", "b"], "serviceAccount": {"create": False, "name": "x"}}],
    "webhook": [{}, {"url": "https://localhost:1", "replicas": 1, "podDisruptionBudget": {"enabled": False}}],
    "rbac": [{}, {"create": False, "aggregateToUserRoles": False}],
    "everything": [{}, {key: EVERYTHING[key] for key in ("metrics", "networkPolicies")}],
}


@pytest.mark.parametrize("chosen", list(itertools.product(*COMBINED.values())))
def test_values_go_together(helm: Helm, chosen: tuple[Object, ...]) -> None:
    *named, everything = chosen
    values = {**dict(zip(COMBINED, named, strict=False)), **everything}
    check(helm.template(values=values))


@pytest.mark.parametrize(
    "release",
    [
        "a",
        "jobflow",
        "my-jobflow",
        "r" * 53,
        "with.dots",
        "1-digit-first",
        "0" * 53,
        "a-" * 26 + "a",
        "jobflow-" + "x" * 45,
        "a.b-jobflow",
    ],
)
def test_any_release_name_makes_valid_names(helm: Helm, release: str) -> None:
    objects = helm.template(release, "n" * 63, values=EVERYTHING)
    check(objects)
    for each in objects:
        name = each["metadata"]["name"]
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name), name
        for label in each["metadata"]["labels"].values():
            assert len(label) <= 63


def test_names_that_had_to_be_changed_stay_apart(helm: Helm) -> None:
    releases = ["a.b", "a-b", "x" * 52 + "a", "x" * 52 + "b", "1", "j1"]
    names = [
        next(each["metadata"]["name"] for each in helm.template(release) if each["kind"] == "CronJob")
        for release in releases
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"webhok": {}}, "webhok"),
        ({"webhook": {"replica": 2}}, "replica"),
        ({"webhook": {"replicas": "2"}}, "replicas"),
        ({"webhook": {"failurePolicy": "fail"}}, "failurePolicy"),
        ({"webhook": {"maxFlows": 10001}}, "maxFlows"),
        ({"webhook": {"timeoutSeconds": 31}}, "timeoutSeconds"),
        ({"webhook": {"url": "http://plain"}}, "url"),
        ({"controller": {"resyncPeriod": "10"}}, "resyncPeriod"),
        ({"controller": {"namespaces": ["No"]}}, "namespaces"),
        ({"controller": {"extraArgs": ["no-flag"]}}, "extraArgs"),
        ({"image": {"digest": "sha256:1"}}, "digest"),
        ({"certs": {"mode": "certmanager"}}, "mode"),
        ({"certs": {"mode": "provided", "provided": {"secretName": "x"}}}, "certs.provided.caBundle"),
        ({"certs": {"mode": "provided", "provided": {"caBundle": CA}}}, "certs.provided.secretName"),
        ({"certs": {"mode": "provided", "provided": OF_THE_RELEASE}}, "another name"),
        ({"metrics": {"serviceMonitor": {"enable": True}}}, "enable"),
        ({"rbac": "yes"}, "rbac"),
    ],
)  # fmt: skip
def test_values_that_are_none_are_refused(helm: Helm, values: Object, said: str) -> None:
    assert said in helm.refused("template", "demo", str(CHART), values=values)


def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    assert "incompatible" in helm.refused("template", "demo", str(CHART), "--kube-version", "1.27.9")


def test_the_chart_passes_helms_own_check(helm: Helm) -> None:
    helm("lint", "--strict", str(CHART))
    helm("lint", "--strict", str(CHART), values=EVERYTHING)


def test_the_version_is_that_of_the_programs() -> None:
    from shared import __version__

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_files_of_the_chart_are_whole() -> None:
    assert json.loads(Path(CHART, "files/dashboard.json").read_text())["title"] == "JobFlow"
