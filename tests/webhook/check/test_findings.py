"""What is found, at which line, and what is said about it: in the text, in each object, and among all of them."""

import pytest

from tests.support.builders import a_jobtemplate_object
from tests.webhook.check.reading import judged, said, the_finding
from tests.webhook.check.test_same_verdict import as_text
from webhook.check.findings import Level


def jobflow(flows: str = "[{name: get}]", metadata: str = "{name: etl}", rest: str = "") -> str:
    """A JobFlow of six lines or more; what is given begins at line 3, 5 and 6."""
    head = "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\n"
    return f"{head}metadata: {metadata}\nspec:\n  flows: {flows}\n{rest}"


def template(name: str, namespace: str | None = None) -> str:
    obj = a_jobtemplate_object(name)
    del obj["metadata"]["namespace"]
    if namespace:
        obj["metadata"]["namespace"] = namespace
    return as_text(obj)


GET = template("get")


def test_nothing_is_said_of_what_is_right() -> None:
    assert said(jobflow(), GET) == []


# Traps of YAML


@pytest.mark.parametrize(
    ("written", "said_of_it"),
    [
        ("y", 'true: must be a string; YAML reads y as true: write "y"'),
        ("on", 'true: must be a string; YAML reads on as true: write "on"'),
        ("No", 'false: must be a string; YAML reads No as false: write "No"'),
        ("1.10", '1.1: must be a string; YAML reads 1.10 as the number 1.1: write "1.10"'),
        ("010", '8: must be a string; YAML reads 010 as the number 8: write "010"'),
        ("0x1F", '31: must be a string; YAML reads 0x1F as the number 31: write "0x1F"'),
        ("1e3", '1000: must be a string; YAML reads 1e3 as the number 1000: write "1e3"'),
        ("1_000", '1000: must be a string; YAML reads 1_000 as the number 1000: write "1_000"'),
    ],
)
def test_what_yaml_made_of_a_name_is_told_and_how_to_write_it(written: str, said_of_it: str) -> None:
    finding = the_finding(jobflow(f"\n  - name: {written}"))
    assert (finding.line, finding.path) == (6, "spec.flows[0].name")
    assert finding.message == f"Invalid value: {said_of_it}"


def test_a_name_that_yaml_reads_as_nothing_is_required_and_why() -> None:
    finding = the_finding(jobflow("[{name: ~}]"))
    assert finding.message == 'Required value; YAML reads ~ as nothing: write "~"'


def test_what_is_simply_not_there_has_no_hint_and_the_line_of_what_is_around_it() -> None:
    finding = the_finding(jobflow("\n  - dependsOn: {}\n"))
    assert (finding.line, finding.path) == (6, "spec.flows[0].name")
    assert "YAML" not in finding.message


@pytest.mark.parametrize(("field", "written"), [("minAvailable", '"1"'), ("maxRetry", "'0x3'")])
def test_a_number_in_quotes_is_to_lose_them(field: str, written: str) -> None:
    finding = the_finding(
        GET.replace('  "minAvailable": 1\n', "").replace('"spec":', f'"spec":\n  {field}: {written}', 1)
    )
    assert finding.message.endswith(f"; it is a string because it is in quotes: write {written[1:-1]}")


def test_in_json_quotes_are_nobodys_trap() -> None:
    text = (
        '{"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": 1}, "spec": {"flows": []}}'
    )
    assert said(text) == ["a.yaml:1: metadata.name: Invalid value: 1: must be a string"]


def test_dates_and_times_are_texts_as_for_kubectl() -> None:
    env = "env: [{name: A, value: 2020-01-01}, {name: B, value: 12:30}]"
    assert said(GET.replace('"image": "busybox:1.36"', f'"image": "busybox:1.36"\n          {env}')) == []


def test_a_key_that_yaml_reads_as_something_else_is_a_warning() -> None:
    finding = the_finding(jobflow(metadata="{name: etl, labels: {on: a}}"), GET)
    assert (finding.level, finding.line, finding.rule) == (Level.WARNING, 3, "keys-are-texts")
    assert finding.message == 'Invalid value: on: YAML reads this key as "true"; to mean it as it stands, write "on"'


def test_a_key_that_is_a_plain_number_becomes_the_same_text() -> None:
    assert said(jobflow(metadata="{name: etl, labels: {1: a}}"), GET) == []


def test_a_key_that_stands_twice_is_a_fault_at_the_second() -> None:
    finding = the_finding(jobflow("\n  - name: other\n    name: get\n"), GET)
    assert (finding.level, finding.line, finding.path) == (Level.ERROR, 7, "spec.flows[0].name")
    assert finding.message == 'Duplicate value: "name": the key is here twice, and YAML takes the last one'


def test_keys_of_a_merged_map_may_be_said_anew() -> None:
    text = "- &a {name: get, dependsOn: {targets: []}}\n  - <<: *a\n    name: put"
    assert judged(jobflow(f"\n  {text}"), GET + template("put")).findings == []


def test_tags_of_a_language_are_refused() -> None:
    finding = the_finding(jobflow("\n  - name: !!python/name:os.system get"), GET)
    assert (finding.line, finding.rule, finding.path) == (6, "tags-are-known", "spec.flows[0].name")
    assert finding.message == 'Invalid value: "!!python/name:os.system": must have no such tag'


def test_what_is_odd_in_the_text_of_other_kinds_is_not_ours() -> None:
    assert said("apiVersion: v1\nkind: X\na: !Ref x\na: 1\non: 1\n") == []


# Fields


def test_a_misspelt_field_is_a_fault_with_its_near_miss() -> None:
    finding = the_finding(jobflow("[{name: get}, {name: put,\n  dependOn: {targets: [get]}}]"), GET + template("put"))
    assert (finding.level, finding.line, finding.path) == (Level.ERROR, 6, "spec.flows[1].dependOn")
    assert finding.message.endswith(
        'Unknown field: kubectl refuses it, and the API server drops it; did you mean "dependsOn"?'
    )


def test_a_field_that_nobody_knows_is_a_warning() -> None:
    finding = the_finding(jobflow(rest="  timeout: 3\n"), GET)
    assert (finding.level, finding.line, finding.path) == (Level.WARNING, 6, "spec.timeout")


def test_what_kubectl_get_prints_has_no_unknown_field() -> None:
    metadata = "{name: etl, uid: x, resourceVersion: '1', generation: 1, creationTimestamp: '2020-01-01T00:00:00Z', "
    metadata += "selfLink: x, managedFields: [{manager: kubectl}], finalizers: [a/b], labels: {a: b}}"
    assert said(jobflow(metadata=metadata, rest="status: {state: {phase: Running}, what: ever}\n"), GET) == []


@pytest.mark.parametrize("labels", ["{a: 1}", "[a]"])
def test_labels_are_texts(labels: str) -> None:
    finding = the_finding(jobflow(metadata=f"{{name: etl, labels: {labels}}}"), GET)
    assert finding.rule == "metadata-has-its-types"


# What an object is


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        ("apiVersion: flow.volcano.sh/v1\nkind: JobFlow", "a.yaml:1: apiVersion: Unsupported value"),
        ("kind: JobFlow", "a.yaml:1: apiVersion: Required value: must be flow.volcano.sh/v1alpha1"),
        ("apiVersion: batch.volcano.sh/v1alpha1\nkind: JobTemplate", "a.yaml:1: apiVersion: Unsupported value"),
        ("apiVersion: flow.volcano.sh/v1alpha1\nkind: Jobflow", 'a.yaml:2: kind: Unsupported value: "Jobflow"'),
        ("apiVersion: flow.volcano.sh/v1alpha1", "a.yaml:1: kind: Required value: must be JobFlow or JobTemplate"),
    ],
)
def test_what_is_meant_to_be_ours_must_say_so(head: str, fault: str) -> None:
    (line,) = said(f"{head}\nmetadata: {{name: a}}\n")
    assert line.startswith(fault)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {}\n",
        "apiVersion: workflow.example.com/v1\nkind: JobFlow\nspec: {steps: []}\n",
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap}]\n",
        "replicas: 3\n",
        "[1, 2]\n",
        "a text\n",
        "",
        "# nothing\n---\n---\n",
    ],
)
def test_other_kinds_and_other_texts_are_passed_over(text: str) -> None:
    report = judged(text)
    assert (report.findings, report.jobflows, report.exit_code(strict=True)) == ([], 0, 0)


def test_the_items_of_a_list_are_judged_each_by_itself() -> None:
    items = "- " + jobflow("[{name: n}]").replace("\n", "\n  ").rstrip() + "\n"
    finding = the_finding(f"apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: X, a: 1, a: 2}}\n{items}")
    assert (finding.line, finding.path) == (9, "spec.flows[0].name")


def test_the_items_of_a_typed_list_need_not_say_what_they_are() -> None:
    text = (
        "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlowList\nitems:\n- metadata: {name: a}\n  spec: {flows: []}\n"
    )
    (line,) = said(text)
    assert line == "a.yaml:5: spec.flows: Required value: must have at least one entry"


# Names that are still to be made


def test_of_a_name_to_be_made_the_longest_is_judged() -> None:
    fits, too_long = ("{generateName: " + "a" * length + "}" for length in (52, 53))
    assert judged(jobflow("[{name: x}]", metadata=fits)).count(Level.ERROR) == 0
    (finding,) = (each for each in judged(jobflow(metadata=too_long)).findings if each.level is Level.ERROR)
    assert finding.path == "metadata.generateName"
    assert "must be 1 character shorter" in finding.message


def test_two_objects_whose_names_are_still_to_be_made_are_two() -> None:
    assert said(*[jobflow(metadata="{generateName: a-}")] * 2, GET) == []


# Objects side by side


def test_templates_are_found_in_any_file_before_or_after() -> None:
    assert said(template("a"), jobflow("[{name: a}, {name: b}]"), template("b")) == []


def test_a_template_that_no_file_has_is_a_warning_at_its_entry_with_its_near_miss() -> None:
    finding = the_finding(jobflow("\n  - name: get\n  - name: trian"), GET + template("train"))
    assert (finding.level, finding.line, finding.path) == (Level.WARNING, 7, "spec.flows[1].name")
    assert finding.message == 'Not found: "trian": no such JobTemplate is in these files; did you mean "train"?'


def test_where_no_template_is_there_at_all_that_is_said_once() -> None:
    assert said(jobflow("[{name: a}, {name: b}]")) == [
        "a.yaml:5: warning: spec.flows: Not found: none of its 2 JobTemplates is in these files"
    ]


def test_templates_of_another_namespace_are_others() -> None:
    (line,) = said(jobflow(metadata="{name: etl, namespace: ml}"), GET)
    assert "its JobTemplate is not in these files" in line
    assert said(jobflow(metadata="{name: etl, namespace: ml}"), template("get", "ml")) == []


def test_what_names_no_namespace_is_in_the_default_one_or_in_that_of_the_flag() -> None:
    assert said(jobflow(metadata="{name: etl, namespace: default}"), GET) == []
    assert said(jobflow(metadata="{name: etl, namespace: ml}"), GET, namespace="ml") == []


def test_with_the_flag_an_object_may_not_name_another_namespace() -> None:
    (line,) = said(template("get", "other"), namespace="ml")
    assert line.endswith('metadata.namespace: Invalid value: "other": must be "ml", as --namespace says')


def test_the_same_object_twice_is_a_fault_of_the_later_one() -> None:
    finding = the_finding(GET, "# a line more\n" + GET)
    assert (finding.file, finding.level, finding.path) == ("b.yaml", Level.ERROR, "metadata.name")
    assert finding.message == 'Duplicate value: "get": another JobTemplate has it at a.yaml:6'


def test_the_same_name_in_another_namespace_or_kind_is_another_object() -> None:
    assert said(template("etl"), template("etl", "ml"), jobflow("[{name: etl}]")) == []


def test_a_namespace_has_a_valid_name() -> None:
    finding = the_finding(template("get", "Not_One"))
    assert (finding.rule, finding.path) == ("namespaces-are-valid", "metadata.namespace")


def test_more_entries_than_are_allowed_are_one_fault() -> None:
    names = [f"n{i}" for i in range(11)]
    text = jobflow("[" + ", ".join(f"{{name: {name}}}" for name in names) + "]")
    assert said(text, *map(template, names), max_flows=11) == []
    assert the_finding(text, *map(template, names), max_flows=10).message == "Too many: 11: must have at most 10 items"


def test_all_faults_are_told_however_many() -> None:
    text = jobflow("\n" + "".join(f"  - name: A{i}\n" for i in range(300)))
    report = judged(text)
    assert [finding.line for finding in report.findings if finding.level is Level.ERROR] == list(range(6, 306))


# Files that cannot be read


def test_documents_before_and_after_one_that_cannot_be_read_are_judged() -> None:
    report = judged(jobflow("[]") + "---\na: [\n---\n" + jobflow("[]", "{name: put}"))
    assert [(finding.rule, finding.line) for finding in report.findings] == [
        ("has-flows", 5),
        ("files-are-readable", 8),
        ("has-flows", 13),
    ]
    assert report.exit_code(strict=False) == 2


def test_every_document_that_cannot_be_read_is_told() -> None:
    assert [line.split(" ")[0] for line in said("a: [\n---\nb: ]\n--- x\nc: {\n")] == [
        "a.yaml:2:1:",
        "a.yaml:3:4:",
        "a.yaml:4:1:",
        "a.yaml:6:1:",
    ]
