"""What the rules for a JobFlow judge: the JobFlow, and what is known about it besides."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shared.api.jobflow import Flow, JobFlow


@dataclass(frozen=True, slots=True)
class Submission:
    """A JobFlow, and what its judges are told besides."""

    jobflow: JobFlow
    max_flows: int = 0
    size: int = 0
    """Bytes of the whole object as JSON."""
    started: Collection[str] = ()
    """Entries whose Jobs exist or existed, so that their names are no question any more."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The entries of `spec.flows`."""
        return self.jobflow.flows

    def first_of_each_name(self) -> Iterator[tuple[int, Flow]]:
        """The entries and their places, but for those whose name was there before: those are duplicates, no more."""
        seen = set[str]()
        for i, flow in enumerate(self.flows):
            if flow.name not in seen or not flow.name:
                seen.add(flow.name)
                yield i, flow
