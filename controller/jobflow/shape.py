"""What a JobFlow's spec says, arranged for whoever asks it again and again."""

from collections.abc import Mapping
from typing import NamedTuple

from shared.api.jobflow import Flow, JobFlow
from shared.flow.names import child_name


class Shape(NamedTuple):
    """Answers about the entries of one spec that would else take a walk over all of them."""

    entries: Mapping[str, Flow]
    """Entries by the names of their Jobs."""

    followers: Mapping[str, tuple[Flow, ...]]
    """Entries by what they depend on."""


def shape_of(jobflow: JobFlow) -> Shape:
    """Arrange the spec of `jobflow`."""
    followers: dict[str, list[Flow]] = {}
    for flow in jobflow.flows:
        for target in flow.targets:
            followers.setdefault(target, []).append(flow)
    return Shape(
        {child_name(jobflow.name, flow.name): flow for flow in jobflow.flows},
        {target: tuple(flows) for target, flows in followers.items()},
    )
