"""The program's part in the election, as its flags say, and what happens to it when it is stopped for long."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.candidacy import candidate, instance, lease_namespace, sleepless_clock
from controller.settings import A_WRITE, ControllerSettings
from shared.api.meta import Key
from shared.kube.client import TIMEOUT, KubeClient
from shared.ops.settings import read_settings
from tests.shared.kube.fake_api import FakeApi

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


def settings(*flags: str) -> ControllerSettings:
    return read_settings(ControllerSettings, "jobflow-controller", flags, {})


def test_flags_have_kubernetes_names_and_defaults() -> None:
    defaults = settings()
    assert defaults.leader_elect
    assert (
        defaults.leader_elect_lease_duration,
        defaults.leader_elect_renew_deadline,
        defaults.leader_elect_retry_period,
    ) == (15, 10, 2)
    given = settings("--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s")
    assert given.leader_elect_lease_duration == 137


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--leader-elect-lease-duration=14s"], "must be at least 5s more than --leader-elect-renew-deadline"),
        (["--leader-elect-lease-duration=15500ms"], "must be whole seconds"),
        (["--leader-elect-retry-period=10s"], "less than the renew deadline"),
        (["--leader-elect-retry-period=0s"], "more than 0s"),
    ],
)
def test_times_that_would_let_two_write_are_refused(
    flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(*flags)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
    assert settings("--leader-elect=false", *flags)


def test_the_margin_is_what_a_request_may_take() -> None:
    assert A_WRITE == TIMEOUT


@pytest.mark.parametrize(
    ("flags", "environ", "namespace"),
    [
        pytest.param([], IN_POD, "the-pods", id="in a pod: its own"),
        pytest.param([], {}, "kube-system", id="elsewhere"),
        pytest.param([], {**IN_POD, "KUBECONFIG": "/some/file"}, "kube-system", id="in a pod, for another cluster"),
        pytest.param(["--leader-elect-resource-namespace=mine"], IN_POD, "mine", id="as the flag says"),
    ],
)
def test_where_the_lease_lies(tmp_path: Path, flags: list[str], environ: dict[str, str], namespace: str) -> None:
    file = tmp_path / "namespace"
    file.write_text("the-pods\n")
    assert lease_namespace(settings(*flags), environ, file) == namespace


def test_without_an_election_there_is_no_candidate() -> None:
    client = KubeClient(FakeApi())
    assert candidate(settings("--leader-elect=false"), client, CollectorRegistry(), Random(1), {}) is None
    leader = candidate(settings("--leader-elect-resource-name=other"), client, CollectorRegistry(), Random(1), {})
    assert leader
    assert leader.lease == Key("kube-system", "other")


def test_each_process_has_a_name_of_its_own() -> None:
    assert instance() != instance()
    assert len(instance()) <= 128


def test_the_clock_goes_forward() -> None:
    clock = sleepless_clock()
    before = clock()
    time.sleep(0.01)
    assert 0.01 <= clock() - before < 60


STOPPED = """
import sys, time
sys.path.insert(0, {root!r})
from controller.candidacy import end_when_continued_too_late
from shared.ops import logs
from shared.ops.running import run_program

class Leader:
    lease = "ns/name"
    until = time.monotonic() + {seconds}
    @property
    def has_run_out(self):
        return time.monotonic() >= self.until

async def main():
    import asyncio
    end_when_continued_too_late(Leader())
    print("up", flush=True)
    while True:  # busy, as a leader is that creates a thousand Jobs
        for _ in range(10_000):
            pass
        await asyncio.sleep(0)

logs.set_up(2)
run_program(main())
"""


@pytest.mark.parametrize(("seconds", "ends"), [(1.0, True), (60.0, False)])
def test_a_process_that_is_continued_after_its_lease_ran_out_ends_at_once(seconds: float, ends: bool) -> None:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", STOPPED.format(root=root, seconds=seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stderr
            process.stdout.readline()
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(1.1)
            os.kill(process.pid, signal.SIGCONT)
            if ends:
                assert process.wait(1) == 1
                (line,) = process.stderr.read().splitlines()
                assert "ran out while the process was stopped" in json.loads(line)["msg"]
            else:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.5)
        finally:
            process.kill()
