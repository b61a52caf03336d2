"""Texts that Kubernetes reads."""

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.formats import is_duration, is_env_name, is_label_value, is_port_name, is_qualified_name, quantity


@pytest.mark.parametrize(("written", "amount"), [
    (2, "2"), (2.0, "2"), ("2", "2"), ("0.5", "0.5"), (".5", "0.5"), ("5.", "5"), ("+1", "1"), ("-1", "-1"),
    ("500m", "0.5"), ("1k", "1000"), ("1Ki", "1024"), ("1.5Gi", str(3 * 2**29)), ("2E", "2e18"), ("1e3", "1000"),
    ("1E3", "1000"), ("12e-3", "0.012"), ("5n", "5e-9"), ("7u", "7e-6"), ("0", "0"), ("0e9999999999", "0"),
    ("1e9999999999", str(2**63 - 1)), ("9Ei", str(2**63 - 1)), ("1e-9999999999", "1e-9"), ("-0.1n", "-1e-9"),
])  # fmt: skip
def test_a_quantity_comes_to(written, amount):
    assert quantity(written) == Decimal(amount)


@pytest.mark.parametrize("written", [
    "", "x", "1x", "1 Gi", " 1", "1\n", "1gi", "1KI", "1ki", "--1", "1.2.3", ".", "e3", "1e", "1e1.5", "1mi", "\u0661",
    "NaN", "Infinity", "0x10", "1_000", 0.5, -1.5, "1" * 1000,
])  # fmt: skip
def test_what_is_no_quantity(written):
    assert quantity(written) is None


@given(st.text("0123456789.eEKMGi+-numk", max_size=40))
def test_any_text_is_read_in_no_time(written):
    started = time.process_time()
    quantity(written)
    assert time.process_time() - started < 0.05


@pytest.mark.parametrize("text", [
    "0", "+0", "1s", "-1s", "+5m", "1.5h", ".5h", "1.h", "2h45m", "1h1m1s1ms1us1ns", "1\u00b5s", "1\u03bcs",
    "2562047h47m16.854775807s", "100000h",
])  # fmt: skip
def test_durations_that_go_takes(text):
    assert is_duration(text)


@pytest.mark.parametrize("text", [
    "", "1", "s", ".s", "1d", "1 s", "1s ", " 1s", "-", "+", "--1s", "1s-1s", "1S", "1e3s", "2562047h48m",
    "9" * 30 + "h", "\u0661s", "1s" * 500,
])  # fmt: skip
def test_durations_that_go_refuses(text):
    assert not is_duration(text)


@pytest.mark.parametrize("name", ["A", "a_b", "my.var", "a-b", "_", "-x", ".x", "A1"])
def test_names_of_variables_that_volcano_takes(name):
    assert is_env_name(name)


@pytest.mark.parametrize("name", ["", "1A", "a b", "a=b", ".", "..", "..x", "a\n", "\u00e4", "a/b", "a+b"])
def test_names_of_variables_that_volcano_refuses(name):
    assert not is_env_name(name)


@pytest.mark.parametrize("name", ["http", "a", "8080-tcp", "a1-b2", "x" * 15])
def test_names_of_ports_that_kubernetes_takes(name):
    assert is_port_name(name)


@pytest.mark.parametrize("name", ["", "8080", "x" * 16, "a--b", "-a", "a-", "A", "a_b", "a.b", "a\n"])
def test_names_of_ports_that_kubernetes_refuses(name):
    assert not is_port_name(name)


@pytest.mark.parametrize("value", ["", "a", "A.b_c-1", "x" * 63])
def test_values_of_labels_that_kubernetes_takes(value):
    assert is_label_value(value)


@pytest.mark.parametrize("value", ["-a", "a-", ".", "a b", "a/b", "x" * 64, "a\n"])
def test_values_of_labels_that_kubernetes_refuses(value):
    assert not is_label_value(value)


@pytest.mark.parametrize("name", ["a", "nvidia.com/gpu", "example.com/A_b.c", "x" * 253 + "/" + "y" * 63])
def test_qualified_names(name):
    assert is_qualified_name(name)


@pytest.mark.parametrize("name", ["", "/a", "a/", "a/b/c", "Example.com/a", "example.com/-a", "a/" + "y" * 64, "a b"])
def test_names_that_are_not_qualified(name):
    assert not is_qualified_name(name)
