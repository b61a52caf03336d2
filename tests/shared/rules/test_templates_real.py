"""Every field of a pod template, right and wrong, judged here and by a real API server: the verdicts are the same.

Volcano's CRD has the types of a pod template, so that a Job is offered with a wrong one in every place. All else
Volcano's webhook leaves to Kubernetes' validation of pod templates, so that a PodTemplate is offered with changes
of all kinds. Where the verdicts differ, `LEFT` and `STRICTER` say why.
"""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from shared.api.job_spec import JobTemplateInFull
from shared.rules.fault import Fault
from shared.rules.jobtemplate import faults_in_jobtemplate
from tests.shared.rules.plants import (
    LEFT,
    Gone,
    Plant,
    additions,
    any_index,
    apart,
    every_place,
    instance,
    plants,
    written,
)
from tests.support.binaries import require_binaries
from tests.support.builders import a_jobtemplate_object
from tests.support.everything import a_full_template
from tests.support.kube_apiserver import KubeApiserver
from tests.support.offers import Offers
from tests.support.published_shapes import FILE, made_from, published_by
from tests.support.specs import a_rich_job_spec
from tests.support.volcano_crds import volcano_crds
from webhook.shapes import MisshapenError, read

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

SPEC = "spec.tasks[0].template."

STRICTER: dict[str, str] = {
    "Volcano takes only old names of variables": r"(env\[\]\.name|envFrom\[\]\.prefix)",
    "Volcano takes no sleep of nothing": r"sleep\.seconds",
    "the API server drops what belongs to a feature that is switched off": (
        r"stopSignal|projected\.sources\[\]\.(clusterTrustBundle|podCertificate|configMap$|secret$)"
    ),
}
"""What is refused here and taken by the API server: why, and where."""


@pytest.fixture(scope="module")
def server() -> Iterator[KubeApiserver]:
    with KubeApiserver(require_binaries(), crds=[volcano_crds().job], controller_manager=False) as server:
        yield server


@pytest.fixture(scope="module")
def offers(server: KubeApiserver) -> Iterator[Offers]:
    with Offers(server) as offers:
        yield offers


@pytest.fixture(scope="module")
def crd() -> dict[str, Any]:
    """The structural schema of a Job's spec."""
    (version,) = yaml.safe_load(volcano_crds().job.read_text())["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def pod_template_of(crd: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = crd["properties"]["tasks"]["items"]["properties"]["template"]
    return template


def changed(group: Sequence[Plant]) -> dict[str, Any]:
    template = a_full_template()
    for plant in group:
        plant.put_into(template)
    return template


def with_template(template: dict[str, Any]) -> dict[str, Any]:
    spec = a_rich_job_spec()
    spec["tasks"][0]["template"] = template
    return spec


def faults(template: dict[str, Any]) -> list[Fault]:
    return faults_in(with_template(template))


def faults_in(spec: dict[str, Any]) -> list[Fault]:
    try:
        return faults_in_jobtemplate(read(a_jobtemplate_object("t", spec=spec), JobTemplateInFull))
    except MisshapenError as misshapen:
        return misshapen.faults


def our_places(template: dict[str, Any]) -> set[str]:
    return {plain(str(fault.field).removeprefix(SPEC)) for fault in faults(template)}


def their_places(offers: Offers, template: dict[str, Any]) -> set[str]:
    status = offers.template(template)
    causes = status.get("details", {}).get("causes", [])
    places = {plain(cause["field"].removeprefix("template.")) for cause in causes}
    return places or ({"somewhere"} if status else set())


def plain(path: str) -> str:
    """Without the difference between `limits[cpu]` and `limits.cpu`."""
    return re.sub(r"\[([^\]0-9][^\]]*)\]", r".\1", path)


def suspects(group: Sequence[Plant], ours: set[str], theirs: set[str]) -> list[Plant]:
    """Those to be tried alone: the verdicts on them differ, or something is said near them that is about no plant."""
    strays = [path for path in ours ^ theirs if not any(plant.covers(path) for plant in group)]
    differing = [p for p in group if any(map(p.covers, ours)) != any(map(p.covers, theirs))]
    for stray in strays:
        differing += [plant for plant in group if part_of(written(plant.place)) == part_of(stray)] or group
    return [plant for plant in group if plant in differing]


def part_of(path: str) -> str:
    """The container, the volume or the field of a template that a path lies in: its first two keys, with an index."""
    return re.match(r"[^.]*(\.[^.]*)?", path)[0]  # type: ignore[index]


QUANTITIES = {"cpu", "memory", "storage", "sizeLimit", "divisor"}
"""What cannot be read is refused before anything else is looked at, so that nothing may be planted beside it."""


def differing_alone(offers: Offers, tried: Sequence[Plant]) -> Iterator[tuple[str, Plant]]:
    """Plants on which the verdicts differ, with who refuses. There, Volcano's CRD has a say as well."""
    for plant in tried:
        template = changed([plant])
        here, there = bool(our_places(template)), bool(offers.template(template))
        if here and not there:
            there = bool(offers.job(with_template(template)))
        if here != there:
            yield ("here" if here else "there"), plant


def test_a_template_with_everything_is_taken(offers: Offers) -> None:
    assert faults(a_full_template()) == []
    assert offers.template(a_full_template()) == {}


def test_every_value_of_a_pod_template_gets_the_verdict_of_kubernetes(offers: Offers, crd: dict[str, Any]) -> None:
    every = [*plants(), *additions(pod_template_of(crd))]
    assert len(every) > 9000
    alone = [plant for plant in every if plant.place[-1] in QUANTITIES]
    groups = list(apart((plant for plant in every if plant not in alone), most=20))

    with ThreadPoolExecutor(4) as pool:
        theirs = list(pool.map(lambda group: their_places(offers, changed(group)), groups))
        suspected = [
            suspects(group, our_places(changed(group)), places) for group, places in zip(groups, theirs, strict=True)
        ]
        suspected += [[plant] for plant in alone]
        differing = [each for found in pool.map(lambda tried: list(differing_alone(offers, tried)), suspected)
                     for each in found]  # fmt: skip
    explained = {"there": LEFT, "here": STRICTER}
    reasons = [(refuses, plant, why(explained[refuses], plant)) for refuses, plant in differing]
    assert [
        (refuses, any_index(plant.place), plant.value) for refuses, plant, reason in reasons if reason is None
    ] == []
    assert {reason for _, _, reason in reasons} == {*LEFT, *STRICTER}, "a reason that no case needs"


def why(explained: dict[str, str], plant: Plant) -> str | None:
    return next((why for why, where in explained.items() if re.search(where, any_index(plant.place))), None)


WRONG_TYPES: list[Any] = ["x", 5, True, [], {}, None, 2**63, [None], [5], {"k": 5}, Gone(), "1Gi "]


def test_what_volcanos_crd_refuses_anywhere_in_a_job_is_refused(offers: Offers, crd: dict[str, Any]) -> None:
    everything = {**instance(crd), **a_rich_job_spec()}
    everything["tasks"][0]["template"] = instance(pod_template_of(crd))
    claim = crd["properties"]["volumes"]["items"]["properties"]["volumeClaim"]
    everything["volumes"] = [{"mountPath": "/v", "volumeClaim": instance(claim)}]
    assert offers.job(everything) == {}

    def planted(group: Sequence[Plant]) -> dict[str, Any]:
        spec: dict[str, Any] = json.loads(json.dumps(everything))
        for plant in group:
            plant.put_into(spec)
        return spec

    def refused(group: Sequence[Plant]) -> list[Plant]:
        """Those that the API server refuses and that, tried alone, are taken here."""
        causes = offers.job(planted(group)).get("details", {}).get("causes", [])
        paths = {plain(cause["field"].removeprefix("spec.")) for cause in causes}
        theirs = [plant for plant in group if any(map(plant.covers, paths))]
        ours = {plain(str(fault.field).removeprefix("spec.")) for fault in faults_in(planted(group))}
        return [plant for plant in theirs if not any(map(plant.covers, ours)) and not refused_alone(plant)]

    def refused_alone(plant: Plant) -> bool:
        ours = {plain(str(fault.field).removeprefix("spec.")) for fault in faults_in(planted([plant]))}
        return any(map(plant.covers, ours))

    places = list(every_place(everything))
    assert len(places) > 1200
    groups = apart((Plant(place, value) for value in WRONG_TYPES for place in places), most=60)
    with ThreadPoolExecutor(4) as pool:
        assert [plant for found in pool.map(refused, groups) for plant in found if not beside_others(plant)] == []


def beside_others(plant: Plant) -> bool:
    """A probe with all kinds of handlers is refused for that, and what is in the second is not looked at."""
    return re.search(r"(containers|initContainers)\[\d\]\.\w+Probe\.\w+\.port", written(plant.place)) is not None


def test_the_shapes_are_as_kubernetes_publishes_them(server: KubeApiserver) -> None:
    assert FILE.read_text() == made_from(published_by(server))
