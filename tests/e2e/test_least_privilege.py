"""The accounts of the chart may do what they do and nothing else: none is refused, and no right goes unused."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.site import ACCOUNTS, ROOT, Site, running_site
from tests.support.kubectl import VOLCANO_JOBS, documents
from tests.support.kubelet import MERGE
from tests.support.kubelet_api import Api
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.xdist_group("privilege")]

Right = tuple[str, str, str, str]
"""An account of ours, a group, a resource with its subresource, a verb."""


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


def test_every_right_is_used_and_none_is_missing(site: Site) -> None:
    site.install()
    granted = set(rights(site))
    with site.player():
        do_everything(site)

    # A right that no request of the account names: the API server asks for it when a Job with such an owner is created.
    finalizers = ("controller", "flow.volcano.sh", "jobflows/finalizers", "update")
    assert without(site, finalizers, lambda: waits_for(site, "JobRefused"))

    refused = [event for event in site.requests() if event["responseStatus"]["code"] == 403 and not is_expected(event)]
    assert [(event["user"]["username"], event["verb"], event["requestURI"]) for event in refused] == []

    count_an_event_again(site)

    # With the end of the release go the last ones.
    site.uninstall()
    used = {right_of(event) for event in site.requests() if event["responseStatus"]["code"] != 403}
    # A JobFlow is read whole only where somebody else has written its status meanwhile.
    assert granted - used - {("controller", "flow.volcano.sh", "jobflows", "get")} == {finalizers}
    assert used - granted == set()


def do_everything(site: Site) -> None:
    """What happens in the life of a cluster, so that each right is needed for something."""
    for example in ("diamond", "ml-pipeline", "nightly-report"):
        site.run_example(example)
    site.kubectl("delete", "jobflow", "diamond")
    site.kubectl("delete", "jobtemplate", "publish")
    # A Job vanishes before anybody saw it end.
    site.kubectl("create", "namespace", "lossy")
    lossy = site.kubectl.within("lossy")
    lossy("apply", "-f", str(ROOT / "examples" / "diamond.yaml"))
    assert eventually(lambda: lossy.get(VOLCANO_JOBS, "diamond-extract"))
    lossy("delete", VOLCANO_JOBS, "diamond-extract")
    lossy("wait", "--for=jsonpath={.status.state.phase}=Failed", "--timeout=30s", "jobflow/diamond")
    # Somebody deletes the Lease.
    lease = f"{site.release}-jobflow-controller"
    site.system("delete", "lease", lease)
    assert eventually(lambda: site.system.get("lease", lease), timeout=40)
    # The certificates are renewed.
    site.system("delete", "secret", f"{site.release}-jobflow-webhook-ca")
    site.certs_job("renewed")


def count_an_event_again(site: Site) -> None:
    """What the controller does when it says the same again, which is after six minutes."""
    (event, *_) = site.kubectl.by_name("events.events.k8s.io").values()
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
    path = f"/apis/events.k8s.io/v1/namespaces/default/events/{event['metadata']['name']}"
    with Api(site.server, site.pods("controller")[0].token) as controller:
        controller("PATCH", path, series, MERGE)


def waits_for(site: Site, reason: str) -> bool:
    """Whether a new JobFlow comes to wait for that."""
    for each in documents(ROOT / "examples" / "diamond.yaml"):
        if each["kind"] == "JobFlow":
            each["metadata"]["name"] = "refused"
        site.kubectl.apply(each)
    return eventually(
        lambda: (
            (site.kubectl.get("jobflow", "refused") or {}).get("status", {}).get("state", {}).get("reason") == reason
        )
    )


def without(site: Site, right: Right, works: Any) -> bool:
    """Take a right away, see, and give it back."""
    account, group, resource, verb = right
    name = f"{site.release}-jobflow-{account}"
    role = json.loads(site.kubectl("get", "clusterrole", name, "-o", "json"))
    rules = [rule for rule in role["rules"] if rule != {"apiGroups": [group], "resources": [resource], "verbs": [verb]}]
    assert len(rules) == len(role["rules"]) - 1
    site.kubectl.apply({**role, "rules": rules})
    try:
        return bool(works())
    finally:
        site.kubectl.apply({key: role[key] for key in ("apiVersion", "kind", "rules")} | {"metadata": {"name": name}})


def rights(site: Site) -> Iterator[Right]:
    """Every right that the roles of the release grant to its accounts."""
    for kind in ("clusterroles", "roles"):
        for role in site.system.by_name(kind).values():
            account = role["metadata"].get("labels", {}).get("app.kubernetes.io/component")
            if not role["metadata"]["name"].startswith(f"{site.release}-jobflow-") or account not in ACCOUNTS:
                continue
            for rule in role["rules"]:
                yield from (
                    (account, group, resource, verb)
                    for group in rule["apiGroups"]
                    for resource in rule["resources"]
                    for verb in rule["verbs"]
                )


def right_of(event: Any) -> Right:
    of = event["objectRef"]
    resource = f"{of['resource']}/{of['subresource']}" if "subresource" in of else of["resource"]
    return event["account"], of.get("apiGroup", ""), resource, event["verb"]


def is_expected(event: Any) -> bool:
    """While the right to set finalizers was taken away."""
    return bool(re.search("cannot set blockOwnerDeletion", event["responseStatus"].get("message", "")))
