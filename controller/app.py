"""Put the controller together: informers wake queues, queues feed workers, workers run the reconcilers.

Everything that differs between a cluster and a simulation comes in as an argument: the client, the clocks, chance.
"""

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from controller.candidacy import candidate, end_when_continued_too_late, instance
from controller.cluster import KubeCluster
from controller.jobflow import triggers
from controller.jobflow.look import Caches
from controller.jobflow.metrics import EdgeTimes, JobFlowGauges, VolcanosCounters
from controller.jobflow.reconcile import JobFlowReconciler
from controller.jobtemplate import status as jobtemplate
from controller.jobtemplate.reconcile import JobTemplateReconciler
from controller.narration import EventNarrator, StatusWriters
from controller.runtime.events import EventMetrics, Events
from controller.runtime.informer import Informer
from controller.runtime.leader import Leader, LeaseLost
from controller.runtime.metrics import InformerMetrics, QueueMetrics, RuntimeMetrics, WorkMetrics
from controller.runtime.resync import resync
from controller.runtime.turns import Turns
from controller.runtime.worker import Reconcile, Workers
from controller.runtime.workqueue import Priority, WorkQueue
from controller.settings import ControllerSettings
from shared.api.job import Job
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key
from shared.kube.client import KubeClient, Limits
from shared.kube.metrics import KubeMetrics
from shared.kube.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from shared.ops.health import Health, serve
from shared.ops.metrics import new_registry
from shared.ops.stopping import stop_requested

log = logging.getLogger(__name__)

PROGRAM = "jobflow-controller"

JOBFLOW_PAGE = 100
"""JobFlows per page of a list: with their status they may take a megabyte each."""


LAST_EVENTS = 0.5
"""Seconds that writing the last Events may take at the end."""


class Controller:
    """The controller in one process, all but what speaks to operators."""

    def __init__(
        self,
        client: KubeClient,
        settings: ControllerSettings,
        registry: CollectorRegistry,
        *,
        random: Random,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        leader: Leader | None = None,
        when_synced: Callable[[], None] = lambda: None,
    ) -> None:
        """Without a `leader` there is no election: this is the only controller."""
        self._settings = settings
        self._leader = leader
        self._known, self._leads = asyncio.Event(), asyncio.Event()
        self._random = random
        self._when_synced = when_synced
        self._runtime_metrics = RuntimeMetrics(registry)
        writes = Turns(settings.concurrent_writes)
        cluster = KubeCluster(client, leader.check if leader else None)

        self._know(client)
        self._events = Events(
            client.apart(),
            controller=PROGRAM,
            instance=leader.identity if leader else instance(),
            random=random,
            clock=clock,
            monotonic=monotonic,
            metrics=EventMetrics(registry),
            guard=leader.check if leader else None,
        )
        self.narrator = EventNarrator(self._events)
        self._status_writers = StatusWriters(client, cluster.own_writes, self.narrator, PROGRAM, monotonic)
        flows = JobFlowReconciler(
            Caches(self._jobflows.cache, self._templates.cache, self._jobs.cache),
            cluster,
            writes=writes,
            width=settings.concurrent_writes,
            clock=clock,
            monotonic=monotonic,
            chance=random,
            counters=VolcanosCounters(registry),
            edges=EdgeTimes(registry),
            narrator=self.narrator,
            lag=InformerMetrics(registry),
        )
        JobFlowGauges(registry, self._jobflows.cache)
        self._hurry = flows.hurry
        templates = JobTemplateReconciler(
            self._templates.cache, self._jobs.cache, cluster, writes=writes, monotonic=monotonic
        )
        self._flow_queue, flow_workers = self._queue("jobflow", flows.reconcile, settings.workers)
        self._template_queue, template_workers = self._queue("jobtemplate", templates.reconcile, 1)
        self.workers = (flow_workers, template_workers)

        self._wake_by(flows)

    def _know(self, client: KubeClient) -> None:
        """Make the informers: what this controller knows of the cluster."""
        only, random = self._settings.watched_namespaces, self._random
        self._jobflows = Informer(
            client,
            JOBFLOWS,
            random,
            indexes={triggers.TEMPLATE: triggers.template_keys},
            namespaces=only,
            page=JOBFLOW_PAGE,
        )
        self._templates = Informer(client, JOBTEMPLATES, random, namespaces=only)
        self._jobs = Informer(
            client,
            JOBS,
            random,
            indexes={triggers.OWNER: triggers.owner_uids, jobtemplate.TEMPLATE: jobtemplate.template_keys},
            namespaces=only,
        )
        self.informers: Mapping[str, Informer[Any]] = {
            "jobflows": self._jobflows,
            "jobtemplates": self._templates,
            "jobs": self._jobs,
        }

    def _wake_by(self, flows: JobFlowReconciler) -> None:
        """Let the informers wake the queues."""
        self._jobflows.wake(self._flow_queue, self._status_writers.on_jobflow)
        self._jobflows.wake(self._flow_queue, flows.on_jobflow)
        self._jobs.wake(self._flow_queue, flows.on_job)
        self._templates.wake(self._flow_queue, flows.on_jobtemplate)
        self._jobs.wake(self._template_queue, _templates_of_job)
        self._templates.wake(self._template_queue, _templates_of_template)

    def report_to(self, health: Health) -> None:
        """Add what is to be known of this controller's health."""
        for name, informer in self.informers.items():
            health.ready(f"{name} known", informer.trouble)
        for name, workers in zip(("jobflow", "jobtemplate"), self.workers, strict=True):
            health.alive(f"{name} workers", workers.stuck)
        if self._leader:
            health.alive("leader election", self._leader.trouble)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`, then end what is in hand. If one of the loops fails, all end and its error is raised.

        Where there is an election, stand by until this replica leads. Raises LeaseLost when it leads no longer.
        """
        try:
            await self._run(stop)
        except BaseExceptionGroup as failed:
            lost, others = failed.split(LeaseLost)
            if lost is None or others is not None:
                raise
            raise LeaseLost(*_first(lost).args) from None

    async def _run(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(), name="work")
            watching = [group.create_task(informer.run(), name=name) for name, informer in self.informers.items()]
            election = group.create_task(self._stand(), name="leader election")
            await stop.wait()
            self._hurry()
            await asyncio.gather(*(workers.stop() for workers in self.workers))
            for each in (work, *watching):
                each.cancel()
            await asyncio.wait([work])
            if self._leads.is_set():
                await self._events.finish(LAST_EVENTS)
            # The lease goes last: until then it is renewed, and nobody else writes.
            election.cancel()
            await asyncio.wait([election])
            if self._leader:
                await self._leader.release()

    async def _stand(self) -> None:
        if self._leader:
            await self._leader.acquire(self._known)
        self._leads.set()
        if self._leader:
            await self._leader.hold()

    async def _work(self) -> None:
        for informer in self.informers.values():
            await informer.synced.wait()
        self._when_synced()
        self._known.set()
        await self._leads.wait()
        log.info("working", extra={"jobflows": len(self._jobflows.cache), "jobs": len(self._jobs.cache)})
        period = self._settings.resync_period
        async with asyncio.TaskGroup() as group:
            for workers in self.workers:
                group.create_task(workers.run(), name="workers")
            group.create_task(self._events.run(), name="events")
            group.create_task(self._status_writers.run(), name="writers of the status")
            if period > 0:
                group.create_task(resync(self._jobflows.cache, self._flow_queue, period), name="resync of JobFlows")
                group.create_task(resync(self._templates.cache, self._template_queue, period), name="resync")

    def _queue(self, name: str, reconcile: Reconcile[Key], workers: int) -> tuple[WorkQueue[Key], Workers[Key]]:
        queue = WorkQueue[Key](self._random, QueueMetrics(self._runtime_metrics, name))
        return queue, Workers(name, queue, reconcile, WorkMetrics(self._runtime_metrics, name), workers)


def _templates_of_job(old: Job | None, new: Job | None) -> Iterator[tuple[Key, Priority]]:
    return ((key, Priority.STARTED) for key in jobtemplate.on_job(old, new))


def _templates_of_template(old: JobTemplate | None, new: JobTemplate | None) -> Iterator[tuple[Key, Priority]]:
    return ((key, Priority.STARTED) for key in jobtemplate.on_jobtemplate(old, new))


def _first(failed: BaseExceptionGroup[LeaseLost]) -> BaseException:
    error: BaseException = failed
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def spare_the_collector() -> None:
    """Let the garbage collector never look again through what is there now: most of it lives as long as the process."""
    gc.collect()
    gc.freeze()


async def run(settings: ControllerSettings) -> None:
    """Run the controller as a program, until a signal ends it.

    Raises ConfigError where it is not said which cluster, OSError where an address cannot be listened at, and LeaseLost
    where another replica may work from now on.
    """
    stop = stop_requested()
    registry = new_registry()
    health = Health()
    client = await KubeClient.connect(
        PROGRAM,
        kubeconfig=settings.kubeconfig,
        master=settings.master,
        proxy_from_environment=settings.kube_api_proxy_from_env,
        limits=Limits(settings.kube_api_qps, settings.kube_api_burst),
        metrics=KubeMetrics(registry),
        environ=os.environ,
    )
    random = Random()  # noqa: S311 - for jitter
    leader = candidate(settings, client, registry, random)
    if leader:
        end_when_continued_too_late(leader)
    try:
        controller = Controller(
            client,
            settings,
            registry,
            random=random,
            clock=lambda: datetime.now(UTC),
            monotonic=time.monotonic,
            leader=leader,
            when_synced=spare_the_collector,
        )
        controller.report_to(health)
        async with serve(health, registry, settings.healthz_address, settings.metrics_address):
            await controller.run(stop)
    finally:
        await client.close()
    log.info("stopped")
