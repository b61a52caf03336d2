from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.player import PlayedJob, Remove, Rules, Wait, Write, next_status, next_step
from shared.api.job import Job
from shared.api.times import format_time

CREATED = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
FULL, BRIEF = Rules(run_seconds=10), Rules(run_seconds=10, brief=True)


def after(seconds):
    return CREATED + timedelta(seconds=seconds)


def a_job(status=None, *, command=("nginx",), ttl=None, tasks=None, **meta):
    spec = {
        "minAvailable": 1,
        "tasks": tasks
        or [{"name": "t", "replicas": 2, "template": {"spec": {"containers": [{"command": list(command)}]}}}],
        "ttlSecondsAfterFinished": ttl,
    }
    metadata = {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": format_time(CREATED), **meta}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, PlayedJob)


def in_phase(phase, seconds=0, **status):
    return {"state": {"phase": phase, "lastTransitionTime": format_time(after(seconds))}, **status}


def played(job, rules, times):
    """The statuses that a Job gets when it is looked at at these times."""
    statuses = []
    for seconds in times:
        while (status := next_status(job, after(seconds), rules)) is not None:
            statuses.append(status)
            job = msgspec.structs.replace(job, status=status)
    return statuses


def phases(statuses):
    return [status["state"]["phase"] for status in statuses]


def test_a_job_is_played_as_volcano_does_it():
    pending, running, completed, settled = played(a_job(), FULL, [0, 1, 11])

    assert phases([pending, running, completed, settled]) == ["Pending", "Running", "Completed", "Completed"]
    assert (pending["pending"], running["running"], completed["succeeded"]) == (2, 2, 2)
    assert "pending" not in running
    assert "running" not in completed
    assert completed["minAvailable"] == 1
    assert completed["taskStatusCount"] == {"t": {"phase": {"Succeeded": 2}}}
    assert [entry["status"] for entry in completed["conditions"]] == ["Pending", "Running", "Completed"]
    assert completed["conditions"][-1]["lastTransitionTime"] == completed["state"]["lastTransitionTime"]


def test_after_the_end_there_is_a_second_write_with_the_next_version_and_the_whole_duration():
    *_, completed, settled = played(a_job(), FULL, [0, 5, 15])

    assert "runningDuration" not in completed
    assert settled == {**completed, "version": 1, "runningDuration": "15s"}


def test_brief_saves_the_writes_in_between():
    running, completed = played(a_job(), BRIEF, [0, 10])

    assert [entry["status"] for entry in running["conditions"]] == ["Pending", "Running"]
    assert (completed["version"], completed["runningDuration"]) == (1, "10s")


def test_a_job_that_takes_no_time_is_one_write_in_brief():
    [only] = played(a_job(), Rules(brief=True), [0])

    assert [entry["status"] for entry in only["conditions"]] == ["Pending", "Running", "Completed"]
    assert only["runningDuration"] == "0s"


def test_a_command_that_fails_fails_the_job():
    *_, failed = played(a_job(command=["sh", "-c", "sleep 2; exit 1"]), FULL, [0, 1, 2])

    assert failed["state"]["phase"] == "Failed"
    assert (failed["failed"], failed["taskStatusCount"]) == (2, {"t": {"phase": {"Failed": 2}}})


def test_a_job_waits_until_its_time_has_come():
    running = a_job(in_phase("Running"), command=["sleep", "4"])

    assert next_step(running, after(1), FULL) == Wait(3)
    assert isinstance(next_step(running, after(4), FULL), Write)


def test_a_player_that_remembers_the_moment_waits_for_it_exactly():
    running = a_job(in_phase("Running", 0), command=["sleep", "1"])

    assert next_step(running, after(1), FULL, since=after(0.75)) == Wait(0.75)


def test_a_phase_that_somebody_wrote_without_a_time_counts_from_the_creation():
    running = a_job({"state": {"phase": "Running"}}, command=["sleep", "4"])

    assert next_step(running, after(3), FULL) == Wait(1)
    assert isinstance(next_step(running, after(4), FULL), Write)


def test_pending_lasts_as_long_as_the_rules_say():
    pending = a_job(in_phase("Pending"))

    assert next_step(pending, after(1), Rules(pending_seconds=3)) == Wait(2)


def test_speed_shortens_what_commands_say_and_nothing_else():
    rules = Rules(run_seconds=10, speed=5)

    assert next_step(a_job(in_phase("Running"), command=["sleep", "10"]), after(0), rules) == Wait(2)
    assert next_step(a_job(in_phase("Running")), after(0), rules) == Wait(10)


def test_a_job_that_sleeps_for_ever_is_never_looked_at_again():
    assert next_step(a_job(in_phase("Running"), command=["sleep", "infinity"]), after(1e9), FULL) is None


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
def test_a_finished_job_is_removed_once_its_time_to_live_is_over(phase):
    job = a_job(in_phase(phase, 10, runningDuration="10s"), ttl=5)

    assert next_step(job, after(12), FULL) == Wait(3)
    assert next_step(job, after(15), FULL) == Remove()


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(in_phase("Completed", runningDuration="1s")), id="finished, without a time to live"),
        pytest.param(a_job(in_phase("Running"), deletionTimestamp="2026-11-21T12:00:00Z"), id="being deleted"),
        pytest.param(a_job(in_phase("Aborted")), id="aborted"),
        pytest.param(a_job(in_phase("Restarting"), ttl=0), id="restarting"),
    ],
)
def test_other_jobs_are_left_alone(job):
    assert next_step(job, after(1e6), FULL) is None


def test_an_end_that_somebody_else_wrote_is_settled_too():
    settled = next_status(a_job(in_phase("Terminated", 65, version=3, controlledResources={"a": "b"})), after(90), FULL)

    assert (settled["version"], settled["runningDuration"]) == (4, "1m5s")
    assert "controlledResources" not in settled


def test_what_others_wrote_into_a_status_stays():
    status = next_status(a_job(in_phase("Pending", retryCount=2)), after(1), FULL)

    assert status["retryCount"] == 2


def test_tasks_without_a_name_or_replicas_are_counted_as_volcano_would_fill_them_in():
    status = next_status(a_job(tasks=[{"template": {}}, {"name": "w", "replicas": 3}]), CREATED, FULL)

    assert status["taskStatusCount"] == {"default0": {"phase": {"Pending": 1}}, "w": {"phase": {"Pending": 3}}}
    assert status["pending"] == 4


def test_the_products_can_read_what_the_player_writes():
    *_, last = played(a_job(), FULL, [0, 1, 11])

    job = msgspec.json.decode(msgspec.json.encode({"metadata": {"name": "j"}, "status": last}), type=Job)

    assert (job.phase, job.status.running_duration) == ("Completed", "11s")
    assert [entry.status for entry in job.status.conditions] == ["Pending", "Running", "Completed"]


@given(
    st.lists(st.floats(0, 100), max_size=20).map(sorted),
    st.builds(Rules, st.floats(0, 20), st.floats(0, 5), st.sampled_from([0.5, 1, 10]), st.booleans()),
    st.sampled_from([("nginx",), ("sleep", "3"), ("false",), ("sleep", "infinity")]),
)
def test_however_seldom_it_is_looked_at_a_job_goes_forward_and_counts_all_its_pods(times, rules, command):
    order = ["Pending", "Running", "Completed", "Failed"]

    statuses = played(a_job(command=command), rules, times)

    assert phases(statuses) == sorted(phases(statuses), key=order.index)
    for status in statuses:
        assert sum(status.get(name, 0) for name in ("pending", "running", "succeeded", "failed")) == 2
        assert status["conditions"][-1]["status"] == status["state"]["phase"]
    if statuses and "runningDuration" in statuses[-1]:
        assert statuses[-1]["version"] == 1
