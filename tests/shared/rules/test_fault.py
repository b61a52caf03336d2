"""Faults are told in Kubernetes' words."""

import pytest

from shared.rules.fault import (
    METADATA,
    SPEC,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    quoted,
    required,
    too_long,
    too_many,
    type_invalid,
)

AT = SPEC / "flows" / 0 / "name"


def test_a_path_prints_as_kubernetes_prints_it():
    assert str(AT) == "spec.flows[0].name"
    assert str(METADATA / "name") == "metadata.name"
    assert str((SPEC / "plugins").key("svc")) == "spec.plugins[svc]"
    assert str(FieldPath()) == ""


def test_a_path_never_changes():
    flows = SPEC / "flows"
    assert flows / 1 != flows / 2
    assert str(flows) == "spec.flows"


@pytest.mark.parametrize(("fault", "reason", "message"), [
    (required(AT), "FieldValueRequired", "Required value"),
    (required(AT, "must be given"), "FieldValueRequired", "Required value: must be given"),
    (invalid(AT, "x", "must be y"), "FieldValueInvalid", 'Invalid value: "x": must be y'),
    (invalid(AT, 70000, "must be less"), "FieldValueInvalid", "Invalid value: 70000: must be less"),
    (type_invalid(AT, True, "must be a string"), "FieldValueTypeInvalid", "Invalid value: true: must be a string"),
    (duplicate(AT, "x"), "FieldValueDuplicate", 'Duplicate value: "x"'),
    (not_found(AT, "x"), "FieldValueNotFound", 'Not found: "x"'),
    (not_supported(AT, "x", ["all", "any"]), "FieldValueNotSupported",
     'Unsupported value: "x": supported values: "all", "any"'),
    (forbidden(AT, "may not be changed"), "FieldValueForbidden", "Forbidden: may not be changed"),
    (too_long(AT, 63), "FieldValueTooLong", "Too long: may not be more than 63 bytes"),
    (too_many(AT, 6000, 1000), "FieldValueTooMany", "Too many: 6000: must have at most 1000 items"),
])  # fmt: skip
def test_a_fault_says(fault, reason, message):
    assert (fault.reason, fault.message, str(fault)) == (reason, message, f"spec.flows[0].name: {message}")


@pytest.mark.parametrize(("value", "printed"), [
    ('say "x" \\ y', r'"say \"x\" \\ y"'),
    ("two\nlines\x1b[31m", r'"two\nlines\x1b[31m"'),
    ("right\u202eleft", r'"right\u202eleft"'),
    ("\ud800", r'"\ud800"'),
    ("k\u00f6ln", '"k\u00f6ln"'),
    (None, "null"),
    ({"a": 1}, "an object"),
    ([1], "a list"),
    (0.5, "0.5"),
])  # fmt: skip
def test_a_value_moves_no_cursor_and_breaks_no_line(value, printed):
    assert quoted(value) == printed


@pytest.mark.parametrize("value", ["x" * 1_000_000, "\x1b" * 1_000_000, 10**4000])
def test_a_long_value_is_cut_in_the_middle(value):
    assert len(quoted(value)) < 500
    assert "..." in quoted(value)
