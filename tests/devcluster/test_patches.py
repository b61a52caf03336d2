import copy

import pytest

from devcluster.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, PatchError, apply_patch

JOB = {"kind": "Job", "metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"tasks": [{"name": "t"}], "queue": "q"}}
POD = {
    "kind": "Pod",
    "metadata": {"name": "p", "finalizers": ["a/x", "b/x"]},
    "spec": {
        "containers": [{"name": "a", "image": "1", "env": [{"name": "E", "value": "1"}]}, {"name": "b", "image": "2"}],
        "tolerations": [{"key": "k"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def refusal(content_type, obj, patch):
    with pytest.raises(PatchError) as caught:
        apply_patch(content_type, obj, patch)
    return caught.value.code, caught.value.reason, caught.value.message


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param(
            {"metadata": {"labels": {"y": "2"}}}, {"labels": {"x": "1", "y": "2"}, "name": "a"}, id="merges objects"
        ),
        pytest.param({"metadata": {"labels": None}}, {"name": "a"}, id="null removes"),
        pytest.param(
            {"metadata": {"labels": {"x": None, "z": None}}}, {"labels": {}, "name": "a"}, id="null of nothing"
        ),
        pytest.param({"metadata": {"labels": ["l"]}}, {"labels": ["l"], "name": "a"}, id="a list replaces"),
        pytest.param(
            {"metadata": {"new": {"a": {"b": None, "c": 1}}}},
            {"labels": {"x": "1"}, "name": "a", "new": {"a": {"c": 1}}},
            id="nulls in what is new are not stored",
        ),
    ],
)
def test_a_merge_patch(patch, expected):
    assert apply_patch(MERGE_PATCH, JOB, patch)["metadata"] == expected


@pytest.mark.parametrize(
    ("patch", "path", "expected"),
    [
        pytest.param(
            [{"op": "add", "path": "/spec/tasks/-", "value": 1}], "tasks", [{"name": "t"}, 1], id="add at the end"
        ),
        pytest.param(
            [{"op": "add", "path": "/spec/tasks/0", "value": 1}], "tasks", [1, {"name": "t"}], id="add in between"
        ),
        pytest.param([{"op": "replace", "path": "/spec/queue", "value": "z"}], "queue", "z", id="replace"),
        pytest.param(
            [{"op": "replace", "path": "/spec/new", "value": "z"}], "new", "z", id="replace what is not there"
        ),
        pytest.param([{"op": "move", "from": "/spec/queue", "path": "/spec/other"}], "other", "q", id="move"),
        pytest.param([{"op": "copy", "from": "/spec/tasks/0", "path": "/spec/t"}], "t", {"name": "t"}, id="copy"),
        pytest.param([{"op": "remove", "path": "/spec/tasks/0"}], "tasks", [], id="remove"),
        pytest.param(
            [{"op": "test", "path": "/spec/none", "value": None}], "queue", "q", id="what is missing tests as null"
        ),
        pytest.param([{"op": "test", "path": "/metadata/labels", "value": {"x": "1"}}], "queue", "q", id="test passes"),
    ],
)
def test_a_json_patch(patch, path, expected):
    assert apply_patch(JSON_PATCH, JOB, patch)["spec"].get(path) == expected


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param([{"op": "test", "path": "/metadata/name", "value": "b"}], id="a test fails"),
        pytest.param([{"op": "test", "path": "/spec/none", "value": 1}], id="a test of what is missing"),
        pytest.param([{"op": "remove", "path": "/spec/none"}], id="remove what is missing"),
        pytest.param([{"op": "add", "path": "/none/x", "value": 1}], id="add below what is missing"),
        pytest.param([{"op": "replace", "path": "/spec/tasks/7", "value": 1}], id="beyond a list's end"),
        pytest.param([{"op": "jump", "path": "/spec"}], id="an unknown operation"),
        pytest.param([{"op": "add", "value": 1}], id="no path"),
        pytest.param([{"op": "replace", "path": "", "value": []}], id="the whole object becomes something else"),
    ],
)
def test_a_json_patch_that_does_not_apply_is_invalid(patch):
    before = copy.deepcopy(JOB)

    assert refusal(JSON_PATCH, JOB, patch) == (
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
    assert before == JOB


@pytest.mark.parametrize(
    ("content_type", "patch", "message"),
    [
        pytest.param(JSON_PATCH, {}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        pytest.param(MERGE_PATCH, [], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_a_patch_of_another_kind_is_a_bad_request(content_type, patch, message):
    assert refusal(content_type, JOB, patch) == (400, "BadRequest", f"error decoding patch: {message}")


def test_a_json_patch_has_no_more_than_ten_thousand_operations():
    code, reason, _ = refusal(JSON_PATCH, JOB, [{"op": "test", "path": "/spec/queue", "value": "q"}] * 10_001)

    assert (code, reason) == (413, "RequestEntityTooLarge")


def test_an_unknown_kind_of_patch_is_refused():
    assert refusal("application/yaml", JOB, {})[:2] == (415, "UnsupportedMediaType")


def test_a_patch_that_nests_without_end_is_refused_and_does_not_crash():
    patch: dict = {}
    for _ in range(100_000):
        patch = {"a": patch}

    assert refusal(MERGE_PATCH, JOB, patch)[:2] == (400, "BadRequest")
    while patch:  # undone step by step: the interpreter would recurse as well
        patch = patch["a"]


def strategic(patch, of=POD):
    before = copy.deepcopy(of)
    patched = apply_patch(STRATEGIC_PATCH, of, patch)
    assert before == of
    return patched


def names(items):
    return [item["name"] for item in items]


def test_a_strategic_patch_merges_lists_by_their_key():
    spec = strategic({"spec": {"containers": [{"name": "a", "env": [{"name": "F", "value": "2"}]}]}})["spec"]

    assert names(spec["containers"]) == ["a", "b"]
    assert spec["containers"][0]["image"] == "1"
    assert names(spec["containers"][0]["env"]) == ["F", "E"]


def test_a_list_without_a_key_is_replaced():
    assert strategic({"spec": {"tolerations": [{"key": "other"}]}})["spec"]["tolerations"] == [{"key": "other"}]


def test_what_a_service_merges_by_is_the_port():
    service = {"kind": "Service", "spec": {"ports": [{"port": 80, "name": "http"}]}}

    patched = strategic({"spec": {"ports": [{"port": 80, "nodePort": 3}]}}, service)

    assert patched["spec"]["ports"] == [{"port": 80, "name": "http", "nodePort": 3}]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"containers": [{"name": "a", "$patch": "delete"}]}, ["b"], id="delete an entry"),
        pytest.param({"containers": [{"$patch": "replace"}, {"name": "z"}]}, ["z"], id="replace the list"),
        pytest.param(
            {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}],
                "containers": [{"name": "c"}],
            },
            ["b", "c", "a"],
            id="in the order that the patch asks for",
        ),
        pytest.param(
            {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}], "containers": [{"name": "c"}]},
            ["c", "a", "b"],
            id="what the patch does not name stays before what followed it",
        ),
        pytest.param({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}, ["b", "a"], id="an order alone"),
    ],
)
def test_directives_for_lists(patch, expected):
    assert names(strategic({"spec": patch})["spec"]["containers"]) == expected


def test_directives_for_objects():
    assert strategic({"spec": {"$patch": "replace", "x": 1}})["spec"] == {"x": 1}
    assert strategic({"spec": {"$patch": "delete"}})["spec"] == {}
    kept = strategic({"spec": {"$retainKeys": ["containers", "volumes"], "volumes": []}})["spec"]
    assert kept.keys() == {"containers", "volumes"}


def test_plain_values_are_merged_as_a_set_and_deleted_by_value():
    added = strategic({"metadata": {"finalizers": ["b/x", "c/x"]}})["metadata"]["finalizers"]
    deleted = strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]}})["metadata"]["finalizers"]

    assert sorted(added) == ["a/x", "b/x", "c/x"]
    assert deleted == ["b/x"]


def test_null_removes_and_directives_are_never_stored():
    patched = strategic(
        {"spec": {"volumes": None, "new": {"a": None, "b": 1, "$patch": "merge"}}, "gone": {"$patch": "delete"}}
    )

    assert "volumes" not in patched["spec"]
    assert "$patch" not in str(patched)


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            {"spec": {"containers": [{"image": "x"}]}}, 500, "does not contain declared merge key: name", id="no key"
        ),
        pytest.param({"spec": {"$patch": "explode"}}, 500, "unknown patch type: explode", id="an unknown directive"),
        pytest.param(
            {"spec": {"$retainKeys": [], "volumes": []}},
            400,
            "invalid patch format of retainKeys",
            id="a field that is not retained",
        ),
        pytest.param(
            {"spec": {"$setElementOrder/tolerations": []}},
            400,
            "invalid patch format of setElementOrder list",
            id="an order for a list that is not merged",
        ),
        pytest.param(
            [], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}", id="a list"
        ),
    ],
)
def test_a_strategic_patch_that_contradicts_itself_is_refused(patch, code, message):
    answered, _, said = refusal(STRATEGIC_PATCH, POD, patch)

    assert answered == code
    assert message in said
