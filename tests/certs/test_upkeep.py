"""Certificates over years, in simulated time: what is served is always trusted, whoever dies or comes in between."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest

from certs.cluster import Outdated
from certs.issue import Pair, ServerNames
from certs.pem import bundle_pem, certificates_in, read_certificate
from certs.rotation import Waits
from certs.upkeep import Contested
from shared.kube.errors import NotFound
from tests.certs.making import CA_WORN, LEAF_WORN, SOMEBODY_ELSE, a_ca, a_server, pem
from tests.certs.model import CA, CONFIGURATION, SERVER, WAITS, World, a_configuration
from tests.certs.oracle import complaints, unverified
from tests.simulation.loop import Process

NO_WAIT = timedelta(0)
FOREIGN = a_ca(name=SOMEBODY_ELSE).certificate


def installed(
    seed: int = 0, *, ca_age: timedelta = timedelta(days=1), leaf_age: timedelta = timedelta(days=1)
) -> World:
    """A world in which all is well, but for what has come of age."""
    world = World(seed)
    ca = a_ca(max(ca_age, leaf_age))
    store(world, ca, a_server(ca, leaf_age))
    world.put_bundles(*[bundle_pem([ca.certificate])] * 2)
    world.history.clear()
    for path in (CA, SERVER, CONFIGURATION):
        world.put(path, world.objects[path])
    return world


def store(world: World, ca: Pair, server: Pair) -> None:
    world.put_secret(CA, **dict(zip(("ca_crt", "ca_key"), pem(ca), strict=True)))
    certificate, key = pem(server)
    world.put_secret(SERVER, tls_crt=certificate, tls_key=key, ca_crt=pem(ca)[0])


def authority(world: World) -> bytes:
    return world.data(CA)["ca.crt"]


def test_the_first_install_ends_within_seconds_with_everything_usable() -> None:
    world = World()
    begun = world.now
    _, task = world.run()
    world.pass_time(seconds=10)
    task.result()
    assert world.history[-1].at - begun < timedelta(seconds=5)
    assert complaints(world) == []


def test_what_is_good_is_left_alone() -> None:
    world = installed()
    world.complete()
    assert world.writes == 0


def test_over_seven_years_of_daily_runs_no_replica_is_ever_not_trusted() -> None:
    world = installed()
    begun, authorities = world.now, {authority(world)}
    for day in range(7 * 365):
        world.run(f"day {day}", skew=timedelta(minutes=world.random.uniform(-5, 5)))
        world.pass_time(days=1)
        authorities.add(authority(world))
    assert unverified(world.history, begun, world.now) == []
    assert complaints(world) == []
    assert len(authorities) == 3, "the CA is renewed after 40 months"
    leaves = [change.at for change in world.history if change.path == SERVER]
    ages = [after - before for before, after in pairwise(leaves)]
    assert max(ages) < timedelta(days=62), "a leaf is renewed after two thirds of 90 days"
    assert sum(age < timedelta(days=59) for age in ages[1:]) == 2, "or when there is a new CA"


@pytest.mark.parametrize(
    "waits",
    [
        pytest.param(Waits(NO_WAIT, NO_WAIT), id="no overlap"),
        pytest.param(Waits(NO_WAIT, WAITS.mounted), id="the leaf is switched at once"),
        pytest.param(Waits(WAITS.published, NO_WAIT), id="the old CA is dropped at once"),
        pytest.param(Waits(WAITS.published, timedelta(seconds=100)), id="the slowest replica is not waited for"),
    ],
)
def test_without_the_waits_replicas_are_not_trusted_while_the_ca_turns(waits: Waits) -> None:
    """The control of all tests here: the judge sees it where something can go wrong."""
    world = installed(ca_age=CA_WORN)
    world.complete(waits=waits)
    assert complaints(world) == [], "in the end it is all the same"
    world.pass_time(minutes=5)
    assert unverified(world.history, world.history[0].at, world.now)


def test_a_server_certificate_is_renewed_at_once_and_under_the_same_ca() -> None:
    world = installed(leaf_age=LEAF_WORN)
    ca = authority(world)
    _, task = world.run()
    world.pass_time(seconds=10)
    assert task.done()
    assert (world.writes, authority(world)) == (1, ca)
    assert complaints(world) == []


def test_a_whole_rotation_of_the_ca_takes_one_run_of_some_minutes() -> None:
    world = installed(ca_age=CA_WORN)
    begun = world.now
    world.complete()
    assert [change.path for change in world.history[3:]] == [CA, CONFIGURATION, SERVER, CONFIGURATION]
    assert world.history[-1].at - begun < WAITS.published + WAITS.mounted + timedelta(seconds=10)
    assert complaints(world) == []


# Disasters: what each does to a world in which all is well. It leaves the bundles, so that nobody is ever not trusted.


def nothing_but_age(world: World) -> None:
    """The CA has come of age."""


def no_ca(world: World) -> None:
    world.put(CA, None)


def no_key_of_the_ca(world: World) -> None:
    world.put_secret(CA, ca_crt=authority(world))


def another_key_of_the_ca(world: World) -> None:
    world.put_secret(CA, ca_crt=authority(world), ca_key=pem(a_ca())[1])


def a_ca_from_somewhere(world: World) -> None:
    certificate, key = pem(a_ca())
    world.put_secret(CA, ca_crt=certificate, ca_key=key)


def no_server(world: World) -> None:
    world.put(SERVER, None)


def half_a_server(world: World) -> None:
    world.put_secret(SERVER, **{k.replace(".", "_"): v[: len(v) // 2] for k, v in world.data(SERVER).items()})


def neither(world: World) -> None:
    no_ca(world)
    no_server(world)


def a_ca_beside_ours(world: World) -> None:
    world.put_bundles(*[bundle + bundle_pem([FOREIGN]) for bundle in world.bundles()])


def rubbish_in_the_bundles(world: World) -> None:
    world.put_bundles(*[b"# ours\n" + bundle + b"-----BEGIN CERTIFICATE-----\nMIIB\n" for bundle in world.bundles()])


DISASTERS: list[Callable[[World], None]] = [
    no_ca,
    no_key_of_the_ca,
    another_key_of_the_ca,
    a_ca_from_somewhere,
    no_server,
    half_a_server,
    neither,
    a_ca_beside_ours,
    rubbish_in_the_bundles,
]


@pytest.mark.parametrize("age", [timedelta(days=1), CA_WORN], ids=["fresh", "worn"])
@pytest.mark.parametrize("disaster", [nothing_but_age, *DISASTERS])
def test_after_any_disaster_all_is_well_again_and_nobody_was_not_trusted(
    disaster: Callable[[World], None], age: timedelta
) -> None:
    world = installed(ca_age=age)
    disaster(world)
    world.complete()
    foreign = [FOREIGN] if disaster is a_ca_beside_ours else []
    assert complaints(world, foreign) == []
    world.pass_time(days=1)
    assert unverified(world.history, world.history[0].at, world.now) == []
    before = world.writes
    world.complete()
    assert world.writes == before, "a second run finds nothing left to do"


def test_bundles_that_were_emptied_are_filled_at_once_without_another_certificate() -> None:
    world = installed()
    server = world.data(SERVER)
    world.put_bundles(b"", b"")
    _, task = world.run()
    world.pass_time(seconds=5)
    assert task.done()
    assert complaints(world) == []
    assert world.data(SERVER) == server


def test_what_is_served_is_trusted_again_at_once_even_if_its_ca_is_lost_as_well() -> None:
    world = installed()
    old = read_certificate(authority(world))
    world.put_bundles(b"", b"")
    no_ca(world)
    world.run()
    world.pass_time(seconds=5)
    assert all(old in certificates_in(bundle) for bundle in world.bundles())
    world.pass_time(hours=1)
    assert complaints(world) == []


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


def test_another_name_is_another_certificate_under_the_same_ca_at_once() -> None:
    world = installed()
    ca, names = authority(world), ServerNames(("elsewhere.flow.svc",))
    _, task = world.run(names=names)
    world.pass_time(seconds=5)
    assert task.done()
    assert (world.writes, authority(world)) == (1, ca)


def test_without_a_webhook_configuration_nothing_is_issued() -> None:
    world = World()
    world.put(CONFIGURATION, None)
    _, task = world.run()
    world.pass_time(minutes=5)
    with pytest.raises(NotFound):
        task.result()
    assert set(world.objects) == set()


def test_a_configuration_that_comes_a_little_later_is_waited_for() -> None:
    world = World()
    world.put(CONFIGURATION, None)
    _, task = world.run()
    world.pass_time(seconds=30)
    world.put(CONFIGURATION, a_configuration())
    world.pass_time(seconds=10)
    task.result()
    assert complaints(world) == []


def test_what_others_have_put_into_the_objects_stays() -> None:
    world = installed(ca_age=CA_WORN)
    secret = world.objects[SERVER]
    secret["metadata"]["labels"] = {"of": "somebody"}
    secret["type"] = "kubernetes.io/tls"
    before = world.objects[CONFIGURATION]
    world.complete()
    assert world.objects[SERVER]["metadata"]["labels"] == {"of": "somebody"}
    assert world.objects[SERVER]["type"] == "kubernetes.io/tls"
    after = world.objects[CONFIGURATION]
    for configuration in (before, after):
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"].pop("caBundle")
        configuration["metadata"].pop("resourceVersion")
    assert after == before


def test_with_somebody_who_undoes_everything_it_gives_up() -> None:
    world = World()

    def undo(number: int, process: Process) -> None:
        if world.history[-1].path == CONFIGURATION:
            world.put_bundles(b"", b"")

    world.on_write = undo
    _, task = world.run()
    world.pass_time(minutes=5)
    with pytest.raises(Contested):
        task.result()


def test_no_key_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = installed(ca_age=CA_WORN)
    half_a_server(world)
    with caplog.at_level(logging.DEBUG):
        world.complete()
    said = " ".join(str(vars(record)) for record in caplog.records)
    assert "server certificate issued" in said
    for held in (*world.data(CA).values(), *world.data(SERVER).values()):
        assert not any(line in said for line in held.decode().splitlines() if len(line) > 20)


def test_remove_leaves_nothing_and_takes_the_configuration_first() -> None:
    world = installed()
    _, task = world.remove()
    world.pass_time(seconds=5)
    assert len(task.result()) == 3
    assert world.objects == {}
    assert [change.path for change in world.history if change.new is None] == [CONFIGURATION, SERVER, CA]


def test_remove_that_finds_nothing_is_content() -> None:
    world = World()
    for _ in range(2):
        _, task = world.remove()
        world.pass_time(seconds=5)
    assert task.result() == []


@pytest.mark.parametrize("seed", range(20))
def test_a_daily_run_beside_remove_brings_nothing_back(seed: int) -> None:
    world = installed(seed, ca_age=CA_WORN)
    world.run("daily")
    world.pass_time(seconds=world.random.uniform(0, 3))
    world.remove()
    world.pass_time(minutes=10)
    assert world.objects == {}
