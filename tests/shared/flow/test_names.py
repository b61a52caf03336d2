"""The names that a flow makes."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.api.meta import ObjectMeta
from shared.flow.names import child_name, is_label, is_subdomain, label_value, longest_name

KUBERNETES_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)


def test_a_child_is_named_by_its_jobflow_and_its_entry():
    assert child_name("etl", "train") == "etl-train"


@pytest.mark.parametrize("length", [1, 62, 63])
def test_a_label_that_fits_is_left_alone(length):
    assert label_value("x" * length) == "x" * length


@given(st.text("abc123", min_size=1, max_size=63), st.text("abc.-123", max_size=253).map(lambda text: text + "z"))
@example("n" * 50, "a" * 11 + "." * 20 + "z")
def test_every_label_is_one_that_kubernetes_takes(namespace, name):
    label = label_value(f"{namespace}.{name}")
    assert len(label) <= 63
    assert KUBERNETES_LABEL_VALUE.fullmatch(label)


def test_labels_that_are_cut_still_differ():
    assert label_value("x" * 100 + "a") != label_value("x" * 100 + "b")
    assert label_value("x" * 100 + "a") == label_value("x" * 100 + "a")


def test_a_label_that_is_cut_never_changes_between_versions():
    # A controller must find the Jobs of the one before it. The hash is the start of what sha256sum prints.
    assert label_value("x" * 70) == "x" * 52 + "-" + "c71bd10922"


@pytest.mark.parametrize("name", ["a", "1", "a-b", "a.b", "a--b.c-d.1", "x" * 63, "x" * 253])
def test_names_that_kubernetes_takes(name):
    assert is_subdomain(name)


@pytest.mark.parametrize("name", [
    "", "A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "a b", "a\n", "\u0661", "\u00e4", "x" * 254,
])  # fmt: skip
def test_names_that_kubernetes_refuses(name):
    assert not is_subdomain(name)
    assert not is_label(name)


@pytest.mark.parametrize("name", ["a.b", "x" * 64])
def test_a_label_has_no_dots_and_63_characters(name):
    assert is_subdomain(name)
    assert not is_label(name)


@pytest.mark.parametrize(("metadata", "name"), [
    pytest.param(ObjectMeta(name="etl"), "etl", id="given"),
    pytest.param(ObjectMeta(name="etl-x7k2p", generate_name="etl-"), "etl-x7k2p", id="made already"),
    pytest.param(ObjectMeta(generate_name="etl-"), "etl-xxxxx", id="still to be made"),
    pytest.param(ObjectMeta(generate_name="e" * 200), "e" * 58 + "xxxxx", id="from a base that the API server cuts"),
    pytest.param(ObjectMeta(), "", id="neither"),
])  # fmt: skip
def test_the_longest_name_that_an_object_can_have(metadata, name):
    assert longest_name(metadata) == name
