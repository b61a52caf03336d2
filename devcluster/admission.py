"""Admission: which validating webhooks are asked about a write, and what follows from their answers.

All that apply are asked at once. Configurations hold from the moment they are written.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from devcluster.builtin import VALIDATING
from devcluster.calls import Call, Review
from devcluster.conditions import ConditionError, all_hold
from devcluster.errors import StatusError, forbidden, internal
from devcluster.resources import JSON, Resource
from devcluster.selection import Requirement, fits, from_selector
from devcluster.store import Change, Store
from devcluster.webhooks import Caller, CallFailed, refusal, request_of

# Nobody may lock the cluster up by refusing to repair what refuses.
EXEMPT_GROUPS = {"admissionregistration.k8s.io", "authorization.k8s.io", "authentication.k8s.io"}


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration, read once."""

    spec: JSON
    namespaces: tuple[Requirement, ...]
    objects: tuple[Requirement, ...]

    @property
    def name(self) -> str:
        """Return the name that refusals are said to come from."""
        return str(self.spec["name"])

    @property
    def ignores_failure(self) -> bool:
        """Say whether a write passes when this webhook gives no verdict."""
        return bool(self.spec.get("failurePolicy") == "Ignore")


class Webhooks:
    """The webhooks that are registered now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: list[Webhook] | None = None
        self.caller = Caller()
        store.observers.append(self._forget)

    async def review(self, call: Call, review: Review) -> None:
        """Ask everyone concerned. Raises the refusal of the first, in the order of registration."""
        if review.resource.group in EXEMPT_GROUPS:
            return
        concerned = [webhook for webhook in self._all() if self._is_concerned(webhook, review)]
        if not concerned:
            return
        outcomes = await asyncio.gather(*(self._ask(webhook, call, review) for webhook in concerned))
        refusals = [outcome for outcome in outcomes if outcome is not None]
        if refusals:
            raise refusals[0]

    async def _ask(self, webhook: Webhook, call: Call, review: Review) -> StatusError | None:
        request = request_of(call, review)
        try:
            if not self._conditions_hold(webhook, request, review):
                return None
            verdict = await self.caller.ask(webhook.spec, request)
        except ConditionError as error:
            return None if webhook.ignores_failure else forbidden(review.resource, review.name, str(error))
        except CallFailed as error:
            if webhook.ignores_failure:
                return None
            return internal(f'failed calling webhook "{webhook.name}": {error}')
        call.warnings.extend(verdict.warnings)
        return None if verdict.allowed else refusal(webhook.name, verdict.status)

    def _conditions_hold(self, webhook: Webhook, request: JSON, review: Review) -> bool:
        conditions = webhook.spec.get("matchConditions")
        if not conditions:
            return True
        asked = {key: value for key, value in request.items() if key not in {"object", "oldObject"}}
        return all_hold(conditions, {"request": asked, "object": review.new, "oldObject": review.old})

    def _is_concerned(self, webhook: Webhook, review: Review) -> bool:
        if not any(_rule_fits(rule, review) for rule in webhook.spec.get("rules") or ()):
            return False
        if webhook.objects and not any(fits(webhook.objects, _labels(obj)) for obj in (review.new, review.old) if obj):
            return False
        return not webhook.namespaces or self._namespace_fits(webhook, review)

    def _namespace_fits(self, webhook: Webhook, review: Review) -> bool:
        if review.resource.storage == "namespaces":
            return fits(webhook.namespaces, _labels(review.new or review.old or {}))
        if not review.resource.namespaced:
            return True
        home = self._store.get("namespaces", "", review.namespace)
        return home is not None and fits(webhook.namespaces, home.labels)

    def _all(self) -> Iterable[Webhook]:
        if self._known is None:
            bucket = self._store.bucket(VALIDATING.storage)
            self._known = [
                Webhook(spec, from_selector(spec.get("namespaceSelector")), from_selector(spec.get("objectSelector")))
                for key in bucket.sorted_keys()
                for spec in bucket.objects[key].decode().get("webhooks") or ()
            ]
        return self._known

    def _forget(self, storage: str, _: Change) -> None:
        if storage == VALIDATING.storage:
            self._known = None


def _labels(obj: JSON) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _rule_fits(rule: JSON, review: Review) -> bool:
    resource = review.resource
    if not {review.operation, "*"} & set(rule.get("operations") or ()):
        return False
    if not {resource.group, "*"} & set(rule.get("apiGroups") or ()):
        return False
    if not {resource.version, "*"} & set(rule.get("apiVersions") or ()):
        return False
    scope = "Namespaced" if resource.namespaced else "Cluster"
    if rule.get("scope", "*") not in {scope, "*"}:
        return False
    return any(_resource_fits(pattern, resource, review.subresource) for pattern in rule.get("resources") or ())


def _resource_fits(pattern: str, resource: Resource, subresource: str) -> bool:
    wanted, _, below = pattern.partition("/")
    return wanted in {resource.plural, "*"} and below in ({subresource, "*"} if subresource else {"", "*"})
