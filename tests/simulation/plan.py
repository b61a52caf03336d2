"""A plan: everything that is decided before a run begins. It is data, can be printed, and says what happens when.

Equal plans with equal seeds give equal histories. What befalls a single request is drawn while the run goes on, within
the bounds that `Weather` sets here, and shows in the history.
"""

from dataclasses import asdict, dataclass, field, replace
from pprint import pformat
from typing import Any, TypeAlias

Script: TypeAlias = tuple[tuple[float, str], ...]
"""What becomes of a Job: after so many seconds the next phase. `!delete`, `!mark` and `!disown` are a user's doing."""


@dataclass(frozen=True)
class FlowPlan:
    """A JobFlow as it is created."""

    name: str
    entries: tuple[tuple[str, tuple[str, ...]], ...]
    """Names, and what each depends on."""
    policy: str | None = None
    at: float = 0.0
    """When."""


@dataclass(frozen=True)
class Step:
    """Something that a user does: a method of `Users`, and what it is given."""

    at: float
    do: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Weather:
    """What may befall requests, watches and programs, until it is calm. Probabilities are of one request or event."""

    latency: float = 0.003
    lag: float = 0.01
    """Seconds that a watch's event takes on average."""
    errors: float = 0.0
    """Answered 429, 500, 503, 504, or a conflict that is none."""
    lost: float = 0.0
    """No answer, whether it was done or not."""
    slow: float = 0.0
    """Takes seconds, perhaps more than its sender waits, on its way or until there is a connection for it."""
    stalls: float = 0.0
    """A watch that stays silent, from its beginning or from some event on."""
    cuts: float = 0.0
    """Watches that end, each second."""
    expires: float = 0.0
    """Share of the cuts after which the watch's place is forgotten."""
    outages: tuple[tuple[float, float], ...] = ()
    """The API server answers nobody: from when, for how long."""
    behind: tuple[tuple[float, float, int], ...] = ()
    """Front-ends lag: from when, for how long, by how many events. Programs reconnect to them."""
    hidden: tuple[str, ...] = ()
    """Resources of which no watch brings anything."""
    crashes: tuple[tuple[int, str], ...] = ()
    """The program that sends the n-th write is killed "before" it leaves or "after" it was done."""
    stills: tuple[tuple[int, float], ...] = ()
    """The program that sends the n-th write is stopped right after it has left, for so many seconds."""
    kills: tuple[float, ...] = ()
    """A program is killed at these times."""
    freezes: tuple[tuple[float, float], ...] = ()
    """A program is stopped: from when, for how long."""
    stops: tuple[float, ...] = ()
    """A program is asked to end, and started again."""
    clock: tuple[tuple[float, float], ...] = ()
    """A program's time of day steps: when, by how many seconds."""
    restart: float = 0.5
    """Seconds until a program that has ended is started again."""
    raises: tuple[int, ...] = ()
    """The n-th request of a program fails in a way that nobody could foresee."""


@dataclass(frozen=True)
class Plan:
    """One run."""

    seed: int
    workload: str
    flows: tuple[FlowPlan, ...]
    templates: tuple[tuple[str, int | None], ...]
    """JobTemplates that are there at the beginning, and the TTL of their Jobs."""
    scripts: dict[str, tuple[Script, ...]] = field(default_factory=dict)
    """By Job name, for the first Job of that name, the second, and so on; the last one again and again."""
    steps: tuple[Step, ...] = ()
    weather: Weather = Weather()
    calm_at: float = 10.0
    """Seconds after which no more faults happen; and once the last step is done, nobody does anything more."""
    controllers: int = 1
    lease: bool = False
    """They elect one who works; without, all of them work."""
    workers: int = 1
    resync: float = 0.0
    page: int = 0
    shuffled: bool = True
    garbage: float = 1.0
    """Seconds that the garbage collector takes on average."""
    volcanos_crd: bool = False
    """The fields of the status that Volcano's own CRD does not know are pruned."""

    @property
    def quiet_at(self) -> float:
        """Seconds after which nothing happens any more but what must."""
        return max([self.calm_at, *(step.at + 0.01 for step in self.steps)])

    def but(self, **changes: Any) -> "Plan":
        return replace(self, **changes)

    def __str__(self) -> str:
        told = {name: value for name, value in asdict(self).items() if value not in ((), {}, None)}
        told["weather"] = {
            name: value for name, value in told["weather"].items() if value and value != getattr(Weather(), name)
        }
        return pformat(told, width=120, sort_dicts=False)
