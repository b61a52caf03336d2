"""What the CustomResourceDefinitions of the chart promise, read from the files themselves.

What a real API server makes of them is the integration suite's part.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CRDS = Path(__file__).parents[2] / "charts" / "jobflow" / "crds"
KINDS = ("jobflows", "jobtemplates")


def crd(plural: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CRDS / f"flow.volcano.sh_{plural}.yaml").read_text())
    return loaded


def version(plural: str) -> dict[str, Any]:
    only: dict[str, Any]
    (only,) = crd(plural)["spec"]["versions"]
    return only


def schema(plural: str, *path: str) -> dict[str, Any]:
    """The schema at `path` below the root, `[]` for the items of a list."""
    found: dict[str, Any] = version(plural)["schema"]["openAPIV3Schema"]
    for step in path:
        found = found["items"] if step == "[]" else found["properties"][step]
    return found


def every_schema(at: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, at
    for name, below in at.get("properties", {}).items():
        yield from every_schema(below, f"{path}.{name}")
    if "items" in at:
        yield from every_schema(at["items"], f"{path}[]")
    if "additionalProperties" in at:
        yield from every_schema(at["additionalProperties"], f"{path}.*")


@pytest.fixture(params=KINDS)
def plural(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_names_are_volcanos() -> None:
    for plural, kind, short in (("jobflows", "JobFlow", "jf"), ("jobtemplates", "JobTemplate", "jt")):
        spec = crd(plural)["spec"]
        names = spec["names"]
        assert (spec["group"], version(plural)["name"], spec["scope"]) == ("flow.volcano.sh", "v1alpha1", "Namespaced")
        assert (names["plural"], names["kind"], names["listKind"]) == (plural, kind, f"{kind}List")
        assert names["shortNames"] == [short]
        assert crd(plural)["metadata"]["name"] == f"{plural}.flow.volcano.sh"
        assert version(plural)["subresources"] == {"status": {}}


def test_every_field_is_explained(plural: str) -> None:
    unexplained = [path for path, at in every_schema(schema(plural)) if not at.get("description", "").strip()]
    assert unexplained == [".metadata"]  # Kubernetes explains that one itself, and lets nobody else


def test_every_field_has_a_type_so_that_the_schema_is_structural(plural: str) -> None:
    assert [path for path, at in every_schema(schema(plural)) if "type" not in at] == []


def test_no_cel_rule_hides_the_webhooks_message(plural: str) -> None:
    assert [path for path, at in every_schema(schema(plural)) if "x-kubernetes-validations" in at] == []


def test_the_spec_is_required_and_nothing_the_webhook_says_better(plural: str) -> None:
    assert schema(plural)["required"] == ["spec"]
    assert "required" not in schema(plural, "spec")


def test_only_the_name_of_an_entry_is_required() -> None:
    assert schema("jobflows", "spec", "flows", "[]")["required"] == ["name"]
    assert "minItems" not in schema("jobflows", "spec", "flows")


def test_jobs_are_retained_unless_the_jobflow_says_otherwise() -> None:
    policy = schema("jobflows", "spec", "jobRetainPolicy")
    assert (policy["enum"], policy["default"]) == (["retain", "delete"], "retain")


@pytest.mark.parametrize("probe", ["httpGetList", "tcpSocketList"])
def test_a_probe_names_a_task_and_a_real_port(probe: str) -> None:
    item = schema("jobflows", "spec", "flows", "[]", "dependsOn", "probe", probe, "[]")
    assert sorted(item["required"]) == ["port", "taskName"]
    assert (item["properties"]["port"]["minimum"], item["properties"]["port"]["maximum"]) == (1, 65535)


def test_kubectl_get_shows_how_it_goes_and_wide_the_rest() -> None:
    columns = version("jobflows")["additionalPrinterColumns"]
    assert [c["name"] for c in columns if not c.get("priority")] == ["Status", "Progress", "Message", "Age"]
    assert [c["name"] for c in columns if c.get("priority")] == ["Reason", "Retain", "Started", "Finished"]


def test_each_column_shows_a_field_that_the_schema_has(plural: str) -> None:
    for column in version(plural)["additionalPrinterColumns"]:
        path = column["jsonPath"].removeprefix(".").split(".")
        if path[0] != "metadata":
            assert schema(plural, *path)["type"] in {"string", "integer"}


def test_the_status_has_volcanos_fields_in_volcanos_spelling_and_ours() -> None:
    volcanos = {
        *("pendingJobs", "runningJobs", "failedJobs", "completedJobs", "terminatedJobs", "unKnowJobs"),
        *("jobStatusList", "conditions", "state"),
    }
    ours = {"progress", "observedGeneration", "startTime", "completionTime"}
    assert set(schema("jobflows", "status")["properties"]) == volcanos | ours
    assert set(schema("jobflows", "status", "state")["properties"]) == {"phase", "reason", "message"}


def test_what_volcano_checks_in_pods_and_claims_is_stored_as_it_is_written() -> None:
    for whole in (("tasks", "[]", "template"), ("volumes", "[]", "volumeClaim")):
        for kind, spec in (("jobtemplates", ("spec",)), ("jobflows", ("spec", "flows", "[]", "patch", "jobSpec"))):
            assert schema(kind, *spec, *whole)["x-kubernetes-preserve-unknown-fields"] is True


def test_the_defaults_of_a_template_are_volcanos() -> None:
    defaults = {path: at["default"] for path, at in every_schema(schema("jobtemplates")) if "default" in at}
    assert defaults == {
        ".spec.queue": "default",
        ".spec.maxRetry": 3,
        ".spec.networkTopology.mode": "hard",
        ".spec.tasks[].partitionPolicy.minPartitions": 0,
        ".spec.tasks[].partitionPolicy.networkTopology.mode": "hard",
    }


def test_a_patch_may_say_what_a_template_may_but_nothing_is_required_or_filled_in() -> None:
    """A default inside a patch would override the template in what the user never wrote."""

    def bare(at: dict[str, Any]) -> dict[str, Any]:
        kept = {k: v for k, v in at.items() if k not in {"required", "default", "minItems"}}
        if "properties" in kept:
            kept["properties"] = {name: bare(below) for name, below in kept["properties"].items()}
        for key in ("items", "additionalProperties"):
            if key in kept:
                kept[key] = bare(kept[key])
        return kept

    patch = schema("jobflows", "spec", "flows", "[]", "patch")
    assert set(patch["properties"]) == {"jobSpec", "spec"}
    assert patch["properties"]["jobSpec"]["properties"] == bare(schema("jobtemplates", "spec"))["properties"]
