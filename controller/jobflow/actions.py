"""What can be decided for a JobFlow, and how that can turn out: small frozen values."""

from dataclasses import dataclass

from shared.api.job import Job


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Create the Job of one entry."""

    flow: str
    name: str
    manifest: bytes
    template_version: str
    """Which version of the JobTemplate the manifest was made from."""


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Delete a Job as it was seen: no other that may have come under its name, and not if it was changed since."""

    name: str
    uid: str
    version: str


@dataclass(frozen=True, slots=True)
class Created:
    """The Job is there, and it is ours."""

    flow: str
    job: Job


@dataclass(frozen=True, slots=True)
class NameConflict:
    """A Job of that name is there, and it is somebody else's."""

    flow: str
    template_version: str


@dataclass(frozen=True, slots=True)
class RefusedJob:
    """The API server, or an admission webhook behind it, will not have this Job."""

    flow: str
    template_version: str
    message: str


Outcome = Created | NameConflict | RefusedJob
