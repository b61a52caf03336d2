"""Turns: never too many, in order, none lost, and some before others."""

import asyncio
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.turns import Turns


async def test_those_who_wait_are_served_in_order_and_the_ones_that_go_first_before_the_rest() -> None:
    turns, served = Turns(1), list[str]()

    async def one(name: str) -> None:
        async with turns.of("all"):
            served.append(name)

    async def first(name: str) -> None:
        async with turns.first():
            served.append(name)

    async with turns.of("all"):
        waiting = [asyncio.ensure_future(it) for it in (one("a"), one("b"), first("c"), first("d"))]
        await asyncio.sleep(0)
        assert turns.locked()
    await asyncio.gather(*waiting)
    assert served == ["c", "d", "a", "b"]
    assert not turns.locked()


async def test_whoever_wants_a_thousand_turns_keeps_none_waiting_that_wants_one() -> None:
    turns, served = Turns(1), list[str]()

    async def one(name: str) -> None:
        async with turns.of(name):
            served.append(name)

    async with turns.of("wide"):
        waiting = [asyncio.ensure_future(one("wide")) for _ in range(1000)]
        await asyncio.sleep(0)
        waiting += [asyncio.ensure_future(one(name)) for name in ("small", "middling", "middling")]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert served[:6] == ["wide", "small", "middling", "wide", "middling", "wide"]
    assert len(served) == 1003


async def test_a_turn_that_comes_while_its_waiter_is_cancelled_goes_to_the_next() -> None:
    turns, served = Turns(1), list[str]()

    async def one(name: str) -> None:
        async with turns.of("all"):
            served.append(name)

    async with turns.of("all"):
        gone, stays = asyncio.ensure_future(one("gone")), asyncio.ensure_future(one("stays"))
        await asyncio.sleep(0)
    gone.cancel()  # its turn has been given to it, and it has not run since
    await asyncio.wait_for(stays, 1)
    assert served == ["stays"]
    assert not turns.locked()


@given(seed=st.integers(0, 2**32), number=st.integers(1, 4))
async def test_never_too_many_have_a_turn_and_none_is_lost(seed: int, number: int) -> None:
    random, turns, inside = Random(seed), Turns(number), 0

    async def work(owner: str) -> None:
        nonlocal inside
        async with turns.of(owner) if owner else turns.first():
            inside += 1
            assert inside <= number
            try:
                for _ in range(random.randrange(3)):
                    await asyncio.sleep(0)
            finally:
                inside -= 1

    tasks = []
    for _ in range(40):
        tasks.append(asyncio.ensure_future(work(random.choice(["a", "b", "c", ""]))))
        for _ in range(random.randrange(3)):
            await asyncio.sleep(0)
        if random.random() < 0.4:
            random.choice(tasks).cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(it is None or isinstance(it, asyncio.CancelledError) for it in done), done
    for _ in range(number):
        assert not turns.locked()
        await turns.of("a").__aenter__()
    assert turns.locked()
