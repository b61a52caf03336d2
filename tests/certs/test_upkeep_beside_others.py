"""Upkeep beside others: who brings the configuration, writes into the objects, undoes everything or removes it all."""

import pytest

from certs.upkeep import Contested
from shared.kube.errors import NotFound
from tests.certs.making import CA_WORN
from tests.certs.model import CA, CONFIGURATION, SERVER, World, a_configuration
from tests.certs.oracle import complaints
from tests.certs.worlds import installed
from tests.simulation.loop import Process


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
