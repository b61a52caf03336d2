"""An object gets the same faults from the check as from the webhook, and each at the line where it stands."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import a_job_spec, a_jobflow_object, a_jobtemplate_object
from tests.support.generated import job_specs, jobflow_objects
from tests.support.specs import a_rich_job_spec
from tests.webhook.check.reading import judged
from tests.webhook.reviews import a_review, sent
from webhook.admit import Known, judge
from webhook.check import set_rules, text_rules
from webhook.check.catalogue import CATALOGUE
from webhook.check.findings import Level
from webhook.verdict import Verdict

Object = dict[str, Any]

RESOURCES = {"JobFlow": "jobflows", "JobTemplate": "jobtemplates"}
ONLY_HERE = {rule.id for rule in (*text_rules.FIRST, *text_rules.FAULTS, *set_rules.FAULTS)}


class InQuotes(yaml.SafeDumper):
    """Writes every text in quotes, and so on one line, and nothing as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


InQuotes.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def as_text(*objects: Object) -> str:
    return "".join(f"---\n# an object\n{yaml.dump(each, Dumper=InQuotes, width=10**6)}" for each in objects)


def webhook_says(obj: Object) -> Verdict:
    review = a_review("CREATE", new=obj, resource=RESOURCES[obj["kind"]], name="as the path says")
    verdict = judge(sent(review), RESOURCES[obj["kind"]], Known(max_flows=1000)).verdict
    assert isinstance(verdict, Verdict)
    return verdict


def places_in(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places_in(below, *path, key)


def with_change(obj: Object, path: tuple[str | int, ...], value: Any) -> Object:
    changed = copy.deepcopy(obj)
    here: Any = changed
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return changed


def jobtemplate_objects() -> st.SearchStrategy[Object]:
    return (job_specs() | st.just(a_rich_job_spec())).map(lambda spec: a_jobtemplate_object(spec=spec))


OBJECTS = jobflow_objects() | jobtemplate_objects()
ANYTHING = st.sampled_from(
    [None, True, -1, 0, 1.5, 2**40, "", "y", "Not A Name", "x" * 80, [], ["x"], {}, {"x": "y"}, {"name": "x"}, [None]]
)


@st.composite
def spoilt_objects(draw: st.DrawFn) -> Object:
    """An object in whose spec or name up to three places hold something else."""
    obj = draw(OBJECTS)
    for _ in range(draw(st.integers(0, 3))):
        paths = [path for path in places_in(obj) if path[:1] == ("spec",) or path == ("metadata", "name")]
        obj = with_change(obj, draw(st.sampled_from(paths)), draw(ANYTHING))
    return obj


@settings(max_examples=80)
@given(obj=spoilt_objects())
def test_the_check_finds_what_the_webhook_refuses_and_no_more(obj: Object) -> None:
    found = [
        finding
        for finding in judged(as_text(obj)).findings
        if finding.level is Level.ERROR and finding.rule not in ONLY_HERE
    ]
    refused = webhook_says(obj).faults
    assert sorted((finding.path, finding.rule, finding.reason) for finding in found) == sorted(
        (str(fault.field), fault.rule, fault.reason) for fault in refused
    )
    messages = {(str(fault.field), fault.message) for fault in refused}
    assert all(
        any(finding.message.startswith(text) and finding.path == at for at, text in messages) for finding in found
    )


@settings(max_examples=30)
@given(obj=OBJECTS)
def test_what_is_right_is_found_right(obj: Object) -> None:
    assert [finding for finding in judged(as_text(obj)).findings if finding.level is Level.ERROR] == []


MARK = "the MARK"


def plain_texts(obj: Object) -> Iterator[tuple[str | int, ...]]:
    """Places of texts that no rule lets be anything."""
    for path in places_in(obj):
        if path[:2] == ("spec", "flows") and path[-1] == "name" and len(path) == 4:
            yield path
        if path[:2] == ("spec", "flows") and path[-2:-1] == ("targets",):
            yield path
        if path[:2] == ("spec", "tasks") and path[-1] == "name" and "dependsOn" not in path and "ports" not in path:
            yield path


@settings(max_examples=30)
@given(data=st.data(), before=st.lists(OBJECTS, max_size=3))
def test_a_planted_fault_is_found_at_its_line(data: st.DataObject, before: list[Object]) -> None:
    obj = data.draw(OBJECTS)
    path = data.draw(st.sampled_from(list(plain_texts(obj))))
    text = as_text(*before, with_change(obj, path, MARK))
    (line,) = (at for at, each in enumerate(text.splitlines(), start=1) if MARK in each)
    assert line in {finding.line for finding in judged(text).findings if MARK in finding.message}


@settings(max_examples=30)
@given(data=st.data(), before=st.lists(OBJECTS, max_size=2))
def test_so_is_a_value_of_a_wrong_type(data: st.DataObject, before: list[Object]) -> None:
    number = 987654321
    obj = data.draw(OBJECTS)
    path = data.draw(st.sampled_from(list(plain_texts(obj))))
    text = as_text(*before, with_change(obj, path, number))
    (line,) = (at for at, each in enumerate(text.splitlines(), start=1) if str(number) in each)
    (finding,) = (each for each in judged(text).findings if "YAML" in each.message)
    assert finding.line == line
    assert finding.message.endswith(f'YAML reads {number} as the number {number}: write "{number}"')


LONG = "b" * 60


@pytest.mark.parametrize(
    ("obj", "warning"),
    [
        (a_jobflow_object("get") | {"spec": {"flows": [{"name": "get", "patch": {"spec": {"queue": "q"}}}]}}, "patch"),
        (a_jobflow_object("get", name="a" * 50), "may get Pods with names over 63 characters: get"),
    ],
    ids=["patches", "names of Pods"],
)
def test_what_the_webhook_would_warn_of_is_a_warning_at_its_entry(obj: Mapping[str, Any], warning: str) -> None:
    template = a_jobtemplate_object("get", spec=a_job_spec(tasks=a_long_task()))
    (found,) = judged(as_text(template, dict(obj))).findings
    assert found.level is Level.WARNING
    assert found.rule == "worth-knowing"
    assert warning in found.message
    assert found.path.startswith("spec.flows[0]")


def a_long_task() -> list[Object]:
    (task,) = a_job_spec()["tasks"]
    return [{**task, "name": "a-long-name"}]


def test_every_finding_names_a_rule_that_the_catalogue_has() -> None:
    said = judged(as_text(*(with_change(a_jobflow_object("a", "b: a"), ("spec", "flows"), value) for value in (1, []))))
    assert said.findings
    assert {finding.rule for finding in said.findings} <= set(CATALOGUE)


def test_no_two_rules_share_an_id_and_each_says_something() -> None:
    rules = [*text_rules.FIRST, *text_rules.FAULTS, *text_rules.TRAPS, *set_rules.FAULTS, *set_rules.WARNINGS]
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(says.endswith(".") for _, says in CATALOGUE.values())
