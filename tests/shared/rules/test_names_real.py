"""Names, labels and keys are taken here exactly if a real API server takes them."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.api.jobflow import Flow, JobFlow, JobFlowSpec
from shared.api.meta import ObjectMeta
from shared.api.names import CREATED_BY_JOBFLOW, CREATED_BY_JOBTEMPLATE
from shared.flow import names
from shared.rules.formats import is_label_value, is_qualified_name
from shared.rules.jobflow import faults_on_create
from tests.support.binaries import require_binaries
from tests.support.builders import a_job_spec
from tests.support.kube_apiserver import KubeApiserver
from tests.support.offers import CONFIG_MAPS, JOBS, NAMESPACES, Offers
from tests.support.volcano_crds import volcano_crds

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

LIMITS = {"max_flows": 9, "size": 99}

HAND = [
    "a", "0", "a-b", "a.b", "a..b", "a.-b", "-a", "a-", ".a", "a.", "A", "aB", "a_b", "a\n", "\na", "a b", "a\u0661",
    "\u00e4", "a\u200b", "a/b", "a/b/c", "/a", "a/", "A/b", "a/B_c", "a.b/c.d", "%2F", "a\x00", "1.2", "--", "a--b",
    *(letter * length for letter in ("x", "x.") for length in (31, 32, 62, 63, 64, 126, 127, 252, 253, 254, 255)),
    "x" * 253 + "/y", "x" * 254 + "/y", "x/" + "y" * 63, "x/" + "y" * 64,
]  # fmt: skip
CHARACTERS = "ab01-._/A \n\u00e4\u0661"


def generated(count: int) -> list[str]:
    """Names by hand, and others that are mostly right."""
    chance = random.Random(8)
    found = dict.fromkeys(HAND)
    while len(found) < count:
        length = chance.choice([1, 2, 3, 5, 8, 13, 62, 63, 64, 253, 254])
        weights = [9] * 4 + [chance.choice([0, 2])] * 2 + [chance.choice([0, 0, 1])] * (len(CHARACTERS) - 6)
        found["".join(chance.choices(CHARACTERS, weights, k=length))] = None
    return list(found)


def an_object(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n", **metadata}}


AGREEING: dict[str, tuple[Callable[[str], bool], Callable[[Offers, str], dict[str, Any]]]] = {
    "the names of most objects": (names.is_subdomain, lambda offers, name: offers.refusal(
        CONFIG_MAPS, an_object(name=name))),
    "names that are one label": (names.is_label, lambda offers, name: offers.refusal(
        NAMESPACES, an_object(name=name))),
    "values of labels": (is_label_value, lambda offers, name: offers.refusal(
        CONFIG_MAPS, an_object(labels={"a": name}))),
    "keys of labels": (is_qualified_name, lambda offers, name: offers.refusal(
        CONFIG_MAPS, an_object(labels={name: "a"}))),
}  # fmt: skip


@pytest.fixture(scope="module")
def offers() -> Iterator[Offers]:
    crds = [volcano_crds().job]
    with KubeApiserver(require_binaries(), crds=crds, controller_manager=False) as server, Offers(server) as offers:
        yield offers


@pytest.mark.parametrize("what", AGREEING)
def test_the_api_server_says_the_same_of_500(offers: Offers, what: str) -> None:
    is_right, refusal = AGREEING[what]
    tried = generated(500)
    with ThreadPoolExecutor(4) as pool:
        refused = list(pool.map(lambda name: bool(refusal(offers, name)), tried))
    assert [name for name, no in zip(tried, refused, strict=True) if is_right(name) == no] == []
    assert 50 < sum(refused) < 490


def test_a_jobflow_is_taken_if_its_jobs_can_be_created(offers: Offers) -> None:
    """But for those whose names would leave no room for Pods, of which the API server knows nothing."""
    chance = random.Random(9)
    pairs = [(chance.choice(generated(120)), chance.choice(generated(120))) for _ in range(500)]

    def refused(pair: tuple[str, str]) -> bool:
        jobflow, flow = pair
        labels = {
            CREATED_BY_JOBFLOW: names.label_value(f"default.{jobflow}"),
            CREATED_BY_JOBTEMPLATE: names.label_value(f"default.{flow}"),
        }
        kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": a_job_spec()}
        return bool(offers.refusal(JOBS, kind | an_object(name=names.child_name(*pair), labels=labels)))

    fitting = [pair for pair in pairs if len(names.child_name(*pair)) <= names.LONGEST_CHILD]
    with ThreadPoolExecutor(4) as pool:
        no = dict(zip(fitting, pool.map(refused, fitting), strict=True))
    ours = {
        (jobflow, flow): bool(faults_on_create(JobFlow(ObjectMeta(jobflow), JobFlowSpec((Flow(flow),))), **LIMITS))
        for jobflow, flow in fitting
    }
    # A name such as `-b` is no JobTemplate's, and `a--b` is a Job's.
    assert [pair for pair in fitting if no[pair] and not ours[pair]] == []
    assert [p for p in fitting if ours[p] and not no[p] and all(map(names.is_subdomain, p))] == []
    assert 20 < sum(no.values()) < len(fitting)
