import copy

import pytest

from devcluster.schema import apply_defaults

QUEUE = {"type": "string", "default": "default"}
SPEC = {"type": "object", "properties": {"queue": QUEUE, "retries": {"type": "integer", "default": 0}}}


def an_object(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "obj", "filled"),
    [
        pytest.param(
            an_object(spec=SPEC), {"spec": {}}, {"spec": {"queue": "default", "retries": 0}}, id="what is missing"
        ),
        pytest.param(
            an_object(spec=SPEC), {"spec": {"queue": "q"}}, {"spec": {"queue": "q", "retries": 0}}, id="not more"
        ),
        pytest.param(an_object(spec=SPEC), {}, {}, id="nothing below what is not there"),
        pytest.param(
            an_object(spec={**SPEC, "default": {}}),
            {},
            {"spec": {"queue": "default", "retries": 0}},
            id="unless that has a default itself, whose fields have theirs",
        ),
        pytest.param(an_object(queue=QUEUE), {"queue": None}, {"queue": "default"}, id="a null that may not be"),
        pytest.param(
            an_object(queue={**QUEUE, "nullable": True}), {"queue": None}, {"queue": None}, id="not a null that may be"
        ),
        pytest.param(an_object(end={"type": "string"}), {"end": None}, {}, id="a null without a default goes"),
        pytest.param(
            an_object(kept={"x-kubernetes-preserve-unknown-fields": True, "type": "object"}),
            {"kept": {"any": None}},
            {"kept": {"any": None}},
            id="nobody knows whether this null may be",
        ),
        pytest.param(
            an_object(jobs={"type": "object", "additionalProperties": SPEC}),
            {"jobs": {"a": {}, "b": None}},
            {"jobs": {"a": {"queue": "default", "retries": 0}}},
            id="in the values of maps",
        ),
        pytest.param(
            an_object(tasks={"type": "array", "items": SPEC}),
            {"tasks": [{"retries": 1}, None]},
            {"tasks": [{"queue": "default", "retries": 1}, None]},
            id="in the entries of lists, whose nulls are for the validation to refuse",
        ),
    ],
)
def test_defaults_are_filled_in(schema, obj, filled):
    obj = copy.deepcopy(obj)

    apply_defaults(schema, obj)

    assert obj == filled


def test_a_default_is_a_copy_of_its_own():
    schema = an_object(spec={"type": "object", "default": {"tags": []}, "properties": {"tags": {"type": "array"}}})
    first, second = {}, {}

    apply_defaults(schema, first)
    first["spec"]["tags"].append("mine")
    apply_defaults(schema, second)

    assert second == {"spec": {"tags": []}}
