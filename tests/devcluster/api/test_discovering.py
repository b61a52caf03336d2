"""Finding out what is served: health, version, discovery in both forms, OpenAPI; and the kinds with two faces."""

import pytest

from tests.devcluster.api.client import Api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_the_server_is_healthy(api: Api, path: str):
    answer = await api.get(path, accept="*/*")

    assert (answer.code, answer.body) == (200, "ok")


async def test_the_version_is_that_of_a_kubernetes(api: Api):
    version = (await api.get("/version")).body

    assert (version["major"], version["gitVersion"][:3]) == ("1", "v1.")


async def test_a_path_that_is_nothing_is_not_found(api: Api):
    for path in ("/apis/nothing.example/v1/things", "/apis/tests.example/v2/widgets", "/nothing"):
        assert (await api.get(path)).code == 404


async def test_a_verb_that_a_path_does_not_take_is_not_allowed(api: Api):
    assert (await api.post(f"{api.configmaps}/a", {})).code == 405


async def test_groups_versions_and_resources_are_listed(api: Api):
    groups = (await api.get("/apis")).body["groups"]
    [group] = [group for group in groups if group["name"] == "tests.example"]
    resources = (await api.get("/apis/tests.example/v1")).body["resources"]

    assert group["preferredVersion"] == {"groupVersion": "tests.example/v1", "version": "v1"}
    assert [(r["name"], r["kind"], r["namespaced"]) for r in resources] == [
        ("widgets", "Widget", True),
        ("widgets/status", "Widget", True),
    ]
    assert (resources[0]["singularName"], resources[0]["shortNames"]) == ("widget", ["wd"])
    assert set(resources[0]["verbs"]) == {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
    }  # fmt: skip


async def test_all_of_it_comes_in_one_document_to_who_asks_so(api: Api):
    answer = await api.get("/apis", accept=f"{AGGREGATED},application/json")

    [group] = [item for item in answer.body["items"] if item["metadata"]["name"] == "tests.example"]
    [version] = group["versions"]
    [widgets] = version["resources"]
    assert answer.headers["Content-Type"] == AGGREGATED
    assert (version["version"], widgets["resource"], widgets["scope"]) == ("v1", "widgets", "Namespaced")
    assert widgets["responseKind"] == {"group": "tests.example", "version": "v1", "kind": "Widget"}
    assert [subresource["subresource"] for subresource in widgets["subresources"]] == ["status"]


async def test_openapi_describes_the_fields_and_says_that_the_server_checks_them(api: Api):
    index = (await api.get("/openapi/v3")).body["paths"]
    url = index["apis/tests.example/v1"]["serverRelativeURL"]
    path, _, query = url.partition("?")

    document = (await api.get(path, hash=query.removeprefix("hash="))).body

    item = document["paths"]["/apis/tests.example/v1/namespaces/{namespace}/widgets/{name}"]
    schema = document["components"]["schemas"]["example.tests.v1.Widget"]
    assert "fieldValidation" in {parameter["name"] for parameter in item["patch"]["parameters"]}
    assert schema["properties"]["spec"]["description"] == "What the widget is like."


async def test_openapi_v2_has_no_protobuf_here_and_says_so(embedded: Api):
    protobuf = await embedded.get("/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    document = await embedded.get("/openapi/v2")

    assert protobuf.code == 406
    assert document.body["swagger"] == "2.0"


async def test_an_event_of_one_api_shows_in_the_other(api: Api):
    widget = await api.widget("a")
    about = {"apiVersion": "tests.example/v1", "kind": "Widget", "name": "a", "namespace": api.namespace}
    about["uid"] = widget["metadata"]["uid"]
    event = {
        "metadata": {"name": "a.1"},
        "regarding": about,
        "reason": "Made",
        "note": "It was made.",
        "type": "Normal",
        "action": "Make",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "tests.example/maker",
        "reportingInstance": "maker-1",
    }

    created = await api.post(f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events", event)
    selector = f"involvedObject.name=a,involvedObject.kind=Widget,involvedObject.uid={about['uid']}"
    listed = await api.get(f"/api/v1/namespaces/{api.namespace}/events", fieldSelector=selector)

    assert created.code == 201, created.body
    [core] = listed.body["items"]
    assert (core["message"], core["involvedObject"]["name"]) == ("It was made.", "a")
    assert (core["reportingComponent"], core["eventTime"]) == ("tests.example/maker", "2026-01-01T00:00:00.000000Z")


async def test_events_that_do_not_fit_a_selector_are_left_out(api: Api):
    event = {"metadata": {"name": "b.1"}, "involvedObject": {"name": "b", "namespace": api.namespace}, "reason": "X"}
    assert (await api.post(f"/api/v1/namespaces/{api.namespace}/events", event)).code == 201

    answer = await api.get(f"/api/v1/namespaces/{api.namespace}/events", fieldSelector="involvedObject.name=a")

    assert answer.body["items"] == []


async def test_an_event_lies_in_the_namespace_of_what_it_is_about(api: Api):
    event = {"metadata": {"name": "b.1"}, "involvedObject": {"name": "b", "namespace": "elsewhere"}}

    answer = await api.post(f"/api/v1/namespaces/{api.namespace}/events", event)

    assert (answer.code, answer.causes) == (
        422,
        [("involvedObject.namespace", 'Invalid value: "elsewhere": does not match event.namespace')],
    )


async def test_a_lease_is_taken_by_who_is_first(api: Api):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
    created = await api.post(path, lease)
    stolen = created.body | {"spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}}

    first = await api.put(f"{path}/leader", stolen)
    second = await api.put(f"{path}/leader", stolen)

    assert (created.code, first.code, second.code) == (201, 200, 409)


async def test_a_secret_keeps_bytes_and_takes_text(api: Api):
    path = f"/api/v1/namespaces/{api.namespace}/secrets"

    answer = await api.post(path, {"metadata": {"name": "a"}, "data": {"x": "AQI="}, "stringData": {"y": "text"}})

    assert (answer.code, answer.body["type"]) == (201, "Opaque")
    assert answer.body["data"] == {"x": "AQI=", "y": "dGV4dA=="}
