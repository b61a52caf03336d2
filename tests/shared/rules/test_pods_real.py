"""What is taken of a pod template, a real API server takes as a Pod: all but what `ONLY_PODS` and `LEFT` say.

Volcano creates the Pods later, and what is refused then shows in the Job. A Pod passes through admission that knows
the cluster, which a template does not.
"""

import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.api.job_spec import JobTemplateInFull
from shared.rules.jobtemplate import faults_in_jobtemplate
from tests.shared.rules.plants import LEFT, Plant, any_index, apart, plants
from tests.support.binaries import require_binaries
from tests.support.builders import a_jobtemplate_object
from tests.support.everything import a_full_template
from tests.support.kube_apiserver import KubeApiserver
from tests.support.offers import Offers
from tests.support.specs import a_rich_job_spec
from webhook.shapes import MisshapenError, read

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ONLY_PODS: dict[str, str] = {
    "whether an account exists is not looked up": "error looking up service account",
    "whether a runtime class exists is not looked up": "RuntimeClass",
    "who makes way for a Pod is for its priority class to say": "PreemptionPolicy",
    "whether a priority class exists is not looked up": "no PriorityClass with name",
    "privileges are for the cluster to forbid": "disallowed by cluster policy",
}
"""What is refused of a Pod alone: why, and by which words it is known."""

KNOWN_TO_DIFFER = [
    Plant(("spec", "runtimeClassName"), "kata"),
    Plant(("spec", "preemptionPolicy"), "Never"),
    Plant(("spec", "priorityClassName"), "high"),
    Plant(("spec", "containers", 1, "securityContext"), {"privileged": True}),
]

LOOKED_UP = ("preemptionPolicy", "runtimeClassName")
"""What the cluster of this test does not have, so that no Pod could have it."""


@pytest.fixture(scope="module")
def offers() -> Iterator[Offers]:
    with KubeApiserver(require_binaries()) as server, Offers(server) as offers:
        yield offers


def changed(group: Sequence[Plant]) -> dict[str, Any]:
    template = a_full_template()
    for key in LOOKED_UP:
        del template["spec"][key]
    for plant in group:
        plant.put_into(template)
    return template


def is_taken(plant: Plant) -> bool:
    spec = a_rich_job_spec()
    spec["tasks"][0]["template"] = changed([plant])
    try:
        return not faults_in_jobtemplate(read(a_jobtemplate_object("t", spec=spec), JobTemplateInFull))
    except MisshapenError:
        return False


def test_what_is_taken_makes_a_pod(offers: Offers) -> None:
    assert offers.pod(changed([])) == {}
    possible = [plant for plant in plants() if len(plant.place) > 1 and plant.place[1] not in LOOKED_UP]
    taken = [plant for plant in (*KNOWN_TO_DIFFER, *random.Random(3).sample(possible, 3000)) if is_taken(plant)]
    assert len(taken) > 800

    def refused(group: Sequence[Plant]) -> list[tuple[Plant, str]]:
        if not offers.pod(changed(group)):
            return []
        alone = ((plant, offers.pod(changed([plant])).get("message", "")) for plant in group)
        return [(plant, words) for plant, words in alone if words]

    with ThreadPoolExecutor(4) as pool:
        left = [each for found in pool.map(refused, apart(taken, most=15)) for each in found]
    unexplained = [
        (any_index(plant.place), plant.value, words[:200])
        for plant, words in left
        if not any(re.search(known, words) for known in ONLY_PODS.values())
        and not any(re.search(where, any_index(plant.place)) for where in LEFT.values())
    ]
    assert unexplained == []
    used = {why for why, known in ONLY_PODS.items() if any(re.search(known, words) for _, words in left)}
    assert used == set(ONLY_PODS), "a reason that no case needs"
