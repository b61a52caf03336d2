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
    for at, _, amounts in _amounts(template):
        for name, written in amounts.items():
            amount = quantity(written)
            if isinstance(written, float) and amount is None:
                yield type_invalid(at.key(name), written, f'must be a whole number or a string, as in "{written}"')
            elif amount is None:
                yield invalid(at.key(name), written, "must be a quantity such as 2, 500m, 1.5 or 1Gi")
            elif amount < 0:
                yield invalid(at.key(name), written, "must not be negative")
            elif _is_extended(name) and amount % 1:
                yield invalid(at.key(name), written, "must be a whole number")


@Rule
def resource_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A resource is `cpu`, `memory`, `ephemeral-storage`, `hugepages-<size>`, or has a name with a domain."""
    for at, _, amounts in _amounts(template):
        for name in amounts:
            known = name in NATIVE or name.startswith(HUGE_PAGES) or "/" in name
            if not known or not is_qualified_name(name) or name.startswith("requests."):
                why = f"must be {', '.join(NATIVE)}, {HUGE_PAGES}<size>, or a name with a domain such as nvidia.com/gpu"
                yield invalid(at.key(name), name, why)


@Rule
def requests_fit_limits(template: JobTemplateInFull) -> Iterator[Fault]:
    """A container requests no more than its limit; of what cannot be shared, such as a GPU, just as much."""
    for at, container in all_containers(template):
        limits, requests = _read(container, "limits"), _read(container, "requests")
        for name, amount in requests.items():
            where = (at / "resources" / "requests").key(name)
            written = container.resources.requests[name] if container.resources and container.resources.requests else ""
            if name in limits and amount > limits[name]:
                yield invalid(where, written, "must not be more than the limit")
            elif not _is_shared(name) and name in limits and amount != limits[name]:
                yield invalid(where, written, "must be equal to the limit, for it cannot be shared")
            elif not _is_shared(name) and name not in limits and not _is_given(container, name):
                yield required((at / "resources" / "limits").key(name), "what cannot be shared must have a limit")


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    quantities_are_valid,
    resource_names_are_valid,
    requests_fit_limits,
)


def _amounts(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, Container, Mapping[str, Quantity]]]:
    for at, container in all_containers(template):
        if container.resources:
            yield at / "resources" / "limits", container, container.resources.limits or {}
            yield at / "resources" / "requests", container, container.resources.requests or {}


def _read(container: Container, key: str) -> dict[str, Decimal]:
    """Those that are quantities; the others are faults already."""
    written: Mapping[str, Quantity] = (getattr(container.resources, key) or {}) if container.resources else {}
    return {name: amount for name, value in written.items() if (amount := quantity(value)) is not None and amount >= 0}


def _is_given(container: Container, name: str) -> bool:
    return bool(container.resources and name in (container.resources.limits or {}))


def _is_extended(name: str) -> bool:
    """Not one of Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name


def _is_shared(name: str) -> bool:
    """Kubernetes lets more of it be promised than there is."""
    return not name.startswith(HUGE_PAGES) and not _is_extended(name)
