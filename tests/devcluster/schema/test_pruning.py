import copy

import pytest

from devcluster.schema import SchemaError, prune, validate


def an_object(**properties):
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
KEPT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "obj", "left", "paths"),
    [
        pytest.param(
            an_object(spec=an_object(a=TEXT)),
            {"spec": {"a": "1", "b": 2}, "extra": {}},
            {"spec": {"a": "1"}},
            ["extra", "spec.b"],
            id="fields that the schema does not name",
        ),
        pytest.param(
            an_object(flows={"type": "array", "items": an_object(name=TEXT)}),
            {"flows": [{"name": "a"}, {"name": "b", "foo": 1}]},
            {"flows": [{"name": "a"}, {"name": "b"}]},
            ["flows[1].foo"],
            id="in the entries of lists",
        ),
        pytest.param(
            an_object(plugins={"type": "object", "additionalProperties": an_object(port=TEXT)}),
            {"plugins": {"ssh": {"port": "1", "x": 1}}},
            {"plugins": {"ssh": {"port": "1"}}},
            ["plugins.ssh.x"],
            id="a map takes any name, and its values their own fields",
        ),
        pytest.param(
            an_object(free={"type": "object", "additionalProperties": True}),
            {"free": {"a": {"b": [{"c": 1}]}}},
            {"free": {"a": {"b": [{"c": 1}]}}},
            [],
            id="a map of anything",
        ),
        pytest.param(
            an_object(template={**KEPT, "properties": {"known": an_object(a=TEXT)}}),
            {"template": {"other": {"deep": 1}, "known": {"a": "1", "b": 2}}},
            {"template": {"other": {"deep": 1}, "known": {"a": "1"}}},
            ["template.known.b"],
            id="what is preserved stays, but for what the schema names again",
        ),
        pytest.param(
            an_object(),
            {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "whatever": 1}, "status": {}},
            {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "whatever": 1}},
            ["status"],
            id="type and metadata are the server's own business",
        ),
        pytest.param(
            an_object(inner={**an_object(spec=TEXT), "x-kubernetes-embedded-resource": True}),
            {"inner": {"kind": "Y", "metadata": {"x": 1}, "spec": "s", "z": 1}},
            {"inner": {"kind": "Y", "metadata": {"x": 1}, "spec": "s"}},
            ["inner.z"],
            id="also those of an embedded resource",
        ),
        pytest.param(
            an_object(inner=an_object()),
            {"inner": {"kind": "Y", "metadata": {}}},
            {"inner": {}},
            ["inner.kind", "inner.metadata"],
            id="but of nothing else",
        ),
        pytest.param(
            an_object(things={"type": "array"}),
            {"things": [{"a": 1}, "b"]},
            {"things": [{}, "b"]},
            ["things[0].a"],
            id="a list of nobody knows what",
        ),
    ],
)
def test_what_the_schema_does_not_name_is_taken_away(schema, obj, left, paths):
    obj = copy.deepcopy(obj)

    assert prune(schema, obj) == paths
    assert obj == left


def test_a_schema_that_nests_without_end_is_refused():
    schema = {"type": "object"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}

    with pytest.raises(SchemaError):
        validate(schema, {})
