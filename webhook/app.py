"""Puts the webhook together, runs it, and ends it without failing a request."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from random import Random
from typing import Any

from shared.kube.client import KubeClient
from shared.kube.client import Limits as KubeLimits
from shared.kube.metrics import KubeMetrics
from shared.ops import health
from shared.ops.metrics import new_registry
from shared.ops.stopping import stop_requested
from webhook.access import AccessLog
from webhook.admit import Known
from webhook.allocator import give_large_blocks_back
from webhook.certificates import Certificates, Files
from webhook.connections import Limits, Listener
from webhook.facts import Templates, Users
from webhook.metrics import Metrics
from webhook.server import Server
from webhook.settings import WebhookSettings

log = logging.getLogger(__name__)


async def run(settings: WebhookSettings) -> None:
    """Serve until the process is asked to stop. Raises ConfigError, and OSError where an address cannot be had."""
    stop = stop_requested()
    give_large_blocks_back()
    registry = new_registry()
    metrics = Metrics(registry)
    certificates = Certificates(
        Files(settings.tls_cert_file, settings.tls_private_key_file, settings.client_ca_file),
        on_change=lambda served: metrics.certificate_expires(served.expires.timestamp()),
        on_failure=metrics.reload_failed,
    )
    certificates.refresh()
    import_module("networkx")  # names the loops; half a second, for which nobody should have to wait later
    async with AsyncExitStack() as stack:
        client = await KubeClient.connect(
            "jobflow-webhook",
            kubeconfig=settings.kubeconfig,
            master=settings.master,
            limits=KubeLimits(settings.kube_api_qps, settings.kube_api_burst),
            metrics=KubeMetrics(registry),
        )
        stack.push_async_callback(client.close)
        templates = Templates(client, Random())  # noqa: S311 - spreads out retries
        server = Server(
            lambda: Known(settings.max_flows, templates.now()),
            Users(client).of,
            metrics,
            AccessLog(enabled=settings.verbosity > 0),
            clients=settings.clients,
        )
        listener = Listener(server.protocol, lambda: certificates.context, Limits())
        metrics.count_connections(lambda: listener.connections)

        checks = health.Health()
        checks.ready("certificate", certificates.not_ready)
        checks.ready("not stopping", lambda: "asked to stop" if stop.is_set() else None)
        await stack.enter_async_context(
            health.serve(checks, registry, settings.healthz_address, settings.metrics_address)
        )
        host, port = listener.listen(settings.bind_address, settings.port)
        log.info("serving", extra={"what": "admission", "address": f"{host}:{port}"})
        stack.push_async_callback(listener.close)
        await stack.enter_async_context(_running(certificates.follow(), templates.follow()))
        gc.collect()
        gc.freeze()  # what has been built so far stays: the collector need not look at it again and again

        await stop.wait()
        await drain(server, listener, settings.shutdown_delay, settings.shutdown_grace)
    log.info("stopped")


async def drain(server: Server, listener: Listener, delay: float, grace: float) -> None:
    """End without failing a request.

    For `delay` seconds others go on sending requests here, for they do not know yet; each is answered, and told to
    connect anew. Then what is in work has `grace` seconds to end.
    """
    server.draining = True
    await asyncio.sleep(delay)
    await listener.finish(grace)
    await server.close()


@asynccontextmanager
async def _running(*work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run these beside the block. They do not end by themselves; if one fails, the program does."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
