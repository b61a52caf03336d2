"""Run one plan from beginning to end, and judge it.

result = run(a_plan(seed=7))
assert not result.violations, result.report()
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pprint import pformat
from random import Random
from typing import Final

from controller.settings import ControllerSettings
from shared.api.times import format_time
from shared.kube.transport import Answer
from tests.simulation import ending
from tests.simulation.api import Api
from tests.simulation.calls import ASIDE, Call
from tests.simulation.history import History
from tests.simulation.loop import BEGINNING, BusyLoopError, Process, SeededLoop
from tests.simulation.oracle import Oracle
from tests.simulation.plan import Plan, Step
from tests.simulation.programs import NEW_YEAR, Replica
from tests.simulation.store import Change, Object, Refusal, Store, key_of, phase_of
from tests.simulation.truth import HANDS
from tests.simulation.users import Users
from tests.simulation.volcano import Garbage, Volcano
from tests.simulation.weather import Sky

AFTER_THE_LAST_FAULT: Final = 30.0
"""Seconds in which a JobFlow comes to its end, besides those that its Jobs take (L1)."""

LONGEST: Final = 120.0
"""Seconds that all Jobs together may take once it is calm; who goes on creating them does not come to an end."""

STAYS: Final = 8.0
"""Seconds for which the end is watched: nothing may be written any more."""

SOON_WRITTEN: Final = 6.0
"""Seconds within which also what nobody waits for is written: the rest of a status, the lists of templates."""


@dataclass
class Result:
    """What came of a run."""

    plan: Plan
    history: History
    violations: list[str]
    oracle: Oracle
    replicas: list[Replica]
    settled_at: float
    """Seconds after which all was as it was to be in the end."""

    def report(self, *, everything: bool = False, once_more: str = "") -> str:
        """All that whoever mends it needs."""
        workload, seed = self.plan.workload, self.plan.seed
        return "\n".join(
            [
                "PLAN",
                str(self.plan),
                "HISTORY",
                self.history.text(everything=everything),
                "STATUSES IN THE END",
                *(
                    f"{flow.name} {pformat(flow.latest.get('status'), width=140, compact=True)}"
                    for flow in self.oracle.truth.present()
                ),
                "VIOLATIONS",
                *self.violations,
                f"once more: {once_more or f'python -m tests.simulation --workload {workload} --seed {seed} --replay'}",
            ]
        )


@lru_cache(maxsize=1024)
def second(number: int) -> str:
    """The time of day after so many seconds, as the API server writes it."""
    return format_time(NEW_YEAR + timedelta(seconds=number))


class Simulation:
    """One run. `run` does all of it; tests that look in between drive it by hand."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.history = History()
        self.loop = SeededLoop(Random(f"loop {plan.seed}"), shuffled=plan.shuffled)  # type: ignore[abstract]
        self.store = Store(lambda: second(int(self.loop.time() - BEGINNING)), volcanos_crd=plan.volcanos_crd)
        self.sky = Sky(self.loop, plan.weather, Random(f"sky {plan.seed}"), Random(f"connections {plan.seed}"))
        self.oracle = Oracle(self.loop, self.store, self.history)
        self.api = Api(self.loop, self.store, self.sky, self, self.history)
        self.api.page = plan.page
        self.sky.over(self.api)
        self.users = Users(self.loop, self.store, self.history)
        self.api.admission = self.users.admission
        self.volcano = Volcano(self.loop, self.store, plan.scripts)
        Garbage(self.loop, self.store, Random(f"garbage {plan.seed}"), plan.garbage)
        settings = ControllerSettings(resync_period=plan.resync, workers=plan.workers)
        self.replicas = [
            Replica(
                name,
                loop=self.loop,
                api=self.api,
                random=Random(f"{name} {plan.seed}"),
                history=self.history,
                settings=settings,
                wire=self.api.wire,
                restart=plan.weather.restart,
                lease=plan.lease,
            )
            for name in "ab"[: plan.controllers]
        ]
        self.store.watchers.append(self._note)
        self._settled_at = BEGINNING
        self._chance = Random(f"programs {plan.seed}")
        self._writes = 0
        """Of JobFlows and Jobs, before it is calm."""
        self._requests = 0

    def prepare(self) -> None:
        """Everything that the plan says is put on the calendar."""
        plan = self.plan
        for name, ttl in plan.templates:
            self.users.template(name, ttl)
        self.users.plan(tuple(Step(flow.at, "create", (flow,)) for flow in plan.flows))
        self.users.plan(plan.steps)
        for replica in self.replicas:
            self.loop.world(0.01 * self._chance.random(), replica.start)
        weather = plan.weather
        for at in weather.kills:
            self.loop.world(at, self._kill)
        for at, length in weather.freezes:
            self.loop.world(at, lambda length=length: self._chance.choice(self.replicas).freeze(length))
        for at in weather.stops:
            self.loop.world(at, lambda: self._chance.choice(self.replicas).end())
        for at, by in weather.clock:
            self.loop.world(at, lambda by=by: setattr(self._chance.choice(self.replicas), "skew", by))
        self.loop.world(plan.calm_at, self._calm)

    def run(self) -> Result:
        """All of it."""
        self.prepare()
        try:
            self._judged()
        except BusyLoopError as busy:
            self.oracle.wrong("busy", str(busy))
        violations = self.oracle.violations
        return Result(self.plan, self.history, violations, self.oracle, self.replicas, self._settled_at - BEGINNING)

    def _judged(self) -> None:
        self.loop.run_until_time(BEGINNING + self.plan.quiet_at)
        began = self.loop.time()
        deadline = max(began, self.volcano.busy_until)
        while True:
            self.loop.run_until_time(self.loop.time() + 0.5)
            deadline = max(deadline, self.volcano.busy_until)
            open_ = ending.unsettled(self)
            deadline = min(deadline, began + LONGEST)
            late = self.loop.time() > deadline + AFTER_THE_LAST_FAULT
            if not open_ or late:
                break
        self._settled_at = self.loop.time()
        for what in open_:
            self.oracle.wrong("L1", what)
        if not open_:
            self.stays()
        self.end()
        ending.check_programs(self)

    def stays(self) -> None:
        """At rest nothing is written any more, and nothing changes."""
        self.loop.run_until_time(self.loop.time() + SOON_WRITTEN)
        before = len(self.oracle.writes)
        self.loop.run_until_time(self.loop.time() + STAYS)
        for what in ending.unsettled(self):
            self.oracle.wrong("L1", f"it was so, and is not any more: {what}")
        for call, refusal in self.oracle.writes[before:]:
            if refusal is None:
                self.oracle.wrong("I9", f"{call} at rest")

    def end(self) -> None:
        """Let all programs end: those that run as they do, those that were killed by force."""
        for replica in self.replicas:
            replica.close()
        for task in list(self.loop.tasks):
            task.cancel()
        self.loop.run_until_time(self.loop.time() + 30)
        for task in self.loop.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]

    def _note(self, change: Change) -> None:
        """For the history: what others than the controllers do."""
        if change.by in HANDS:
            phase = phase_of(change.new)
            what = f"{change.kind} {change.resource}/{key_of(change.new).name} {phase} ({change.version})"
            self.history.note(self.loop.time(), change.by, what)

    # What the weather does to programs

    def _kill(self) -> None:
        if not self.sky.is_calm:
            self._chance.choice(self.replicas).kill()

    def _calm(self) -> None:
        self.history.note(self.loop.time(), "weather", "it is calm from now on")
        self.sky.calm()
        for replica in self.replicas:
            if replica.process is not None and replica.process.held is not None:
                replica._thaw(replica.process)

    # The judge: the oracle, and whoever kills programs at a certain write

    def sent(self, call: Call) -> None:
        if not self.sky.is_calm and call.verb not in ("list", "watch") and call.resource not in ASIDE:
            self._requests += 1
            if self._requests in self.plan.weather.raises:
                self.api.note(call, f"{call} raises what nobody foresees")
                raise RuntimeError("a fault of the program")
            if call.is_write and call.resource != "jobtemplates":
                self._writes += 1
                call.nth = self._writes
                self._crash(call, "before")
                self._still(call)
        if not call.process.dead:
            self.oracle.sent(call)

    def arrives(self, call: Call) -> None:
        self.oracle.arrives(call)

    def done(self, call: Call, refusal: Refusal | None) -> None:
        self.oracle.done(call, refusal)
        if call.is_write:
            self._crash(call, "after")

    def knows(self, process: Process, resource: str, objects: Iterable[Object]) -> None:
        self.oracle.knows(process, resource, objects)

    def answered(self, call: Call, answer: Answer) -> None:
        self.oracle.answered(call, answer)

    def _crash(self, call: Call, when: str) -> None:
        for replica in self.replicas:
            if replica.process is call.process and (call.nth, when) in self.plan.weather.crashes:
                replica.kill()

    def _still(self, call: Call) -> None:
        for nth, length in self.plan.weather.stills:
            for replica in self.replicas:
                if nth == call.nth and replica.process is call.process:
                    self.loop.world(0, replica.freeze, length)


def run(plan: Plan) -> Result:
    """Run one plan."""
    return Simulation(plan).run()
