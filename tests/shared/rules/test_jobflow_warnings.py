"""What is worth knowing about a new JobFlow."""

import msgspec
import pytest

from shared.api.jobflow import JobFlow
from shared.rules.jobflow_warnings import TemplateFacts, warnings_on_create
from tests.support.builders import a_jobflow, a_jobflow_object


def with_entries(*entries):
    built = a_jobflow_object()
    built["spec"]["flows"] = list(entries)
    return msgspec.convert(built, JobFlow)


def test_where_all_is_known_and_well_there_is_nothing_to_say():
    assert warnings_on_create(a_jobflow("a", "b: a"), TemplateFacts({"a", "b"})) == []


def test_where_nothing_is_known_of_templates_nothing_is_said_of_them():
    assert warnings_on_create(a_jobflow("a"), None) == []


@pytest.mark.parametrize(("flows", "warning"), [
    (["a"], "1 JobTemplate does not exist yet: a"),
    (["a", "here", "b"], "2 JobTemplates do not exist yet: a, b"),
    (list("abcde"), "5 JobTemplates do not exist yet: a, b, c, d, e"),
    (list("abcdef"), "6 JobTemplates do not exist yet: a, b, c, d, e, ..."),
])  # fmt: skip
def test_templates_that_do_not_exist_yet_are_named(flows, warning):
    assert warnings_on_create(a_jobflow(*flows), TemplateFacts({"here"})) == [warning]


def test_templates_that_are_being_deleted_are_named():
    known = TemplateFacts(existing={"a", "b"}, deleting={"a", "gone"})
    assert warnings_on_create(a_jobflow("a", "b"), known) == ["1 JobTemplate is being deleted: a"]
    assert warnings_on_create(a_jobflow("gone"), known) == ["1 JobTemplate does not exist yet: gone"]


def test_a_field_without_effect_is_named():
    probe = {"tcpSocketList": [{"taskName": "t", "port": 1}]}
    entries = [
        {"name": "a", "patch": {"jobSpec": {"queue": "q"}}},
        {"name": "b", "dependsOn": {"probe": probe}},
        {"name": "c", "patch": {"jobSpec": {"queue": "q"}}},
    ]
    assert warnings_on_create(with_entries(*entries), None) == [
        "2 patches have no effect yet: spec.flows[0].patch, spec.flows[2].patch",
        "1 probe has no effect yet: spec.flows[1].dependsOn.probe",
    ]


@pytest.mark.parametrize("entry", [
    {"name": "a", "patch": {}},
    {"name": "a", "patch": {"jobSpec": {"tasks": []}}},
    {"name": "a", "dependsOn": {"probe": {}}},
    {"name": "a", "dependsOn": {"probe": {"httpGetList": []}}},
])  # fmt: skip
def test_a_field_that_says_nothing_is_not_named(entry):
    assert warnings_on_create(with_entries(entry), None) == []


@pytest.mark.parametrize("count", [1, 2, 5, 6, 1000])
@pytest.mark.parametrize("length", [10, 25, 26, 57, 253, 100_000])
def test_a_warning_has_at_most_120_characters(count, length):
    names = [f"{i}".rjust(length, "x") for i in range(count)]
    (warning,) = warnings_on_create(a_jobflow(*names), TemplateFacts(set()))
    assert len(warning) <= 120
    assert warning.startswith(f"{count} JobTemplate")
    assert warning.endswith("...") or all(name in warning for name in names)


def test_a_warning_is_one_line():
    (warning,) = warnings_on_create(a_jobflow("a\x1b[31m"), TemplateFacts(set()))
    assert warning.isprintable()
