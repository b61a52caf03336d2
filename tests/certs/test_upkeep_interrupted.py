"""Runs that are killed, hear no answer, stand still for long or meet another run: the next makes all good."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from certs.cluster import Outdated
from tests.certs.making import CA_WORN, LEAF_WORN, a_ca
from tests.certs.model import CA, SERVER, World
from tests.certs.oracle import complaints, unverified
from tests.certs.worlds import DISASTERS, installed, no_ca, no_server
from tests.simulation.loop import Process

WORK = [
    pytest.param(World, id="the first install"),
    pytest.param(lambda seed: installed(seed, leaf_age=LEAF_WORN), id="a leaf"),
    pytest.param(lambda seed: installed(seed, ca_age=CA_WORN), id="a CA"),
    pytest.param(lambda seed: after(installed(seed), no_ca), id="a CA that was lost"),
    pytest.param(lambda seed: after(installed(seed, ca_age=CA_WORN), no_server), id="a CA, the leaf being lost"),
]


def after(world: World, disaster: Callable[[World], None]) -> World:
    disaster(world)
    return world


def judged(world: World, since: int = 0) -> list[str]:
    """All complaints about a world's end and its way there; one that begins with nothing has no way to judge."""
    world.pass_time(minutes=10)
    began_well = any(change.path == SERVER for change in world.history[:3])
    way = unverified(world.history, world.history[0].at, world.now) if began_well else []
    return complaints(world) + way


@pytest.mark.parametrize("later", [timedelta(seconds=1), timedelta(days=1)], ids=["at once", "the next day"])
@pytest.mark.parametrize("work", WORK)
def test_a_run_that_is_killed_after_any_write_is_made_good_by_the_next(
    work: Callable[[int], World], later: timedelta
) -> None:
    for first in range(1, 6):
        for second in range(first + 1, 7):

            def kill(number: int, process: Process, deaths: tuple[int, ...] = (first, second)) -> None:
                if number in deaths:
                    process.kill()

            world = work(first * 10 + second)
            world.on_write = kill
            for _ in range(2):
                world.run("to be killed")
                world.pass_time(minutes=6)
                world.pass_time(seconds=later.total_seconds())
            world.complete()
            assert judged(world) == [], (first, second)


@pytest.mark.parametrize("work", WORK)
def test_a_write_whose_answer_is_lost_is_not_done_twice(work: Callable[[int], World]) -> None:
    for lost in range(1, 5):
        undisturbed = work(lost)
        undisturbed.complete()
        world = work(lost)
        world.lose = frozenset({lost})
        world.complete()
        assert judged(world) == [], lost
        assert world.writes == undisturbed.writes


@pytest.mark.parametrize("work", WORK)
def test_two_runs_at_once_get_in_nobodys_way(work: Callable[[int], World]) -> None:
    for seed in range(30):
        world = work(seed)
        world.slowest = world.random.choice([0.01, 0.2, 2.0])
        tasks = []
        for i in range(2):
            tasks.append(world.run(f"run {i}")[1])
            world.pass_time(seconds=world.random.choice([0.0, 0.1, 5.0, 70.0]))
        world.pass_time(minutes=15)
        for task in tasks:
            task.result()
        assert judged(world) == [], seed


@pytest.mark.parametrize("work", WORK)
def test_one_that_was_stopped_for_long_does_no_harm_when_it_goes_on(work: Callable[[int], World]) -> None:
    for seed in range(30):
        world = work(seed)
        world.slowest = 1.0
        frozen, _ = world.run("frozen")
        world.pass_time(seconds=world.random.uniform(0, 8))
        frozen.freeze()
        if seed % 2:
            world.run("meanwhile")
        world.pass_time(seconds=world.random.choice([1, 20, 400]))
        if seed % 3 == 0:
            no_ca(world)
            world.run("anew")
            world.pass_time(seconds=world.random.choice([1, 70, 400]))
        world.loop.thaw(frozen)
        world.pass_time(minutes=15)
        world.complete()
        assert judged(world) == [], seed


def test_what_was_seen_long_ago_is_not_acted_on() -> None:
    world = installed()
    no_ca(world)
    process, cluster = world.cluster("late")

    async def act() -> None:
        looked = await cluster.look()
        await asyncio.sleep(11)
        await cluster.store_authority(looked, a_ca())

    task = world.loop.program(process, act())
    world.pass_time(minutes=1)
    with pytest.raises(Outdated):
        task.result()
    assert CA not in world.objects


@pytest.mark.parametrize("seed", range(40))
def test_years_with_disasters_and_deaths_in_them_are_survived(seed: int) -> None:
    """Each day a run, on a machine whose clock is off; often it dies, or two run, or somebody breaks something."""
    chance = Random(f"years {seed}")
    world = installed(seed, ca_age=CA_WORN - timedelta(days=chance.randrange(20)))

    def die(number: int, process: Process) -> None:
        if chance.random() < 0.3:
            process.kill()

    world.on_write = die
    for _ in range(40):
        for _ in range(chance.choice([1, 1, 1, 2])):
            world.run(f"{world.now}", skew=timedelta(minutes=chance.uniform(-5, 5)))
            world.pass_time(seconds=chance.uniform(0, 200))
        if chance.random() < 0.15:
            chance.choice(DISASTERS[:-2])(world)
        world.pass_time(hours=chance.uniform(20, 28))
    world.on_write = lambda number, process: None
    world.complete()
    assert judged(world) == []
