"""matchConditions of webhooks: CEL over `request`, `object` and `oldObject`.

The language is that of the `common-expression-language` package; Kubernetes' own extensions of it (`authorizer`,
optional fields, quantities) are not there, and an expression that uses them is refused when it is registered.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import cel

from devcluster.resources import JSON


class ConditionError(Exception):
    """An expression that cannot be read, or gave no answer for this request."""


@lru_cache(maxsize=256)
def compiled(expression: str) -> Any:
    """Return the program of an expression. Raises ConditionError."""
    try:
        return cel.compile(expression)
    except ValueError as error:
        raise ConditionError(str(error).splitlines()[0]) from None


def all_hold(conditions: Sequence[JSON], variables: Mapping[str, Any]) -> bool:
    """Say whether every condition holds. Raises ConditionError when one has no answer and none is false.

    That a false one wins over an error is Kubernetes' rule.
    """
    failed = ""
    context = cel.Context(variables=dict(variables))
    for condition in conditions:
        try:
            if compiled(condition["expression"]).execute(context) is False:
                return False
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            failed = failed or f"{condition.get('name', '')}: {error}"
    if failed:
        raise ConditionError(failed)
    return True
