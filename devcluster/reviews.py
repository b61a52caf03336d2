"""Questions about the caller, answered on the spot and stored nowhere: may I, may they, who am I, and TokenRequest."""

from collections.abc import Callable
from datetime import datetime

from devcluster.calls import rfc3339
from devcluster.identity import Tokens, User, service_account
from devcluster.rbac import Attributes, Authorizer
from devcluster.resources import JSON
from devcluster.store import Stored

TOKEN_SECONDS = 3600


class Reviews:
    """Answers SubjectAccessReviews and their like."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens, now: Callable[[], datetime]) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._now = now

    def answer(self, kind: str, user: User, review: JSON, namespace: str) -> JSON:
        """Return a review with its status filled in."""
        spec = review.get("spec") or {}
        if kind == "SelfSubjectReview":
            status: JSON = {"userInfo": user.info()}
        elif kind == "SelfSubjectRulesReview":
            status = self._rules(user, spec.get("namespace") or "")
        else:
            about = user if kind == "SelfSubjectAccessReview" else _subject(spec)
            wanted = _attributes(spec, namespace)
            status = {"allowed": self._authorizer.allows(about, wanted)}
        return {**review, "metadata": review.get("metadata") or {}, "status": status}

    def issue_token(self, account: Stored, request: JSON) -> JSON:
        """Return a TokenRequest with a token for a ServiceAccount."""
        spec = request.get("spec") or {}
        seconds = spec.get("expirationSeconds") or TOKEN_SECONDS
        user = service_account(account.namespace, account.name, account.uid)
        token, expires = self._tokens.issue(user, seconds, self._now())
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": account.name, "namespace": account.namespace},
            "spec": spec | {"expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": rfc3339(expires)},
        }

    def _rules(self, user: User, namespace: str) -> JSON:
        if user.is_master:
            everything = ["*"]
            resources = [{"verbs": everything, "apiGroups": everything, "resources": everything}]
            return {
                "resourceRules": resources,
                "nonResourceRules": [{"verbs": everything, "nonResourceURLs": everything}],
                "incomplete": False,
            }
        rules = list(self._authorizer.rules(user, namespace))
        return {
            "resourceRules": [rule for rule in rules if rule.get("resources")],
            "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }


def _subject(spec: JSON) -> User:
    return User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "")


def _attributes(spec: JSON, namespace: str) -> Attributes:
    if path := spec.get("nonResourceAttributes"):
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    return Attributes(
        asked.get("verb", ""),
        asked.get("group", ""),
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("namespace", "") or namespace,
        asked.get("name", ""),
    )
