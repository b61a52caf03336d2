"""Room for large bodies: bounded in all, and never blocked by bodies that are all half there."""

import asyncio

import pytest

from webhook.room import Room, Share
from webhook.turns import NoTurnError


async def read(share: Share, size: int, chunk: int = 10) -> None:
    """Take as much as a body of that size, bit by bit, as it comes."""
    for _ in range(0, size, chunk):
        await share.take(chunk)
        await asyncio.sleep(0)


async def test_what_fits_is_taken_at_once_and_given_back_at_the_end() -> None:
    room = Room(100, wait=0)
    with room.share() as one, room.share() as other:
        await read(one, 60)
        await read(other, 40)
        assert room.held == 100
    assert room.held == 0


async def test_many_bodies_that_come_at_once_are_all_read_one_after_the_other() -> None:
    room = Room(100, wait=60)
    most = 0

    async def one() -> None:
        nonlocal most
        with room.share() as share:
            await read(share, 70)
            most = max(most, room.held)

    await asyncio.gather(*(one() for _ in range(50)))
    assert room.held == 0
    assert 100 < most <= 170, "a single one goes beyond"


async def test_where_there_is_no_room_in_time_there_is_no_turn() -> None:
    room = Room(100, wait=0.05)
    with room.share() as stalled, room.share() as first, room.share() as second:
        await stalled.take(100)
        await first.take(10)  # what goes first goes beyond
        with pytest.raises(NoTurnError):
            await second.take(10)
        assert room.held == 110
    assert room.held == 0


async def test_whoever_gives_up_is_not_waited_for() -> None:
    room = Room(100, wait=60)
    with room.share() as last:
        with room.share() as stalled, room.share() as first, room.share() as gone:
            await stalled.take(100)
            await first.take(10)
            waiting = [asyncio.create_task(share.take(10)) for share in (gone, last)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.wait(waiting[:1])
        await waiting[1]
        assert room.held == 10
    assert room.held == 0


async def test_a_body_that_announces_much_and_sends_little_takes_little() -> None:
    room = Room(100, wait=0)
    with room.share() as slow, room.share() as other:
        await slow.take(1)
        await other.take(99)
        assert room.held == 100
