import json
import re

from devcluster import builtin_schemas
from devcluster.builtin import BUILTIN
from devcluster.openapi import openapi_v2, openapi_v3, openapi_v3_index
from devcluster.resources import Resource
from devcluster.schema import prune

SCHEMA = {
    "type": "object",
    "description": "A graph of Jobs.",
    "properties": {
        "spec": {"type": "object", "properties": {"flows": {"type": "array", "description": "The entries."}}}
    },
}
JOBFLOWS = Resource(
    "flow.volcano.sh", "v1alpha1", "JobFlow", "jobflows", "jobflow", namespaced=True,
    subresources=frozenset({"status"}), schema=SCHEMA, custom=True,
)  # fmt: skip
GVK = {"group": "flow.volcano.sh", "version": "v1alpha1", "kind": "JobFlow"}
ROOT = "/apis/flow.volcano.sh/v1alpha1"
ITEM = f"{ROOT}/namespaces/{{namespace}}/jobflows/{{name}}"


def the_schema_of(document, kind):
    [found] = [
        schema
        for schema in document["components"]["schemas"].values()
        if kind in [one["kind"] for one in schema.get("x-kubernetes-group-version-kind", ())]
    ]
    return found


def test_a_kind_is_described_with_its_own_fields_and_those_of_every_object():
    schema = the_schema_of(openapi_v3("flow.volcano.sh/v1alpha1", [JOBFLOWS]), "JobFlow")

    assert schema["description"] == "A graph of Jobs."
    assert schema["x-kubernetes-group-version-kind"] == [GVK]
    assert schema["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert schema["properties"]["spec"]["properties"]["flows"]["description"] == "The entries."


def test_kubectl_learns_that_the_server_checks_fields():
    patch = openapi_v3("", [JOBFLOWS])["paths"][ITEM]["patch"]

    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"] == GVK
    assert set(patch["requestBody"]["content"]) == {
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    }


def test_every_path_that_is_served_is_described():
    paths = openapi_v3("", [JOBFLOWS])["paths"]

    assert {path: sorted(operations) for path, operations in paths.items()} == {
        f"{ROOT}/jobflows": ["get"],
        f"{ROOT}/namespaces/{{namespace}}/jobflows": ["delete", "get", "post"],
        ITEM: ["delete", "get", "patch", "put"],
        f"{ITEM}/status": ["get", "patch", "put"],
    }


def test_what_refers_to_something_finds_it():
    for resources in by_version().values():
        document = openapi_v3("", resources)
        referred = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))

        assert referred - document["components"]["schemas"].keys() == set()


def test_every_built_in_kind_is_described_in_full():
    for resource in BUILTIN:
        assert builtin_schemas.components(resource.group, resource.version, resource.kind) is not None, (
            resource.qualified
        )

    pod = the_schema_of(openapi_v3("v1", by_version()["v1"]), "Pod")
    assert pod["description"].startswith("Pod is a collection of containers that can run on a host.")
    text = json.dumps(openapi_v3("v1", by_version()["v1"]))
    assert "Attributes:" not in text
    assert '"null"' not in text


def test_the_address_of_a_document_changes_with_its_content():
    def address(resource):
        [entry] = openapi_v3_index({resource.api_version: [resource]})["paths"].items()
        return entry

    name, first = address(JOBFLOWS)
    other = Resource(
        **{field: getattr(JOBFLOWS, field) for field in JOBFLOWS.__slots__} | {"schema": {"type": "object"}}
    )

    assert name == "apis/flow.volcano.sh/v1alpha1"
    assert first["serverRelativeURL"].startswith("/openapi/v3/apis/flow.volcano.sh/v1alpha1?hash=")
    assert address(JOBFLOWS) == (name, first)
    assert address(other)[1] != first
    assert list(openapi_v3_index({"v1": []})["paths"]) == ["api/v1"]


def test_version_two_has_all_kinds_in_one_document():
    document = openapi_v2([JOBFLOWS, *by_version()["v1"]])

    kinds = {
        one["kind"]
        for part in document["definitions"].values()
        for one in part.get("x-kubernetes-group-version-kind", ())
    }
    assert {"JobFlow", "JobFlowList", "Pod", "Namespace"} <= kinds
    assert document["swagger"] == "2.0"
    assert "#/components/" not in json.dumps(document)
    assert "body" in [parameter["name"] for parameter in document["paths"][ITEM]["patch"]["parameters"]]


def test_a_built_in_kind_in_one_piece_tells_unknown_fields():
    pod = builtin_schemas.structural("", "v1", "Pod")
    obj = {
        "metadata": {"x": 1},
        "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}, "bogus": 1}]},
    }

    assert prune(pod, obj) == ["spec.containers[0].bogus"]
    assert obj["spec"]["containers"][0]["resources"] == {"limits": {"cpu": 1}}


def test_a_kind_that_contains_itself_is_taken_as_it_is_below():
    crd = builtin_schemas.structural("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    schema = {"properties": {"spec": {"properties": {"x": {"default": {"any": 1}, "items": {"type": "string"}}}}}}
    obj = {"spec": {"versions": [{"name": "v1", "bogus": 1, "schema": {"openAPIV3Schema": schema}}]}}

    assert prune(crd, obj) == ["spec.versions[0].bogus"]
    assert obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_an_unknown_kind_has_no_schema():
    assert builtin_schemas.structural("flow.volcano.sh", "v1alpha1", "JobFlow") is None


def by_version():
    versions = {}
    for resource in BUILTIN:
        versions.setdefault(resource.api_version, []).append(resource)
    return versions
