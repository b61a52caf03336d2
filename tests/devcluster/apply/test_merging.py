import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.apply.merging import compare, merged
from devcluster.apply.shapes import Shape, root_shape
from devcluster.schema.compiled import compiled

TEXT = {"type": "string"}
ENTRY = {"type": "object", "properties": {"name": TEXT, "image": TEXT}}
BY_NAME = {"type": "array", "items": ENTRY, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "containers": BY_NAME,
                "flows": {"type": "array", "items": ENTRY},
                "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


def changed(old, new):
    difference = compare(root_shape(SCHEMA), {"spec": old}, {"spec": new})
    return tuple(
        sorted("/".join(path[1:]) for path in part)
        for part in (difference.added, difference.modified, difference.removed)
    )


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param({"flows": [1]}, {"flows": [1, 2]}, [], ["f:flows"], [], id="an atomic list is one field"),
        pytest.param(
            {"whole": {"a": "1"}}, {"whole": {"b": "1"}}, [], ["f:whole"], [], id="an atomic object is one field"
        ),
        pytest.param(
            {"set": ["a", "b"]}, {"set": ["b", "c"]}, ['f:set/v:"c"'], [], ['f:set/v:"a"'], id="a set has its values"
        ),
        pytest.param({"set": ["a", "b"]}, {"set": ["b", "a"]}, [], [], [], id="the order of a set says nothing"),
        pytest.param(
            {"containers": [{"name": "a", "image": "1"}]},
            {"containers": [{"name": "b"}, {"name": "a", "image": "2"}]},
            ['f:containers/k:{"name":"b"}', 'f:containers/k:{"name":"b"}/f:name'],
            ['f:containers/k:{"name":"a"}/f:image'],
            [],
            id="a map list has its entries and their fields",
        ),
        pytest.param(
            {"free": {"a": {"b": 1}, "l": [1]}},
            {"free": {"a": {"c": 1}, "l": [2]}},
            ["f:free/f:a/f:c"],
            ["f:free/f:l"],
            ["f:free/f:a/f:b"],
            id="where nothing is known, objects are merged and lists are not",
        ),
        pytest.param({}, {"free": {}}, ["f:free"], [], [], id="an empty object is a field"),
        pytest.param({"free": {"a": {}}}, {"free": {"a": "x"}}, ["f:free/f:a"], [], ["f:free/f:a"], id="another type"),
    ],
)
def test_what_differs(old, new, added, modified, removed):
    assert changed(old, new) == (added, modified, removed)


def order(live, applied):
    shape = Shape(compiled(BY_NAME))
    entries = merged(shape, [{"name": name} for name in live], [{"name": name} for name in applied])
    return "".join(entry["name"] for entry in entries)


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        pytest.param("abc", "", "abc", id="what is left out stays"),
        pytest.param("", "ab", "ab", id="all new"),
        pytest.param("abc", "cba", "cba", id="the applied order wins"),
        pytest.param("abc", "bx", "abcx", id="what is new goes to the end"),
        pytest.param("abc", "xb", "axbc", id="or before what it stands before"),
        pytest.param("abcd", "db", "acdb", id="others keep their places between"),
    ],
)
def test_the_order_of_merged_lists(live, applied, expected):
    assert order(live, applied) == expected


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("cdefgh"), unique=True))
def test_a_merged_list_has_every_entry_once_and_both_orders_of_what_only_one_has(live, applied):
    result = order(live, applied)

    assert sorted(result) == sorted({*live, *applied})
    assert [name for name in result if name in applied] == applied
    assert [name for name in result if name not in applied] == [name for name in live if name not in applied]


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
)
objects = st.fixed_dictionaries({}, optional={"free": st.dictionaries(st.sampled_from("abc"), values, max_size=3)})


@given(objects, objects)
def test_applying_an_object_again_changes_nothing(live, applied):
    shape = root_shape(SCHEMA)
    once = merged(shape, {"spec": live}, {"spec": applied})

    assert merged(shape, once, {"spec": applied}) == once


@given(objects)
def test_an_object_does_not_differ_from_itself(obj):
    difference = compare(root_shape(SCHEMA), {"spec": obj}, {"spec": obj})

    assert (difference.added, difference.modified, difference.removed) == ([], [], [])
