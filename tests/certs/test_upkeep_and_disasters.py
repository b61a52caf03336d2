"""Certificates over years, in simulated time: what is served is always trusted, and after any disaster it is again."""

import logging
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from certs.issue import ServerNames
from certs.pem import certificates_in, read_certificate
from certs.rotation import Waits
from tests.certs.making import CA_WORN, LEAF_WORN
from tests.certs.model import CA, CONFIGURATION, SERVER, WAITS, World
from tests.certs.oracle import complaints, unverified
from tests.certs.worlds import (
    DISASTERS,
    FOREIGN,
    a_ca_beside_ours,
    authority,
    half_a_server,
    installed,
    no_ca,
    nothing_but_age,
)

NO_WAIT = timedelta(0)


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


def test_another_name_is_another_certificate_under_the_same_ca_at_once() -> None:
    world = installed()
    ca, names = authority(world), ServerNames(("elsewhere.flow.svc",))
    _, task = world.run(names=names)
    world.pass_time(seconds=5)
    assert task.done()
    assert (world.writes, authority(world)) == (1, ca)


def test_no_key_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = installed(ca_age=CA_WORN)
    half_a_server(world)
    with caplog.at_level(logging.DEBUG):
        world.complete()
    said = " ".join(str(vars(record)) for record in caplog.records)
    assert "server certificate issued" in said
    for held in (*world.data(CA).values(), *world.data(SERVER).values()):
        assert not any(line in said for line in held.decode().splitlines() if len(line) > 20)


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
