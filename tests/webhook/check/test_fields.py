"""The fields that the check knows are those of the CRDs, ours and Volcano's, and what kubectl refuses it tells."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from shared.api.job_spec import JobSpec
from shared.rules.fault import FieldPath
from tests.support.binaries import require_binaries
from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl
from tests.support.specs import a_rich_job_spec
from tests.support.volcano_crds import volcano_crds
from tests.webhook.check.reading import judged
from tests.webhook.check.test_same_verdict import ANYTHING, places_in, with_change
from webhook.check.fields import WHOLE, Metadata, unknown_fields
from webhook.check.findings import Level

CRDS = Path(__file__).parents[3] / "charts" / "jobflow" / "crds"
FILES = {kind: CRDS / f"flow.volcano.sh_{kind.lower()}s.yaml" for kind in WHOLE}
UNKNOWN = "aFieldThatNobodyKnows"

Schema = dict[str, Any]


def schema_of(crd: Path) -> Schema:
    (version,) = yaml.safe_load(crd.read_text())["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def objects_of(schema: Schema) -> Iterator[Any]:
    """Values that have every field of the schema, and, in each place where the fields are known, one more."""
    if "properties" in schema:
        closed = not schema.get("x-kubernetes-preserve-unknown-fields")
        yield {key: next(objects_of(child), "x") for key, child in schema["properties"].items()} | (
            {UNKNOWN: 1} if closed else {}
        )
    elif "items" in schema:
        yield [next(objects_of(schema["items"]), "x")]
    else:
        yield {} if schema.get("type") == "object" else "x"


def places_of_unknown(value: Any, at: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from [f"{at}.{key}"] if key == UNKNOWN else places_of_unknown(child, f"{at}.{key}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from places_of_unknown(item, f"{at}[{i}]")


@pytest.mark.parametrize("kind", WHOLE)
def test_every_field_of_our_crds_is_known_and_no_other(kind: str) -> None:
    schema = schema_of(FILES[kind])
    del schema["properties"]["status"]  # which users do not write
    (obj,) = objects_of(schema)
    told = [str(fault.field) for fault in unknown_fields(obj, inspect.type_info(WHOLE[kind]), FieldPath())]
    assert sorted(told) == sorted(place.removeprefix(".") for place in places_of_unknown(obj))
    assert len(told) >= 6


@pytest.mark.real
def test_every_field_of_volcanos_own_crd_is_known_in_pod_templates_too() -> None:
    spec = schema_of(volcano_crds().job)["properties"]["spec"]
    (obj,) = objects_of(spec)
    told = {str(fault.field) for fault in unknown_fields(obj, inspect.type_info(JobSpec), FieldPath())}
    assert {place for place in told if not place.endswith(UNKNOWN)} == set()
    assert f"tasks[0].template.spec.containers[0].{UNKNOWN}" in told


def test_what_is_misspelt_in_a_pod_template_is_a_warning() -> None:
    obj = a_jobtemplate_object(spec=a_rich_job_spec())
    obj["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    (finding,) = judged(json.dumps(obj)).findings
    assert finding.level is Level.WARNING
    assert finding.message == 'Unknown field: Volcano drops it; did you mean "imagePullPolicy"?'


@pytest.fixture(scope="module")
def server() -> Iterator[Kubectl]:
    binaries = require_binaries()
    with KubeApiserver(binaries, controller_manager=False, crds=list(FILES.values())) as running:
        yield Kubectl(binaries.kubectl, running.kubeconfig)


@pytest.mark.real
@pytest.mark.parametrize(
    "place", ["", "metadata", "spec", "spec.flows.0", "spec.flows.1.dependsOn", "spec.flows.0.patch.jobSpec"]
)
def test_kubectl_refuses_what_is_told(place: str, server: Kubectl) -> None:
    obj = a_jobflow_object("get", "train: get")
    obj["metadata"] = {"name": "etl", "namespace": "default"}
    obj["spec"]["flows"][0]["patch"] = {"jobSpec": {"queue": "default"}}
    here: Any = obj
    for key in filter(None, place.split(".")):
        here = here[int(key)] if key.isdigit() else here[key]
    assert server.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj)).returncode == 0
    here[UNKNOWN] = 1
    refused = server.refused("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj))
    (told,) = (finding for finding in judged(json.dumps(obj)).findings if finding.rule == "fields-are-known")
    assert f'unknown field "{told.path}"' in refused


@pytest.mark.real
def test_no_field_of_metadata_is_unknown_to_the_api_server(server: Kubectl) -> None:
    obj = a_jobflow_object("get")
    fields = [field.encode_name for field in inspect.type_info(Metadata).fields]  # type: ignore[attr-defined]
    obj["metadata"] = dict.fromkeys(fields) | {"name": "etl", "namespace": "default"}
    assert server.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj)).returncode == 0


def a_full_jobflow() -> dict[str, Any]:
    obj = a_jobflow_object("get", "train: get", policy="retain")
    obj["metadata"] = dict(METADATA)
    obj["spec"]["flows"][1]["dependsOn"]["probe"] = {
        "httpGetList": [{"taskName": "a", "port": 80, "path": "/", "httpHeader": {"name": "a", "value": "b"}}],
        "tcpSocketList": [{"taskName": "a", "port": 1}],
        "taskStatusList": [{"taskName": "a", "phase": "Running"}],
    }
    return obj


METADATA = {
    "name": "etl",
    "namespace": "default",
    "labels": {"a": "b"},
    "annotations": {"c": "d"},
    "finalizers": ["a.b/c"],
}
FULL = [a_full_jobflow(), a_jobtemplate_object(spec=a_rich_job_spec()) | {"metadata": METADATA}]


@pytest.mark.real
@settings(max_examples=40)
@given(data=st.data())
def test_what_the_api_server_refuses_before_it_asks_a_webhook_is_found(data: st.DataObject, server: Kubectl) -> None:
    obj = data.draw(st.sampled_from(FULL))
    # Of a pod template our CRDs ask nothing, and what is of another kind or group is another tool's.
    places = [
        place
        for place in places_in(obj)
        if place and place[0] not in {"kind", "apiVersion"} and "template" not in place
    ]
    spoilt = json.dumps(with_change(obj, data.draw(st.sampled_from(places)), data.draw(ANYTHING)))
    if server.run("create", "--dry-run=server", "-f", "-", stdin=spoilt).returncode:
        assert {finding.rule for finding in judged(spoilt).findings} - {"templates-exist"}
