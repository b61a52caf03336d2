"""What a container may ask for: quantities of resources, requests and limits, as Kubernetes judges them."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from shared.api.job_spec import Container, JobTemplateInFull, Quantity
from shared.rules.fault import Fault, FieldPath, invalid, required, type_invalid
from shared.rules.formats import is_qualified_name, quantity
from shared.rules.job.containers import all_containers
from shared.rules.rule import Rule

NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
HUGE_PAGES: Final = "hugepages-"


@Rule
def quantities_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """What a container asks for is a quantity such as `2`, `"500m"` or `"1Gi"`, and not negative."""
    for at, amounts in _amounts(template):
        for name, written in amounts.items():
            amount = quantity(written)
            if isinstance(written, float) and amount is None:
                yield type_invalid(at.key(name), written, f'must be a whole number or a string, as in "{written}"')
            elif amount is None:
                yield invalid(at.key(name), written, "must be a quantity such as 2, 500m, 1.5 or 1Gi")
            elif amount < 0:
                yield invalid(at.key(name), written, "must not be negative")
            elif _is_extended(name) and _is_name(name) and amount % 1:
                yield invalid(at.key(name), written, "must be a whole number")


@Rule
def resource_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A resource is `cpu`, `memory`, `ephemeral-storage`, `hugepages-<size>`, or has a name with a domain."""
    for at, amounts in _amounts(template):
        for name in amounts:
            if not _is_name(name):
                why = f"must be {', '.join(NATIVE)}, {HUGE_PAGES}<size>, or a name with a domain such as nvidia.com/gpu"
                yield invalid(at.key(name), name, why)


@Rule
def requests_fit_limits(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container requests no more than its limit; of what cannot be shared, such as a GPU, just as much."""
    for at, container in all_containers(template):
        limits, requests = _written(container, "limits"), _written(container, "requests")
        for name, written in requests.items():
            asked, most = _amount(name, written), _amount(name, limits.get(name))
            where = at / "resources"
            if asked is None or not _is_name(name):
                continue
            if name not in limits:
                if not _is_shared(name):
                    yield required((where / "limits").key(name), "what cannot be shared must have a limit")
            elif most is not None and asked > most:
                yield invalid((where / "requests").key(name), written, "must not be more than the limit")
            elif most is not None and asked != most and not _is_shared(name):
                why = "must be equal to the limit, for it cannot be shared"
                yield invalid((where / "requests").key(name), written, why)


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    quantities_are_valid,
    resource_names_are_valid,
    requests_fit_limits,
)


def _amounts(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, Mapping[str, Quantity]]]:
    """What is written of limits and requests, with their places."""
    for at, container in all_containers(template):
        for key in ("limits", "requests"):
            yield at / "resources" / key, _written(container, key)


def _written(container: Container, key: str) -> dict[str, Quantity]:
    resources = container.resources
    amounts = (resources.limits if key == "limits" else resources.requests) if resources else None
    return {name: amount for name, amount in (amounts or {}).items() if amount is not None}


def _amount(name: str, written: Quantity | None) -> Decimal | None:
    """What it comes to, None where that is a fault already."""
    amount = None if written is None else quantity(written)
    if amount is None or amount < 0 or (_is_extended(name) and amount % 1):
        return None
    return amount


def _is_name(name: str) -> bool:
    known = name in NATIVE or name.startswith(HUGE_PAGES) or "/" in name
    return known and is_qualified_name(name) and not name.startswith("requests.")


def _is_extended(name: str) -> bool:
    """Not one of Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name


def _is_shared(name: str) -> bool:
    """Kubernetes lets more of it be promised than there is."""
    return not name.startswith(HUGE_PAGES) and not _is_extended(name)
