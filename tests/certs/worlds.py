"""Offers worlds in which all is well, and the disasters that may befall them."""

from collections.abc import Callable
from datetime import timedelta

from certs.issue import Pair
from certs.pem import bundle_pem
from tests.certs.making import SOMEBODY_ELSE, a_ca, a_server, pem
from tests.certs.model import CA, CONFIGURATION, SERVER, World

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
