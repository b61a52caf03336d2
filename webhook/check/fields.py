"""Which fields a JobFlow and a JobTemplate have, for those that they have not.

Where the API server knows the fields, kubectl refuses others (`--validate=strict`, its default). Our CRDs leave the
template of a task open, and what is unknown there is lost only when a Job is made of it, whose CRD has its fields. The
models of `shared.api` have every field of both.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, inspect

from shared.api.job_spec import JobSpec
from shared.api.jobflow import Flow, JobFlowSpec
from shared.api.names import JOBFLOW, JOBTEMPLATE
from shared.rules.fault import Fault, FieldPath, NearMiss
from webhook.check.tree import below


class Metadata(Struct, frozen=True, rename="camel"):
    """Every field of Kubernetes' ObjectMeta; with a type those that no other model reads."""

    name: Any = None
    generate_name: Any = None
    namespace: Any = None
    self_link: Any = None
    uid: Any = None
    resource_version: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    labels: dict[str, str | None] | None = None
    annotations: Any = None
    owner_references: Any = None
    finalizers: tuple[str, ...] | None = None
    managed_fields: Any = None


class Envelope(Struct, frozen=True, rename="camel"):
    """What every object has around its spec."""

    api_version: Any = None
    kind: Any = None
    metadata: Metadata = Metadata()
    status: Any = None


class WholeJobFlow(Envelope, frozen=True, rename="camel"):
    """A JobFlow."""

    spec: JobFlowSpec = JobFlowSpec()


class WholeJobTemplate(Envelope, frozen=True, rename="camel"):
    """A JobTemplate."""

    spec: JobSpec = JobSpec()


class Patch(Struct, frozen=True, rename="camel"):
    """`patch` of an entry of a JobFlow."""

    job_spec: JobSpec = JobSpec()
    spec: Any = None


WHOLE: Final[dict[str, type[Envelope]]] = {JOBFLOW: WholeJobFlow, JOBTEMPLATE: WholeJobTemplate}

INSTEAD: Final[dict[tuple[type, str], inspect.Type]] = {(Flow, "patch"): inspect.type_info(Patch)}
"""Fields that are read otherwise than the CRD describes them."""

TEMPLATE: Final = "template"
"""Of a task: below this, our CRDs know no fields."""


UNKNOWN: Final = "Unknown field: kubectl refuses it, and the API server drops it"
UNKNOWN_IN_TEMPLATE: Final = "Unknown field: Volcano drops it"


def unknown_fields(value: Any, wanted: inspect.Type, at: FieldPath) -> Iterator[Fault]:
    """Every key below `value` that is no field there. What has another type than is wanted is another's to tell."""
    options = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    for option in options:
        if isinstance(option, inspect.StructType) and isinstance(value, dict):
            fields = {field.encode_name: field.type for field in option.fields}
            for key, child in value.items():
                if key in fields:
                    yield from unknown_fields(child, INSTEAD.get((option.cls, key), fields[key]), at / key)
                else:
                    said = UNKNOWN_IN_TEMPLATE if is_in_template(at) else UNKNOWN
                    yield Fault(below(at, key), "FieldValueInvalid", said, near=NearMiss(key, fields))
        elif isinstance(option, inspect.VarTupleType) and isinstance(value, list):
            for i, item in enumerate(value):
                yield from unknown_fields(item, option.item_type, at / i)


def is_in_template(at: FieldPath | str) -> bool:
    """Whether the place is in the pod template of a task, or is that."""
    return isinstance(at, FieldPath) and TEMPLATE in at.parts
