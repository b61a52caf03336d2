"""`apply` and `remove`, the two commands for a cluster, from flags to exit code.

Exit code 0: it is done. 1: it is not; the last line says why, and it may be run again. 2: a flag is wrong, or there is
no cluster to talk to.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from random import SystemRandom
from typing import Any, Final

from certs.cluster import Cluster, Outdated, Place
from certs.issue import authority_name
from certs.rotation import Waits, Wanted
from certs.settings import ApplySettings, PlaceSettings, RemoveSettings
from certs.upkeep import Contested, Upkeep, patiently
from shared.kube.client import KubeClient
from shared.kube.config import ConfigError
from shared.kube.errors import ApiError
from shared.ops import logs
from shared.ops.running import run_program
from shared.ops.settings import read_settings
from shared.ops.stopping import stop_requested

log = logging.getLogger(__name__)

PROGRAM: Final = "python -m certs"
AGENT: Final = "jobflow-certs"


class Stopped(Exception):
    """It was asked to end before it was done."""


def apply(arguments: Sequence[str]) -> int:
    """Bring the certificates of a cluster up to date; return the exit code."""
    settings = read_settings(ApplySettings, f"{PROGRAM} apply", arguments, os.environ)
    return _run(settings, lambda cluster: _upkeep(settings, cluster).run())


def remove(arguments: Sequence[str]) -> int:
    """Delete what `apply` has made, and the webhook configuration before that; return the exit code."""
    settings = read_settings(RemoveSettings, f"{PROGRAM} remove", arguments, os.environ)

    async def work(cluster: Cluster) -> None:
        removed = await patiently(cluster.remove, settings.patience, SystemRandom())
        log.info("removed", extra={"objects": " ".join(removed) or "nothing"})

    return _run(settings, work)


def _upkeep(settings: ApplySettings, cluster: Cluster) -> Upkeep:
    place = cluster.place
    return Upkeep(
        cluster,
        Wanted(settings.dns_name, authority_name(namespace=place.namespace, secret=place.ca_secret)),
        Waits(timedelta(seconds=settings.bundle_wait), timedelta(seconds=settings.secret_wait)),
        settings.patience,
        SystemRandom(),
    )


def _run(settings: PlaceSettings, work: Callable[[Cluster], Coroutine[Any, Any, None]]) -> int:
    logs.set_up(settings.verbosity)
    try:
        run_program(_connected(settings, work))
    except (ApiError, Contested, Outdated, Stopped) as failed:
        log.error("not done", extra={"reason": str(failed)})
        return 1
    except ConfigError as wrong:
        sys.stderr.write(f"{PROGRAM}: {wrong}\n")
        return 2
    return 0


async def _connected(settings: PlaceSettings, work: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    client = await KubeClient.connect(AGENT, kubeconfig=settings.kubeconfig, master=settings.master)
    place = Place(settings.namespace, settings.secret, settings.ca_secret, settings.webhook_configuration)
    try:
        await _until_stopped(work(Cluster(client, place)))
    finally:
        await client.close()


async def _until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Do the work, and leave it where it is when the process is asked to end: any moment is as good as another."""
    stop = stop_requested()
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        working.cancel()
        await asyncio.wait({working})
        raise Stopped("it was asked to end")
    await working
