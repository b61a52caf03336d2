"""Who calls: bearer tokens, tokens of ServiceAccounts, and impersonation."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from devcluster.resources import JSON

ANYONE = "system:authenticated"
ACCOUNTS = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class User:
    """A caller, as webhooks and RBAC see them."""

    name: str
    groups: tuple[str, ...] = (ANYONE,)
    uid: str = ""
    extra: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def is_master(self) -> bool:
        """Say whether everything is allowed."""
        return "system:masters" in self.groups

    def info(self) -> JSON:
        """Return the userInfo of an AdmissionReview."""
        told: JSON = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            told["uid"] = self.uid
        if self.extra:
            told["extra"] = dict(self.extra)
        return told


ADMIN = User("admin", ("system:masters", ANYONE), uid="admin")
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """Return the caller that Pods with this ServiceAccount are."""
    groups = (ACCOUNTS, f"{ACCOUNTS}:{namespace}", ANYONE)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


# The cluster's own cleaners; they are above RBAC here.
NAMESPACE_CONTROLLER = service_account("kube-system", "namespace-controller")
GARBAGE_COLLECTOR = service_account("kube-system", "generic-garbage-collector")


@dataclass(frozen=True, slots=True)
class _Token:
    user: User
    expires: datetime | None


class Tokens:
    """The bearer tokens that are known."""

    def __init__(self) -> None:
        self._known: dict[str, _Token] = {}

    def add(self, user: User, token: str = "", *, expires: datetime | None = None) -> str:
        """Let `user` in with a token, a new one unless given, and return it."""
        token = token or secrets.token_urlsafe(32)
        self._known[token] = _Token(user, expires)
        return token

    def revoke(self, token: str) -> None:
        """Let nobody in with this token any more."""
        self._known.pop(token, None)

    def issue(self, user: User, seconds: int, now: datetime) -> tuple[str, datetime]:
        """Return a token for a while, as a TokenRequest asks for, and when it ends."""
        expires = now + timedelta(seconds=seconds)
        return self.add(user, expires=expires), expires

    def user(self, authorization: str | None, now: datetime) -> User | None:
        """Return who sent this Authorization header; None when the token is not known or over."""
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        found = self._known.get(token.strip())
        if scheme.lower() != "bearer" or found is None or (found.expires and found.expires <= now):
            return None
        return found.user
