"""Requests go out at the rate that was set, and not before the time that the server asked for."""

import asyncio

import pytest

from shared.kube.errors import TooManyRequests, Unavailable
from shared.kube.pacing import Gates, Rate

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


async def moments(rate: Rate, number: int) -> list[float]:
    began, turns = now(), []

    async def one() -> None:
        await rate.turn()
        turns.append(round(now() - began, 3))

    await asyncio.gather(*(one() for _ in range(number)))
    return turns


async def test_without_a_rate_nobody_waits() -> None:
    assert await moments(Rate(0, 1), 100) == [0] * 100


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    assert await moments(Rate(10, 3), 6) == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_quiet_time_earns_one_burst_and_no_more() -> None:
    rate = Rate(10, 3)
    await moments(rate, 3)
    await asyncio.sleep(60)
    assert await moments(rate, 5) == [0, 0, 0, 0.1, 0.2]


async def send(gates: Gates, verb: str = "create", error: Exception | None = None, took: float = 0) -> str:
    """One request, and what became of it."""
    try:
        async with gates.passing(verb, "jobs"):
            await asyncio.sleep(took)
            if error:
                raise error
            return "sent"
    except TooManyRequests as refusal:
        return f"held back for {refusal.retry_after:.3g}" if refusal.reason == "HeldBack" else "refused"
    except Unavailable:
        return "failed"


def busy(seconds: float) -> TooManyRequests:
    return TooManyRequests("busy", status=429, retry_after=seconds)


async def test_no_request_of_the_kind_is_sent_while_the_server_asks_to_wait() -> None:
    gates = Gates()
    assert await send(gates, error=busy(10)) == "refused"
    assert await send(gates) == "held back for 10"
    assert await send(gates, "get") == "sent"
    await asyncio.sleep(9.9)
    assert await send(gates) == "held back for 0.25"
    await asyncio.sleep(0.2)
    assert await send(gates) == "sent"
    assert await send(gates) == "sent"


async def test_after_the_wait_a_single_request_tries_before_all_others() -> None:
    gates = Gates()
    await send(gates, error=busy(1))
    await asyncio.sleep(1.1)
    outcomes = await asyncio.gather(*(send(gates, took=1) for _ in range(5)))
    assert sorted(outcomes) == ["held back for 0.25"] * 4 + ["sent"]
    assert await asyncio.gather(*(send(gates) for _ in range(5))) == ["sent"] * 5


async def test_a_try_that_is_refused_again_makes_all_wait_again() -> None:
    gates = Gates()
    await send(gates, error=busy(1))
    await asyncio.sleep(1.1)
    assert await send(gates, error=busy(5)) == "refused"
    assert await send(gates) == "held back for 5"


async def test_a_try_that_is_cancelled_leaves_the_next_one_to_another() -> None:
    gates = Gates()
    await send(gates, error=busy(1))
    await asyncio.sleep(1.1)
    trying = asyncio.create_task(send(gates, took=60))
    await asyncio.sleep(1)
    trying.cancel()
    await asyncio.gather(trying, return_exceptions=True)
    assert await send(gates) == "sent"


async def test_any_error_with_a_time_to_wait_counts_and_one_without_does_not() -> None:
    gates = Gates()
    assert await send(gates, error=Unavailable("down", status=503)) == "failed"
    assert await send(gates, error=Unavailable("down", status=503, retry_after=3)) == "failed"
    assert await send(gates) == "held back for 3"


async def test_requests_that_were_under_way_do_not_shorten_the_wait() -> None:
    gates = Gates()
    slow = asyncio.create_task(send(gates, took=1))
    also = asyncio.create_task(send(gates, took=2, error=busy(1)))
    await asyncio.sleep(0)
    await send(gates, error=busy(10))
    assert await slow == "sent"
    assert await also == "refused"
    assert await send(gates) == "held back for 8"
