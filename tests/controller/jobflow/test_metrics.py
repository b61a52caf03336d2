"""What is counted of JobFlows, under which names, and that no label grows without bound."""

from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from controller.jobflow.metrics import MOST_WATCHED, EdgeTimes, JobFlowGauges, VolcanosCounters
from shared.api.jobflow import JobFlow
from tests.support.builders import a_jobflow

UID = "uid-of-etl"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


class TestVolcanosCounters:
    def test_a_transition_to_an_end_counts_once_by_namespace(self, registry: CollectorRegistry) -> None:
        counters = VolcanosCounters(registry)
        counters.count("ml", before="Running", after="Succeed")
        counters.count("ml", before="Succeed", after="Succeed")
        counters.count("ml", before="Pending", after="Running")
        counters.count("web", before="Running", after="Failed")
        assert registry.get_sample_value("volcano_jobflow_succeed_phase_count", {"jobflow_namespace": "ml"}) == 1
        assert registry.get_sample_value("volcano_jobflow_failed_phase_count", {"jobflow_namespace": "web"}) == 1
        assert registry.get_sample_value("volcano_jobflow_failed_phase_count", {"jobflow_namespace": "ml"}) is None

    def test_they_are_served_under_volcanos_very_names(self, registry: CollectorRegistry) -> None:
        VolcanosCounters(registry).count("ml", before="Running", after="Succeed")
        assert 'volcano_jobflow_succeed_phase_count{jobflow_namespace="ml"} 1.0' in generate_latest(registry).decode()

    def test_ten_thousand_namespaces_make_at_most_two_thousand_series_and_lose_no_count(
        self, registry: CollectorRegistry
    ) -> None:
        counters = VolcanosCounters(registry)
        for number in range(10_000):
            for after in ("Succeed", "Failed"):
                counters.count(f"team-{number}", before="Running", after=after)
        counters.count("team-3", before="Running", after="Succeed")
        values = [sample for family in registry.collect() for sample in family.samples]
        assert len(values) <= 2_000
        assert sum(sample.value for sample in values) == 20_001
        assert registry.get_sample_value("volcano_jobflow_succeed_phase_count", {"jobflow_namespace": "team-3"}) == 2


class TestJobFlowGauges:
    def gauges(
        self, registry: CollectorRegistry, jobflows: Iterable[JobFlow], name: str, label: str
    ) -> dict[str, float]:
        JobFlowGauges(registry, jobflows)
        families = text_string_to_metric_families(generate_latest(registry).decode())
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return {sample.labels[label]: sample.value for sample in samples}

    def test_jobflows_are_counted_by_the_phase_that_is_stored(self, registry: CollectorRegistry) -> None:
        there = [a_jobflow("get", phase=phase) for phase in ("Running", "Running", "Succeed")] + [a_jobflow("get")]
        counted = self.gauges(registry, there, "jobflow_jobflows", "phase")
        assert {phase: count for phase, count in counted.items() if count} == {"Running": 2, "Succeed": 1, "New": 1}
        assert counted["Failed"] == 0, "a phase that no JobFlow is in has a series as well"

    def test_they_are_counted_anew_whenever_somebody_asks(self, registry: CollectorRegistry) -> None:
        there = [a_jobflow("get", phase="Running")]
        JobFlowGauges(registry, there)
        assert registry.get_sample_value("jobflow_jobflows", {"phase": "Running"}) == 1
        there.clear()
        assert registry.get_sample_value("jobflow_jobflows", {"phase": "Running"}) == 0

    def test_words_that_somebody_wrote_by_hand_make_no_series(self, registry: CollectorRegistry) -> None:
        there = [a_jobflow("get", status={"state": {"phase": f"Phase{n}", "reason": f"Reason{n}"}}) for n in range(100)]
        assert self.gauges(registry, there, "jobflow_jobflows", "phase")["Unknown"] == 100
        assert registry.get_sample_value("jobflow_jobflows_held_up", {"reason": "Unknown"}) == 100
        assert len([sample for family in registry.collect() for sample in family.samples]) < 20

    def test_what_waits_for_a_person_is_counted_by_reason_until_it_has_finished(
        self, registry: CollectorRegistry
    ) -> None:
        there = [
            a_jobflow("get", status={"state": {"phase": phase, "reason": reason}})
            for phase, reason in (
                ("Pending", "TemplateNotFound"),
                ("Running", "TemplateNotFound"),
                ("Running", "JobRefused"),
                ("Failed", "JobFailed"),
            )
        ]
        counted = self.gauges(registry, there, "jobflow_jobflows_held_up", "reason")
        assert {reason: count for reason, count in counted.items() if count} == {"TemplateNotFound": 2, "JobRefused": 1}


class TestEdgeTimes:
    @pytest.fixture
    def edges(self, registry: CollectorRegistry) -> EdgeTimes:
        return EdgeTimes(registry)

    def told(self, registry: CollectorRegistry) -> tuple[float | None, float | None]:
        name = "jobflow_edge_duration_seconds"
        return registry.get_sample_value(f"{name}_count"), registry.get_sample_value(f"{name}_sum")

    def test_an_edge_lasts_from_the_last_completion_to_the_answered_create(
        self, registry: CollectorRegistry, edges: EdgeTimes
    ) -> None:
        edges.completed(UID, "etl-clean", 10.0)
        edges.completed(UID, "etl-count", 12.0)
        edges.created(UID, ["etl-clean", "etl-count"], 12.25)
        assert self.told(registry) == (1, 0.25)

    @pytest.mark.parametrize(
        ("seconds", "bucket"), [(0.0009, "0.001"), (0.004, "0.005"), (59.0, "60.0"), (61.0, "+Inf")]
    )
    def test_its_buckets_reach_from_a_millisecond_to_a_minute(
        self, registry: CollectorRegistry, edges: EdgeTimes, seconds: float, bucket: str
    ) -> None:
        edges.completed(UID, "etl-get", 0.0)
        edges.created(UID, ["etl-get"], seconds)
        samples = [sample for family in registry.collect() for sample in family.samples]
        hit = [sample.labels["le"] for sample in samples if sample.name.endswith("_bucket") and sample.value]
        assert hit[0] == bucket

    def test_a_first_entry_has_no_edge(self, registry: CollectorRegistry, edges: EdgeTimes) -> None:
        edges.created(UID, [], 5.0)
        assert self.told(registry) == (0, 0)

    def test_a_completion_that_nobody_saw_happen_is_not_measured_from(
        self, registry: CollectorRegistry, edges: EdgeTimes
    ) -> None:
        edges.completed(UID, "etl-other", 1.0)
        edges.created(UID, ["etl-get"], 5.0)
        assert self.told(registry) == (0, 0)

    def test_what_a_whole_pass_could_not_start_waits_for_something_else(
        self, registry: CollectorRegistry, edges: EdgeTimes
    ) -> None:
        edges.completed(UID, "etl-get", 1.0)
        edges.passed(UID, 2.0)
        edges.created(UID, ["etl-get"], 3600.0)
        assert self.told(registry) == (0, 0)

    def test_what_completed_during_a_pass_is_measured_in_the_next(
        self, registry: CollectorRegistry, edges: EdgeTimes
    ) -> None:
        edges.completed(UID, "etl-get", 3.0)
        edges.passed(UID, 2.0)
        edges.created(UID, ["etl-get"], 4.0)
        assert self.told(registry) == (1, 1.0)

    def test_jobflows_that_are_never_passed_again_take_no_memory_for_ever(self, edges: EdgeTimes) -> None:
        for number in range(MOST_WATCHED + 500):
            edges.completed(f"uid-{number}", "etl-get", 1.0)
        assert len(edges._completed) == MOST_WATCHED
