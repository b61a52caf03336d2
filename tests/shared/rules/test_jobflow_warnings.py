"""What is worth knowing about a new JobFlow."""

import msgspec
import pytest

from shared.api.jobflow import JobFlow
from shared.rules.jobflow_warnings import Room, TemplateFacts, room_for, warnings_on_create
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


def warned(jobflow, template, tasks=(("t", 1),), plugins=(), *, has_volumes=False):
    """What is said of a JobFlow of that name with one template, whose tasks have names and replicas."""
    room = room_for(tasks, plugins, has_volumes=has_volumes)
    return warnings_on_create(a_jobflow(template, name=jobflow), TemplateFacts({template}, (), {template: room}))


PODS = "1 JobTemplate may get Pods with names over 63 characters: "
LABELS = "1 JobTemplate may get Services or volumes with invalid names: "


@pytest.mark.parametrize(("job", "tasks", "fits"), [
    (59, [("t", 1)], True), (59, [("t", 10)], True), (59, [("t", 11)], False), (58, [("t", 11)], True),
    (59, [("tt", 1)], False), (59, [("t", 0)], True), (52, [(None, 1)], True), (53, [(None, 1)], False),
    (59, [("t", 1), ("u", 1)], True), (30, [("t" * 31, 1)], False), (30, [("t" * 30, 1)], True),
    (58, [("t", 1)] * 10 + [("u", 1)], True), (59, [("t", 1)] * 10 + [("u", 1)], False), (59, [], True),
])  # fmt: skip
def test_a_template_whose_tasks_make_too_long_names_of_pods_is_named(job, tasks, fits):
    template = "x" * (job - 2)
    warnings = warned("f", template, tasks)
    assert warnings == [] if fits else warnings[0].startswith(PODS)


@pytest.mark.parametrize(("jobflow", "template", "plugins", "has_volumes", "fits"), [
    ("a.b", "get", [], False, True), ("a.b", "get", ["env"], False, True), ("a.b", "get", ["svc"], False, False),
    ("ml", "get.it", ["ssh"], False, False), ("ml", "get.it", ["hcclrank"], False, True),
    ("ml", "get.it", [], True, False), ("ml", "get.it", ["mpi"], False, False), ("ml", "get", ["mpi"], True, True),
    ("ml", "x" * 47, [], True, True), ("ml", "x" * 48, [], True, False), ("ml", "x" * 55, ["svc", "ssh"], False, True),
    ("ml", "x" * 51, ["ray"], False, True), ("ml", "x" * 52, ["ray"], False, False),
])  # fmt: skip
def test_a_template_whose_plugins_or_volumes_make_names_that_do_not_fit_is_named(
    jobflow, template, plugins, has_volumes, fits
):
    warnings = warned(jobflow, template, (), plugins, has_volumes=has_volumes)
    assert warnings == ([] if fits else [LABELS + template])


def test_of_many_templates_whose_names_do_not_fit_five_are_named():
    names = list("abcdefg")
    known = TemplateFacts(set(names), (), dict.fromkeys(names[1:], Room(61, 61)))
    assert warnings_on_create(a_jobflow(*names, name="ml"), known) == [
        "6 JobTemplates may get Pods with names over 63 characters: b, c, d, e, f, ...",
        "6 JobTemplates may get Services or volumes with invalid names: b, c, d, e, f, ...",
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
