"""What the rules take, a real API server takes: as a Job with Volcano's own CRD, and its pod template as a Pod.

Volcano's webhook judges pod templates with Kubernetes' own code, so that a Pod stands in for it. What only the API
server knows to refuse is listed in `LEFT`, with the reason. The other direction, that nothing is refused here that
Volcano takes, are the examples of `jobtemplate_cases.RIGHT`.
"""

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.api.job_spec import JobTemplateInFull
from shared.rules.jobtemplate import faults_in_jobtemplate
from tests.shared.rules.jobtemplate_cases import COMMAND, RIGHT, SPREAD, WRONG
from tests.support.binaries import require_binaries
from tests.support.builders import a_jobtemplate_object
from tests.support.kube_apiserver import KubeApiserver
from tests.support.specs import CONTAINER, GONE, INIT, POD, TASK, changed
from tests.support.volcano_crds import volcano_crds
from webhook.shapes import MisshapenError, read

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

TEXTS = ["", "a", "A", "a_b", "-a", "a.b", "x" * 63, "x" * 64, "x" * 254, "a\n", "\u00e4", 5, True, [], {}, None]
NUMBERS = [0, 1, -1, 2, 2**31 - 1, 2**31, 2**63, 1.0, 1.5, "1", True, [], {}, None]
QUANTITIES = [
    "1", "1.5", "x", "", "-1", "1Gi", "1gi", "1e3", "1e1.5", "100m", "0", 1, 0.5, 1.0, True, [], "1 ", "9Ei", "+1"
]  # fmt: skip
DURATIONS = ["1s", "1", "", "x", "1h", "-1s", ".5h", "0", 5]
HANDLERS = [
    {}, {"exec": {}}, COMMAND, {"tcpSocket": {"port": "http"}}, {"tcpSocket": {"port": "HTTP"}}, {"grpc": {"port": 0}},
    {"grpc": {"port": 8}}, {"tcpSocket": {"port": 1}, **COMMAND}, {"httpGet": {"port": 80, "scheme": "http"}},
    {"httpGet": {}}, {**COMMAND, "terminationGracePeriodSeconds": 5}, {**COMMAND, "successThreshold": 3},
]  # fmt: skip

TRIED: dict[str, list[Any]] = {
    **dict.fromkeys(
        (
            "minAvailable", "maxRetry", "ttlSecondsAfterFinished", "minSuccess", "policies.0.exitCode",
            f"{TASK}.replicas", f"{TASK}.minAvailable", f"{TASK}.maxRetry", f"{TASK}.policies.0.exitCode",
            f"{POD}.activeDeadlineSeconds", f"{POD}.terminationGracePeriodSeconds",
            f"{CONTAINER}.ports.0.containerPort", f"{CONTAINER}.ports.0.hostPort",
            f"{CONTAINER}.livenessProbe.httpGet.port", f"{CONTAINER}.livenessProbe.periodSeconds",
            f"{CONTAINER}.livenessProbe.successThreshold", f"{CONTAINER}.livenessProbe.failureThreshold",
            f"{CONTAINER}.livenessProbe.initialDelaySeconds", f"{CONTAINER}.livenessProbe.timeoutSeconds",
            f"{CONTAINER}.livenessProbe.terminationGracePeriodSeconds",
        ),
        NUMBERS,
    ),
    **dict.fromkeys(
        (
            "queue", "priorityClassName", "schedulerName", "policies.0.event", "policies.0.action",
            "volumes.0.mountPath", "volumes.0.volumeClaimName", "networkTopology.mode",
            "networkTopology.highestTierName",
            f"{TASK}.name", f"{TASK}.topologyPolicy", "tasks.1.dependsOn.iteration",
            f"{POD}.restartPolicy", f"{POD}.dnsPolicy", f"{POD}.hostname", f"{POD}.subdomain", f"{POD}.nodeName",
            f"{POD}.serviceAccountName", f"{POD}.priorityClassName", f"{POD}.schedulerName", f"{POD}.volumes.0.name",
            f"{CONTAINER}.name", f"{CONTAINER}.image", f"{CONTAINER}.env.0.name", f"{CONTAINER}.env.0.value",
            f"{CONTAINER}.ports.0.name", f"{CONTAINER}.ports.0.protocol", f"{CONTAINER}.volumeMounts.0.name",
            f"{CONTAINER}.volumeMounts.0.mountPath", f"{CONTAINER}.volumeMounts.0.subPath",
            f"{CONTAINER}.imagePullPolicy", f"{CONTAINER}.terminationMessagePolicy", f"{CONTAINER}.restartPolicy",
            f"{CONTAINER}.workingDir", f"{CONTAINER}.livenessProbe.httpGet.path",
            f"{CONTAINER}.livenessProbe.httpGet.scheme", f"{INIT}.name", f"{INIT}.image", f"{INIT}.restartPolicy",
        ),
        TEXTS,
    ),
    **{f"{CONTAINER}.resources.{kind}.cpu": QUANTITIES for kind in ("requests", "limits")},
    **{f"{CONTAINER}.resources.{kind}.memory": QUANTITIES for kind in ("requests", "limits")},
    **{
        f"{CONTAINER}.resources.{kind}.{name}": ["1", "1500m", "2Mi", "0"]
        for kind in ("requests", "limits")
        for name in ("nvidia\\com/gpu", "gpu", "hugepages-2Mi", "requests\\x/y", "kubernetes\\io/x", "a\\b/c/d", "pods")
    },
    **dict.fromkeys(("policies.0.timeout", "runningEstimate"), DURATIONS),
    **dict.fromkeys((f"{CONTAINER}.{kind}Probe" for kind in ("liveness", "readiness", "startup")), HANDLERS),
    f"{POD}.topologySpreadConstraints": [[SPREAD], [{**SPREAD, "topologyKey": "a b"}], [{}]],
    f"{POD}.imagePullSecrets": [[{}], [{}, {}], [{"name": "a"}, {"name": "b"}]],
    f"{POD}.nodeSelector": [{"a": 5}, {"a": None}, {"": "a"}],
    f"{CONTAINER}.env": [[{}], [{"name": "A", "value": 5}], [{"name": "A", "valueFrom": {}}]],
    f"{CONTAINER}.envFrom": [[{}], [{"configMapRef": {"name": "a"}}], [{"prefix": "1", "secretRef": {"name": "a"}}]],
    "plugins": [{"svc": "x"}, {"svc": [5]}, [], {"svc": ["--a"]}],
    "tasks.0.template": [{}, {"spec": None}, GONE],
}  # fmt: skip

LEFT: dict[str, tuple[str, str]] = {
    "an empty queue becomes `default` in Volcano's webhook": ("Job", r"spec\.queue in body should match"),
    "an empty name becomes one in Volcano's webhook": ("Job", r"spec\.tasks\[\d\]\.name in body should match"),
    "whether an account exists is not looked up": ("Pod", "error looking up service account"),
    "whether a priority class exists is not looked up": ("Pod", "no PriorityClass with name"),
    "the sizes of huge pages are the API server's": ("Pod", "multiple of hugepages"),
    "a null in a map is dropped from a Job, and is 0 in a Pod": ("Pod", "cpu limit of 0"),
}
"""What passes the rules and is refused by the API server: why, as what, and by which words it is known."""

Offer = Callable[[str, dict[str, Any]], str]


@pytest.fixture(scope="module")
def offer() -> Iterator[Offer]:
    """Offers an object, dry run, and returns the words of the refusal, empty where there is none."""
    with KubeApiserver(require_binaries(), crds=[volcano_crds().job]) as server:
        context = ssl.create_default_context(cafile=str(server.ca_file))
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}

        def offered(path: str, built: dict[str, Any]) -> str:
            url = f"{server.url}{path}?dryRun=All&fieldValidation=Ignore"
            request = urllib.request.Request(url, json.dumps(built).encode(), headers)
            try:
                urllib.request.urlopen(request, context=context, timeout=30).close()
            except urllib.error.HTTPError as refusal:
                return json.loads(refusal.read())["message"]
            return ""

        yield offered


def passes(spec: dict[str, Any]) -> bool:
    try:
        return not faults_in_jobtemplate(read(a_jobtemplate_object("t", spec=spec), JobTemplateInFull))
    except MisshapenError:
        return False


def refusals(offer: Offer, spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The API server's words about the spec as a Job, and about its first pod template as a Pod."""
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "t"}, "spec": spec}
    yield "Job", offer("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", job)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t"}, "spec": spec["tasks"][0]["template"]["spec"]}
    yield "Pod", offer("/api/v1/namespaces/default/pods", pod)


def why_left(kind: str, words: str) -> str | None:
    return next((why for why, (of, known) in LEFT.items() if of == kind and re.search(known, words)), None)


def test_what_passes_the_rules_a_real_api_server_takes(offer: Offer) -> None:
    changes = [
        *RIGHT,
        *((place, value) for place, values in TRIED.items() for value in values),
        *(case[:2] for cases in WRONG.values() for case in cases),
    ]
    passing = [(place, value, spec) for place, value in changes if passes(spec := changed(place, value))]
    assert len(passing) > 200

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda change: list(refusals(offer, change[2])), passing))
    refused = [
        (place, value, kind, words)
        for (place, value, _), told in zip(passing, answers, strict=True)
        for kind, words in told
        if words
    ]
    assert [each for each in refused if why_left(each[2], each[3]) is None] == []
    assert {why_left(each[2], each[3]) for each in refused} == set(LEFT), "a reason that no case needs"
