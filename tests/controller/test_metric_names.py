"""Every metric that the README tells operators to watch is one that the programs serve."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from controller.jobflow.metrics import EdgeTimes, JobFlowGauges, VolcanosCounters
from controller.runtime.metrics import InformerMetrics, RuntimeMetrics
from shared.kube.metrics import KubeMetrics
from webhook.metrics import Metrics

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"

SOURCE = "".join(file.read_text() for room in ("controller/runtime", "webhook") for file in (ROOT / room).glob("*.py"))
"""Where names stand that only a whole program serves, such as those of the leader election."""


def watched() -> list[str]:
    """The names in the first column of the table "Worth watching"."""
    table = README.read_text().split("| Worth watching |", 1)[1].split("\n\n", 1)[0]
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def served() -> set[str]:
    registry = CollectorRegistry()
    for make in (RuntimeMetrics, InformerMetrics, KubeMetrics, VolcanosCounters, EdgeTimes, Metrics):
        make(registry)
    JobFlowGauges(registry, [])
    return set(re.findall(r"^# TYPE (\w+) ", generate_latest(registry).decode(), re.MULTILINE))


@pytest.mark.parametrize("name", watched())
def test_what_the_readme_names_is_served(name: str) -> None:
    assert name in served() or name.removesuffix("_total") in SOURCE


def test_the_readme_names_some_of_each_program() -> None:
    assert len(watched()) >= 15
