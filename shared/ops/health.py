"""The plain HTTP side of a program: /healthz and /readyz at one address, /metrics at another or the same.

    health = Health()
    health.ready("jobs listed", lambda: None if jobs.synced else "the first list is not complete")
    async with serve(health, registry, settings.healthz_address, settings.metrics_address):
        ...

The answers read as the API server's own do, so that a person who looks sees which check fails and why.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from shared.ops.addresses import Address

log = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""None where all is well, otherwise the reason in a few words."""

SHUTDOWN_GRACE: Final = 0.5


class Health:
    """Named checks: those of liveness, after whose failure a restart helps, and those of readiness."""

    def __init__(self) -> None:
        self._alive: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}

    def alive(self, name: str, check: Check) -> None:
        """Let /healthz ask `check`. It must not depend on other servers: a restart does not mend them."""
        self._alive[name] = check

    def ready(self, name: str, check: Check) -> None:
        """Let /readyz ask `check`."""
        self._ready[name] = check

    def failures_of_liveness(self) -> Mapping[str, str]:
        """The checks of liveness that fail, with their reasons."""
        return _failing(self._alive)

    def failures_of_readiness(self) -> Mapping[str, str]:
        """The checks of readiness that fail, with their reasons."""
        return _failing(self._ready)

    async def answer_alive(self, _: web.Request) -> web.Response:
        """GET /healthz."""
        return _answer("healthz", self._alive)

    async def answer_ready(self, _: web.Request) -> web.Response:
        """GET /readyz."""
        return _answer("readyz", self._ready)


@asynccontextmanager
async def serve(
    health: Health, registry: CollectorRegistry, healthz: Address, metrics: Address
) -> AsyncIterator[Mapping[str, Address]]:
    """Serve until the block is left. Yields where `healthz` and `metrics` are really served, which tells a port 0.

    Raises OSError where an address cannot be had.
    """
    probes = web.Application()
    probes.router.add_get("/healthz", health.answer_alive)
    probes.router.add_get("/readyz", health.answer_ready)
    shared = healthz == metrics
    numbers = probes if shared else web.Application()
    numbers.router.add_get("/metrics", make_aiohttp_handler(registry))
    async with AsyncExitStack() as stack:
        bound = {"healthz": await _listen(stack, probes, healthz)}
        bound["metrics"] = bound["healthz"] if shared else await _listen(stack, numbers, metrics)
        for what, address in bound.items():
            log.info("serving", extra={"what": what, "address": str(address)})
        yield MappingProxyType(bound)


async def _listen(stack: AsyncExitStack, app: web.Application, address: Address) -> Address:
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_GRACE)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, address.host or None, address.port).start()
    host, port = runner.addresses[0][:2]
    return Address(host, port)


def _failing(checks: Mapping[str, Check]) -> Mapping[str, str]:
    return {name: reason for name, check in checks.items() if (reason := check()) is not None}


def _answer(what: str, checks: Mapping[str, Check]) -> web.Response:
    failing = _failing(checks)
    lines = [f"[-]{name} failed: {failing[name]}" if name in failing else f"[+]{name} ok" for name in checks]
    lines.append(f"{what} check failed" if failing else f"{what} check passed")
    return web.Response(status=503 if failing else 200, text="\n".join(lines) + "\n")
