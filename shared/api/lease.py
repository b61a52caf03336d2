"""The Lease (`coordination.k8s.io/v1`): who of several replicas leads, and until when others must believe that."""

from msgspec import Struct

from shared.api.meta import Named

LEASE_API_VERSION = "coordination.k8s.io/v1"


class LeaseSpec(Struct, frozen=True, gc=False, rename="camel"):
    """`spec` of a Lease. Times are MicroTimes as they came: they are for people, and compared with no clock."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Named, frozen=True, gc=False):
    """`coordination.k8s.io/v1` Lease, as far as it is read."""

    spec: LeaseSpec | None = None

    @property
    def record(self) -> LeaseSpec:
        """The spec, empty where there is none."""
        return self.spec or LeaseSpec()

    @property
    def holder(self) -> str:
        """Whoever leads, empty for nobody."""
        return self.record.holder_identity or ""
