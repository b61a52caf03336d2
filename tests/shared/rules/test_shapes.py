"""What is kept as JSON in a pod template has its shape, and whatever it is, nothing breaks."""

import random
import time
from typing import Any

import pytest

from shared.api.job_spec import JobTemplateInFull
from shared.rules.fault import Fault, FieldPath
from shared.rules.job.shapes import shape
from shared.rules.job.values import CHECKS, MUST_BE_THERE
from shared.rules.jobtemplate import faults_in_jobtemplate
from tests.shared.rules.plants import Plant, every_place
from tests.support.builders import a_jobtemplate_object
from tests.support.everything import a_full_template
from tests.support.published_shapes import FILE, marked
from tests.support.specs import a_rich_job_spec
from webhook.shapes import MisshapenError, read

ODD: list[Any] = [None, True, 0, -1, 1.5, 2**64, "", "x", [], [None], [[]], {}, {"name": {}}, {"": None}, [{"name": 1}]]


def told(text: str, value: Any) -> list[str]:
    wanted = shape(text)
    faults = [str(fault) for fault in wanted.faults(value, FieldPath("it"))]
    assert wanted.fits(value) == (not faults)
    return faults


@pytest.mark.parametrize(("text", "value"), [
    ("string", ""), ("boolean", False), ("int32", 2**31 - 1), ("int32", 1.0), ("int64", -(2**63)), ("quantity", "1Gi"),
    ("quantity", 5), ("intOrString", "http"), ("intOrString", 80), ("[string]", []), ("{string}", {"a": None}),
    ("Capabilities", {"add": ["A"], "unknown": 5, "drop": None}), ("Toleration", {"operator": "Exists", "effect": ""}),
    ("[ResourceClaim] by name", [{"name": "a"}, {"name": "b"}]),
])  # fmt: skip
def test_what_fits(text: str, value: Any) -> None:
    assert told(text, value) == []


@pytest.mark.parametrize(("text", "value", "fault"), [
    ("string", 5, "it: Invalid value: 5: must be a string"),
    ("boolean", "yes", 'it: Invalid value: "yes": must be true or false'),
    ("int32", 2**31, "it: Invalid value: 2147483648: must be an integer within 32 bits"),
    ("int32", True, "it: Invalid value: true: must be an integer within 32 bits"),
    ("quantity", "1gi", 'it: Invalid value: "1gi": must be a quantity such as 2, 500m, 1.5 or 1Gi'),
    ("quantity", 0.5, "it: Invalid value: 0.5: must be a quantity such as 2, 500m, 1.5 or 1Gi"),
    ("[string]", ["a", None], "it[1]: Invalid value: null: must be a string"),
    ("[string]", "a", 'it: Invalid value: "a": must be a list'),
    ("{string}", {"a": 1}, "it[a]: Invalid value: 1: must be a string"),
    ("Capabilities", {"add": "A"}, 'it.add: Invalid value: "A": must be a list'),
    ("Capabilities", ["A"], "it: Invalid value: a list: must be an object"),
    ("LocalObjectReference", None, "it: Invalid value: null: must be an object"),
    ("HTTPHeader", {"name": "a"}, "it.value: Required value"),
    ("Sysctl", {"name": None, "value": "1"}, "it.name: Required value"),
    ("[ResourceClaim] by name", [{"name": "a"}, {"name": "a"}], 'it[1].name: Duplicate value: "a"'),
    ("SeccompProfile", {"type": "x"},
     'it.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"'),
    ("SeccompProfile", {"type": "Localhost"},
     "it.localhostProfile: Required value: must be given for the type Localhost"),
    ("KeyToPath", {"key": "k", "path": "../x"}, 'it.path: Invalid value: "../x": must be a relative path without ".."'),
    ("PreferredSchedulingTerm", {"weight": 0, "preference": {}},
     "it.weight: Invalid value: 0: must be between 1 and 100, inclusive"),
    ("LifecycleHandler", {}, "it: Required value: must have one of exec, httpGet, sleep, tcpSocket"),
    ("Volume", {"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}},
     "it.hostPath: Forbidden: may not be given beside emptyDir"),
])  # fmt: skip
def test_what_does_not_fit_is_told_once_and_where(text: str, value: Any, fault: str) -> None:
    assert told(text, value) == [fault]


def test_of_a_claim_the_types_alone_are_judged() -> None:
    odd = {"accessModes": ["Sometimes"], "volumeMode": "Round", "selector": {"matchLabels": {"a b": "-"}}}
    assert told("types PersistentVolumeClaimSpec", odd) == []
    assert len(told("PersistentVolumeClaimSpec", odd)) > 3
    assert told("types PersistentVolumeClaimSpec", {"accessModes": [5]}) == [
        "it.accessModes[0]: Invalid value: 5: must be a string"
    ]


def test_every_check_is_for_a_field_that_there_is() -> None:
    fields, name = set[str](), ""
    for line in FILE.read_text().splitlines():
        if line.startswith("  "):
            fields.add(f"{name}.{line.split()[0].rstrip('!')}")
        else:
            name = line
    assert set(CHECKS) <= fields
    assert {f"{name}.{key}" for name, keys in MUST_BE_THERE.items() for key in keys} <= fields


def test_every_mark_of_a_model_is_a_shape() -> None:
    assert len(set(marked())) > 15
    for name in marked():
        shape(name)


def faults_after(plant: Plant) -> list[Fault]:
    spec = a_rich_job_spec()
    spec["tasks"][0]["template"] = a_full_template()
    plant.put_into(spec)
    try:
        return faults_in_jobtemplate(read(a_jobtemplate_object("t", spec=spec), JobTemplateInFull))
    except MisshapenError as misshapen:
        return misshapen.faults


def test_no_value_in_any_place_breaks_the_rules() -> None:
    spec = a_rich_job_spec()
    spec["tasks"][0]["template"] = a_full_template()
    plants = [Plant(place, value) for place in every_place(spec) for value in ODD]
    for plant in random.Random(1).sample(plants, 2500):
        assert all(fault.rule for fault in faults_after(plant)), plant


def test_ten_thousand_mistakes_in_a_deep_template_take_no_more_than_their_number() -> None:
    term = {"weight": 0, "podAffinityTerm": {"topologyKey": "", "labelSelector": {"matchLabels": {"a": "-"}}}}

    def seconds(count: int) -> float:
        affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term] * count}}
        plant = Plant(("tasks", 0, "template", "spec", "affinity"), affinity)
        started = time.process_time()
        assert len(faults_after(plant)) == 3 * count
        return time.process_time() - started

    # Ten times as many may take twenty times as long: the quickest of a few tries, for others use the machine too.
    many, few = (min(seconds(count) for _ in range(3)) for count in (3000, 300))
    assert many < 20 * max(few, 0.005)
