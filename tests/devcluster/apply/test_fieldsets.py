import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.apply import fieldsets

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', "v:1"])
some_paths = st.lists(st.lists(elements, min_size=1, max_size=4).map(tuple), max_size=12)


def set_of(paths):
    fields = {}
    for path in paths:
        fieldsets.add(fields, path)
    return fields


@given(some_paths)
def test_a_set_holds_what_was_put_into_it(paths):
    fields = set_of(paths)

    assert sorted(fieldsets.paths(fields)) == sorted(set(paths))
    assert all(fieldsets.has(fields, path) for path in paths)


@given(some_paths, some_paths)
def test_what_is_taken_out_is_gone_and_all_else_stays(paths, gone):
    fields = set_of(paths)

    for path in gone:
        fieldsets.discard(fields, path)

    assert set(fieldsets.paths(fields)) == set(paths) - set(gone)
    assert fields == set_of(sorted(set(paths) - set(gone)))


@given(some_paths, some_paths)
def test_a_union_holds_what_is_in_either_set(left, right):
    assert set(fieldsets.paths(fieldsets.union(set_of(left), set_of(right)))) == set(left) | set(right)


@given(some_paths, some_paths)
def test_a_union_shares_nothing_with_its_parts(left, right):
    a, b = set_of(left), set_of(right)
    union = fieldsets.union(a, b)

    for path in list(fieldsets.paths(union)):
        fieldsets.discard(union, path)

    assert (a, b) == (set_of(left), set_of(right))


def test_a_set_is_stored_as_kubernetes_stores_it():
    paths = [("f:metadata", "f:labels"), ("f:metadata", "f:labels", "f:x"), ("f:spec", fieldsets.entry({"name": "a"}))]

    assert fieldsets.in_order(set_of(paths)) == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:spec": {'k:{"name":"a"}': {}},
    }
    assert json.dumps(set_of([("f:a",), ("f:a", "f:b")])) == '{"f:a": {".": {}, "f:b": {}}}'


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        (("f:spec", "f:flows"), ".spec.flows"),
        (("f:containers", fieldsets.entry({"name": "a"}), "f:image"), '.containers[name="a"].image'),
        (("f:ports", fieldsets.entry({"protocol": "TCP", "port": 1})), '.ports[port=1,protocol="TCP"]'),
        (("f:finalizers", fieldsets.member("a/x")), '.finalizers[="a/x"]'),
    ],
)
def test_a_field_is_spelled_as_conflicts_name_it(path, spelled):
    assert fieldsets.spelled(path) == spelled
