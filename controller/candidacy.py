"""This program's part in the leader election, as its flags say."""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final
from uuid import uuid4

from prometheus_client import CollectorRegistry

from controller.runtime.election import Terms
from controller.runtime.leader import Leader, LeaderMetrics
from controller.settings import ControllerSettings
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.config import IN_CLUSTER

log = logging.getLogger(__name__)

POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where Kubernetes tells a pod its namespace."""

ELSEWHERE: Final = "kube-system"
"""The Lease's namespace outside of pods: one for everybody, so that two who run the program from laptops meet."""


def candidate(
    settings: ControllerSettings,
    client: KubeClient,
    registry: CollectorRegistry,
    random: Random,
    environ: Mapping[str, str] = os.environ,
) -> Leader | None:
    """This process as a candidate; None where `--leader-elect=false` says that it is the only one."""
    if not settings.leader_elect:
        return None
    lease = Key(lease_namespace(settings, environ), settings.leader_elect_resource_name)
    return Leader(
        client.apart(),
        lease,
        instance(),
        Terms(
            int(settings.leader_elect_lease_duration),
            settings.leader_elect_renew_deadline,
            settings.leader_elect_retry_period,
        ),
        random=random,
        clock=lambda: datetime.now(UTC),
        monotonic=sleepless_clock(),
        metrics=LeaderMetrics(registry, lease),
    )


def instance() -> str:
    """A name for this process. A process that was started again must not take itself for the one that was killed."""
    return f"{socket.gethostname()[:64]}_{uuid4()}"


def lease_namespace(settings: ControllerSettings, environ: Mapping[str, str], file: Path = POD_NAMESPACE) -> str:
    """The namespace that the Lease lies in."""
    if settings.leader_elect_resource_namespace:
        return settings.leader_elect_resource_namespace
    in_pod = environ.get(IN_CLUSTER) and not settings.kubeconfig and not environ.get("KUBECONFIG")
    return file.read_text().strip() if in_pod and file.is_file() else ELSEWHERE


def sleepless_clock() -> Callable[[], float]:
    """A clock in seconds that nobody sets, and that goes on while the machine sleeps, where there is one (Linux)."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic if boottime is None else lambda: time.clock_gettime(boottime)


def end_when_continued_too_late(leader: Leader) -> None:
    """End the process at once when it is continued (SIGCONT) after its Lease has run out.

    Whoever is stopped between the guard's look and the bytes' way out would send a write of long ago. The handler runs
    before anything else of the program does.
    """

    def continued(*_: object) -> None:
        if leader.has_run_out:
            log.error("lost the lease: it ran out while the process was stopped", extra={"lease": str(leader.lease)})
            os._exit(1)

    signal.signal(signal.SIGCONT, continued)
