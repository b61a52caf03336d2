"""What the API server asks the webhook, and when it does not."""

import base64

from devcluster.stack.registration import webhook_configuration

REGISTERED = webhook_configuration("https://127.0.0.1:9443/", b"a bundle")


def test_both_kinds_are_asked_about_at_their_own_path() -> None:
    assert {each["rules"][0]["resources"][0]: each["clientConfig"]["url"] for each in REGISTERED["webhooks"]} == {
        "jobflows": "https://127.0.0.1:9443/validate/jobflows",
        "jobtemplates": "https://127.0.0.1:9443/validate/jobtemplates",
    }


def test_status_is_never_asked_about() -> None:
    for each in REGISTERED["webhooks"]:
        (rule,) = each["rules"]
        assert all("/" not in resource for resource in rule["resources"])
        assert (rule["operations"], rule["scope"]) == (["CREATE", "UPDATE", "DELETE"], "Namespaced")


def test_a_webhook_that_is_down_lets_nothing_through() -> None:
    for each in REGISTERED["webhooks"]:
        assert (each["failurePolicy"], each["timeoutSeconds"], each["sideEffects"]) == ("Fail", 5, "None")
        assert (each["matchPolicy"], each["admissionReviewVersions"]) == ("Equivalent", ["v1"])
        assert base64.b64decode(each["clientConfig"]["caBundle"]) == b"a bundle"


def test_who_cleans_up_the_cluster_is_not_held_up() -> None:
    for each in REGISTERED["webhooks"]:
        conditions = {condition["name"]: condition["expression"] for condition in each["matchConditions"]}
        for cleaner in (
            "system:serviceaccount:kube-system:namespace-controller",
            "system:serviceaccount:kube-system:generic-garbage-collector",
            "system:kube-controller-manager",
        ):
            assert repr(cleaner) in conditions["not-cleaning-up"]
