"""The example manifests hold together: what they name exists, and the demo can run them in a minute."""

from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNNABLE = {
    "diamond": ["diamond.yaml"],
    "ml-pipeline": ["ml-pipeline/01-jobtemplates.yaml", "ml-pipeline/02-jobflow.yaml"],
    "nightly-report": ["nightly-report.yaml"],
}


def documents(*files: str) -> list[dict[str, Any]]:
    return [document for file in files for document in yaml.safe_load_all((EXAMPLES / file).read_text()) if document]


def of_kind(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [document for document in found if document["kind"] == kind]


@pytest.fixture(params=RUNNABLE)
def example(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return documents(*RUNNABLE[request.param])


def test_every_manifest_belongs_to_an_example() -> None:
    known = {file for files in RUNNABLE.values() for file in files}
    found = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.yaml")}
    assert {file for file in found if not file.startswith("refused/")} == known


def test_every_manifest_opens_with_what_it_shows() -> None:
    assert [path.name for path in EXAMPLES.rglob("*.yaml") if not path.read_text().startswith("# ")] == []


def test_each_entry_has_its_template_and_each_template_its_entry(example: list[dict[str, Any]]) -> None:
    (jobflow,) = of_kind("JobFlow", example)
    templates = [template["metadata"]["name"] for template in of_kind("JobTemplate", example)]
    assert sorted(flow["name"] for flow in jobflow["spec"]["flows"]) == sorted(templates)


def test_no_name_is_a_boolean_in_yaml(example: list[dict[str, Any]]) -> None:
    (jobflow,) = of_kind("JobFlow", example)
    for flow in jobflow["spec"]["flows"]:
        names = [flow["name"], *flow.get("dependsOn", {}).get("targets", [])]
        assert all(isinstance(name, str) for name in names)


def test_the_pipeline_is_of_a_realistic_size() -> None:
    (jobflow,) = of_kind("JobFlow", documents(*RUNNABLE["ml-pipeline"]))
    assert len(jobflow["spec"]["flows"]) >= 8


def test_one_example_cleans_its_jobs_away() -> None:
    policies = [
        jobflow["spec"].get("jobRetainPolicy")
        for files in RUNNABLE.values()
        for jobflow in of_kind("JobFlow", documents(*files))
    ]
    assert policies.count("delete") == 1


def test_a_gang_is_never_larger_than_the_pods_that_there_are(example: list[dict[str, Any]]) -> None:
    for template in of_kind("JobTemplate", example):
        tasks = template["spec"]["tasks"]
        assert template["spec"]["minAvailable"] <= sum(task["replicas"] for task in tasks)


def test_containers_only_sleep_and_not_for_long(example: list[dict[str, Any]]) -> None:
    for template in of_kind("JobTemplate", example):
        for task in template["spec"]["tasks"]:
            for container in task["template"]["spec"]["containers"]:
                program, seconds = container["command"]
                assert program == "sleep"
                assert 0 < int(seconds) <= 5


def test_what_is_refused_names_templates_of_the_examples() -> None:
    """So that nothing but the mistake itself is wrong with it."""
    known = {
        template["metadata"]["name"]
        for files in RUNNABLE.values()
        for template in of_kind("JobTemplate", documents(*files))
    }
    for file in EXAMPLES.glob("refused/*.yaml"):
        (jobflow,) = documents(str(file.relative_to(EXAMPLES)))
        assert {flow["name"] for flow in jobflow["spec"]["flows"]} <= known
