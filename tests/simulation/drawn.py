"""What plans are made of, drawn by chance: graphs, lives of Jobs, weather."""

from random import Random
from typing import Final, TypeAlias

from shared.api.job import JobPhase
from tests.simulation.plan import Script, Weather

Entries: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]

DELAYS: Final = (0.0, 0.01, 0.05, 0.2, 0.6, 1.5)
NAMES: Final = "abcdefgh"
PHASES: Final = tuple(JobPhase)


# Graphs


def entries(random: Random, most: int = 6) -> Entries:
    """A graph: chains, diamonds, fans, anything."""
    names = NAMES[: random.randint(1, most)]
    shape = random.choice((_chain, _fan, _dense, _dense, _apart))
    found = list(shape(random, names))
    if random.random() < 0.3:
        random.shuffle(found)
    return tuple(found)


def _chain(random: Random, names: str) -> Entries:
    return tuple((name, (names[i - 1],) if i else ()) for i, name in enumerate(names))


def _fan(random: Random, names: str) -> Entries:
    if len(names) < 3:
        return _chain(random, names)
    first, middle, last = names[0], names[1:-1], names[-1]
    return ((first, ()), *((name, (first,)) for name in middle), (last, tuple(middle)))


def _dense(random: Random, names: str) -> Entries:
    share = random.choice((0.3, 0.6, 1.0))
    return tuple((name, tuple(it for it in names[:i] if random.random() < share)) for i, name in enumerate(names))


def _apart(random: Random, names: str) -> Entries:
    return tuple((name, ()) for name in names)


# Jobs


def completes(random: Random) -> Script:
    """A Job that does well, by one of the ways there are."""
    way = random.choice(
        (
            ("Completed",),
            ("Running", "Completed"),
            ("Pending", "Running", "Completed"),
            ("Pending", "Running", "Completing", "Completed"),
            ("Pending", "Running", "Restarting", "Pending", "Running", "Completed"),
            ("Pending", "Aborting", "Aborted", "Pending", "Running", "Completed"),
            ("Running", "Pending", "Running", "Completed", "Completed"),
        )
    )
    return tuple((random.choice(DELAYS), phase) for phase in way)


def fails(random: Random) -> Script:
    """A Job that does not."""
    way = random.choice(
        (
            ("Failed",),
            ("Pending", "Running", "Failed"),
            ("Running", "Terminating", "Terminated"),
            ("Running", "Restarting", "Running", "Failed"),
            ("Pending", "Aborting", "Aborted"),
            ("Running", "Completing", "Failed"),
        )
    )
    return tuple((random.choice(DELAYS), phase) for phase in way)


def handled(random: Random) -> Script:
    """A Job that somebody deletes or takes from us, in any phase."""
    script = list(completes(random))
    hand = random.choice(("!delete", "!mark", "!disown"))
    script.insert(random.randint(0, len(script)), (random.choice((0.0, 0.005, 0.2)), hand))
    return tuple(script)


# Weather


def weather(random: Random, until: float) -> Weather:
    """A few kinds of trouble together, all over before `until`."""

    def some(share: float, value: float) -> float:
        return value if random.random() < share else 0.0

    def times(share: float, most: int) -> list[float]:
        return (
            [round(random.uniform(0, until), 3) for _ in range(random.randint(1, most))]
            if random.random() < share
            else []
        )

    rough = random.random()
    return Weather(
        latency=random.choice((0.001, 0.003, 0.02)),
        lag=random.choice((0.005, 0.02, 0.2, 1.0)),
        errors=some(0.3, 0.1 * rough + 0.02),
        lost=some(0.3, 0.1 * rough + 0.02),
        slow=some(0.15, 0.03),
        stalls=some(0.25, 0.2),
        cuts=some(0.3, 0.3),
        expires=random.choice((0.0, 0.5, 1.0)),
        outages=tuple((at, round(random.uniform(0.1, 5), 3)) for at in times(0.1, 1)),
        behind=tuple((at, round(random.uniform(0.5, 5), 3), random.randint(1, 30)) for at in times(0.2, 2)),
        hidden=random.choice((("jobs",), ("jobflows",))) if random.random() < 0.05 else (),
        crashes=tuple(sorted((random.randint(1, 25), random.choice(("before", "after"))) for _ in times(0.35, 3))),
        kills=tuple(times(0.2, 2)),
        freezes=tuple((at, round(random.choice((1, 5, 20)) * random.uniform(0.5, 3), 3)) for at in times(0.15, 2)),
        stops=tuple(times(0.05, 1)),
        clock=tuple((at, random.choice((-3600.0, 3600.0, -5.0, 600.0))) for at in times(0.1, 2)),
        restart=random.choice((0.05, 0.5, 3.0)),
        raises=tuple(sorted(random.randint(4, 60) for _ in times(0.05, 2))),
    )
