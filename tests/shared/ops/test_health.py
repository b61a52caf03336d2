"""/healthz and /readyz say which check fails and why; /metrics lies beside them or elsewhere."""

import socket

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from shared.ops.addresses import Address
from shared.ops.health import Health, serve
from shared.ops.metrics import new_registry

FREE = Address("127.0.0.1", 0)


async def get(address: Address, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as answer:
        return answer.status, await answer.text()


async def test_each_check_is_told_by_name_and_a_failing_one_by_its_reason() -> None:
    health, trouble = Health(), ["not listed yet"]
    health.ready("jobs known", lambda: trouble[0] if trouble else None)
    health.ready("jobflows known", lambda: None)
    async with serve(health, CollectorRegistry(), FREE, Address("127.0.0.1", 0)) as bound:
        status, text = await get(bound["healthz"], "/readyz")
        assert status == 503
        assert text == "[-]jobs known failed: not listed yet\n[+]jobflows known ok\nreadyz check failed\n"
        trouble.clear()
        assert (await get(bound["healthz"], "/readyz"))[0] == 200


async def test_liveness_asks_only_its_own_checks() -> None:
    health = Health()
    health.ready("jobs known", lambda: "no API server")
    health.alive("workers", lambda: None)
    async with serve(health, CollectorRegistry(), FREE, FREE) as bound:
        assert await get(bound["healthz"], "/healthz") == (200, "[+]workers ok\nhealthz check passed\n")
        health.alive("workers", lambda: "a pass has taken 900 s")
        assert (await get(bound["healthz"], "/healthz"))[0] == 503


async def test_one_address_may_serve_both() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = Address(*free.getsockname())
    async with serve(Health(), CollectorRegistry(), address, address) as bound:
        assert bound["healthz"] == bound["metrics"] == address
        assert (await get(address, "/healthz"))[0] == 200
        assert (await get(address, "/metrics"))[0] == 200


async def test_two_addresses_serve_each_its_own() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = Address(*free.getsockname())
    async with serve(Health(), registry, FREE, address) as bound:
        assert (await get(bound["healthz"], "/metrics"))[0] == 404
        assert (await get(bound["metrics"], "/readyz"))[0] == 404
        assert "things_total 3.0" in (await get(bound["metrics"], "/metrics"))[1]


async def test_an_address_in_use_is_an_error_and_nothing_stays_behind() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="address already in use"):
            async with serve(Health(), CollectorRegistry(), FREE, Address(*taken.getsockname())):
                pytest.fail("it cannot be served")


def test_the_registry_has_the_process_and_the_version_and_no_second_series_for_each_counter() -> None:
    registry = new_registry()
    Counter("things", "Things.", registry=registry)
    names = {sample.name for metric in registry.collect() for sample in metric.samples}
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "jobflow_build_info"} <= names
    assert "things_created" not in names
