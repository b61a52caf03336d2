"""CustomResourceDefinitions: what is defined is served at once, and its schema prunes, defaults and judges."""

import copy
from typing import Any

import pytest

from tests.devcluster.api.client import JSON, WIDGETS, Api, a_widget
from tests.devcluster.api.conftest import until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def a_definition(api: Api, **changes: Any) -> JSON:
    """Return the definition of gadgets, in a group that no other test has."""
    crd = copy.deepcopy(WIDGETS)
    group = f"{api.namespace}.example"
    crd["metadata"]["name"] = f"gadgets.{group}"
    names = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "shortNames": [f"gd{api.namespace}"]}
    crd["spec"] |= {"group": group, "names": names} | changes
    return crd


def gadgets(api: Api) -> str:
    return f"/apis/{api.namespace}.example/v1/namespaces/{api.namespace}/gadgets"


def a_gadget(api: Api, name: str, **spec: Any) -> JSON:
    version = f"{api.namespace}.example/v1"
    return {"apiVersion": version, "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


async def established(api: Api, crd: JSON) -> bool:
    answer = await api.get(f"{CRDS}/{crd['metadata']['name']}")
    conditions = answer.body.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def serves(api: Api) -> bool:
    return (await api.get(gadgets(api))).code == 200


async def test_a_new_definition_is_served_and_says_that_it_is(api: Api):
    crd = a_definition(api)

    assert (await api.post(CRDS, crd)).code == 201
    await until(lambda: established(api, crd))
    await until(lambda: serves(api))
    created = await api.post(gadgets(api), a_gadget(api, "a"))
    stored = await api.get(f"{CRDS}/{crd['metadata']['name']}")

    assert (created.code, created.body["spec"]) == (201, {"size": 3})
    assert stored.body["status"]["acceptedNames"]["listKind"] == "GadgetList"
    assert stored.body["status"]["storedVersions"] == ["v1"]
    conditions = {condition["type"]: condition["status"] for condition in stored.body["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    await api.delete(f"{CRDS}/{crd['metadata']['name']}")


async def test_a_definition_goes_with_all_its_objects(api: Api):
    crd = a_definition(api)
    await api.post(CRDS, crd)
    await until(lambda: established(api, crd))
    await until(lambda: serves(api))
    await api.post(gadgets(api), a_gadget(api, "a"))

    await api.delete(f"{CRDS}/{crd['metadata']['name']}")

    async def is_unknown() -> bool:
        return (await api.get(gadgets(api))).code == 404

    async def is_gone() -> bool:
        return (await api.get(f"{CRDS}/{crd['metadata']['name']}")).code == 404

    await until(is_gone)
    await until(is_unknown)


async def test_a_definition_defined_anew_has_none_of_the_old_objects(embedded: Api):
    await embedded.widget("a")
    await embedded.delete(f"{CRDS}/widgets.tests.example")
    await until(lambda: widgets_are_unknown(embedded))
    await embedded.post(CRDS, WIDGETS)

    assert (await embedded.get(embedded.widgets)).body["items"] == []


async def widgets_are_unknown(api: Api) -> bool:
    return (await api.get(api.widgets)).code == 404


async def test_a_new_default_shows_in_what_was_stored_before_without_a_write(api: Api):
    crd = a_definition(api)
    await api.post(CRDS, crd)
    await until(lambda: established(api, crd))
    await until(lambda: serves(api))
    before = (await api.post(gadgets(api), a_gadget(api, "a", size=1))).body
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["color"]["default"] = "green"

    await api.patch(f"{CRDS}/{crd['metadata']['name']}", {"spec": {"versions": crd["spec"]["versions"]}})

    async def reads_green() -> Any:
        read = await api.get(f"{gadgets(api)}/a")
        return read.code == 200 and read.body["spec"] == {"size": 1, "color": "green"} and read

    read = await until(reads_green)
    assert read.body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await api.delete(f"{CRDS}/{crd['metadata']['name']}")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
        ({"group": "other.example"}, "metadata.name"),
    ],
)
async def test_a_definition_that_makes_no_sense_is_refused(api: Api, change: JSON, field: str):
    answer = await api.post(CRDS, a_definition(api) | {"spec": a_definition(api)["spec"] | change})

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert field in {at for at, _ in answer.causes}


async def test_each_served_version_shows_the_same_objects(embedded: Api):
    crd = a_definition(embedded)
    [v1] = crd["spec"]["versions"]
    crd["spec"]["versions"] = [v1, v1 | {"name": "v2", "storage": False}]
    await embedded.post(CRDS, crd)
    second = gadgets(embedded).replace("/v1/", "/v2/")

    await embedded.post(second, a_gadget(embedded, "a") | {"apiVersion": "test.example/v2"})
    first = await embedded.get(f"{gadgets(embedded)}/a")
    changed = await embedded.patch(f"{second}/a", {"spec": {"size": 5}})
    listed = await embedded.get(gadgets(embedded))

    assert (first.body["apiVersion"], changed.body["apiVersion"]) == ("test.example/v1", "test.example/v2")
    assert [(item["apiVersion"], item["spec"]["size"]) for item in listed.body["items"]] == [("test.example/v1", 5)]


async def test_what_a_schema_does_not_know_is_dropped(api: Api):
    created = await api.widget("a", unknown="x", parts=[{"name": "p", "other": 1}], free={"kept": {"deep": 1}})

    assert created["spec"] == {"size": 3, "parts": [{"name": "p"}], "free": {"kept": {"deep": 1}}}


async def test_who_asks_strictly_is_refused_with_every_unknown_field(api: Api):
    widget = a_widget("a", unknown="x", parts=[{"name": "p", "other": 1}])

    answer = await api.post(api.widgets, widget, fieldValidation="Strict")

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "spec.parts[0].other", unknown field "spec.unknown"'
    )


@pytest.mark.parametrize(("validation", "warnings"), [("Warn", ('unknown field "spec.unknown"',)), ("Ignore", ())])
async def test_who_asks_leniently_is_warned_or_not(api: Api, validation: str, warnings: tuple[str, ...]):
    answer = await api.post(api.widgets, a_widget("a", unknown="x"), fieldValidation=validation)

    assert (answer.code, answer.warnings) == (201, warnings)


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        pytest.param(
            {"size": 77},
            ("spec.size", "Invalid value: 77: spec.size in body should be less than or equal to 10"),
            id="too great",
        ),
        pytest.param(
            {"size": "big"},
            ("spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"'),
            id="of another type",
        ),
        pytest.param(
            {"color": "blue"},
            ("spec.color", 'Unsupported value: "blue": supported values: "red", "green"'),
            id="none of the values",
        ),
        pytest.param({"parts": [{}]}, ("spec.parts[0].name", "Required value"), id="missing"),
    ],
)
async def test_what_breaks_the_schema_is_refused_in_kubernetes_words(api: Api, spec: JSON, cause: tuple[str, str]):
    answer = await api.post(api.widgets, a_widget("a", **spec))

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert cause in answer.causes
    assert answer.message.startswith('Widget.tests.example "a" is invalid: ')
    assert answer.body["details"]["kind"] == "Widget"


async def test_the_status_is_judged_by_the_schema_too(api: Api):
    await api.widget("a")

    answer = await api.patch(f"{api.widgets}/a/status", {"status": {"count": "many"}})

    assert answer.code == 422


async def test_what_was_wrong_before_may_stay_as_it_is(api: Api):
    crd = a_definition(api)
    await api.post(CRDS, crd)
    await until(lambda: established(api, crd))
    await until(lambda: serves(api))
    await api.post(gadgets(api), a_gadget(api, "a", size=9))
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["size"]["maximum"] = 5
    await api.patch(f"{CRDS}/{crd['metadata']['name']}", {"spec": {"versions": crd["spec"]["versions"]}})

    async def refuses_nine() -> bool:
        answer = await api.post(gadgets(api), a_gadget(api, "b", size=9), dryRun="All")
        return answer.code == 422

    await until(refuses_nine)
    label = await api.patch(f"{gadgets(api)}/a", {"metadata": {"labels": {"x": "y"}}})
    worse = await api.patch(f"{gadgets(api)}/a", {"spec": {"size": 8}})

    assert (label.code, worse.code) == (200, 422)
    await api.delete(f"{CRDS}/{crd['metadata']['name']}")


async def test_what_the_embedded_server_does_not_do_it_says(embedded: Api):
    crd = a_definition(embedded)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.size > 1"}]
    mutating = {"metadata": {"name": "m"}, "webhooks": []}

    defined = await embedded.post(CRDS, crd)
    registered = await embedded.post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", mutating)

    assert defined.warnings == ("the embedded API server does not evaluate x-kubernetes-validations",)
    assert registered.warnings == ("the embedded API server stores mutating webhooks, but never calls them",)
