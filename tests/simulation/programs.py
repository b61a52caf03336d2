"""The controllers of a run: the real one, in a process that can be killed, frozen and started again."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from controller.app import Controller
from controller.jobflow.metrics import VolcanosCounters
from controller.runtime.election import Terms
from controller.runtime.leader import Leader, LeaseLost
from controller.settings import ControllerSettings
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.transport import Transport
from tests.simulation.api import Api
from tests.simulation.history import History
from tests.simulation.loop import BEGINNING, Process, SeededLoop, SeededTask
from tests.simulation.users import NAMESPACE

LEASE: Final = Key(NAMESPACE, "jobflow-controller")

NEW_YEAR: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Registry(CollectorRegistry):
    """Knows Volcano's counters again, for the oracle reads them."""

    counters: VolcanosCounters | None = None

    def register(self, collector: Collector) -> None:
        super().register(collector)
        if isinstance(collector, VolcanosCounters):
            self.counters = collector


class Replica:
    """One controller of the Deployment, started again whenever it has ended. Each start is a process of its own."""

    def __init__(
        self,
        name: str,
        *,
        loop: SeededLoop,
        api: Api,
        random: Random,
        history: History,
        settings: ControllerSettings,
        wire: Callable[[Process], Transport],
        restart: float,
        lease: bool = False,
    ) -> None:
        """`restart` are the seconds until it is started again whenever it has ended."""
        self.name = name
        self._loop, self._api, self._random, self._history, self._settings = loop, api, random, history, settings
        self._wire, self._lease, self._restart, self._closed = wire, lease, restart, False
        self._starts = 0
        self.process: Process | None = None
        self.controller: Controller | None = None
        self.stop = asyncio.Event()
        self.registries: list[Registry] = []
        self.faults: list[str] = []
        self.skew = 0.0
        """Seconds that its time of day is off."""
        self._main: SeededTask[None] | None = None
        self.all: list[tuple[Process, Controller, SeededTask[None]]] = []
        """Every process there was."""

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.held is None

    def start(self) -> None:
        """Begin with an empty memory."""
        if self.process is not None or self._closed:
            return
        self._starts += 1
        process = self.process = Process(f"{self.name}{self._starts}")
        registry = Registry()
        self.registries.append(registry)
        self.stop = asyncio.Event()
        self.note("starts")
        client, random = KubeClient(self._wire(process)), Random(self._random.random())
        self.controller = Controller(
            client,
            self._settings,
            registry,
            random=random,
            clock=self.time_of_day,
            monotonic=self._loop.time,
            leader=self._candidate(process.name, client, random),
        )
        main = self._main = self._loop.program(process, self.controller.run(self.stop))
        main.add_done_callback(lambda _: self._ended(process, main))
        self.all.append((process, self.controller, main))

    def _candidate(self, name: str, client: KubeClient, random: Random) -> Leader | None:
        if not self._lease:
            return None
        return Leader(
            client.apart(), LEASE, name, Terms(), random=random, clock=self.time_of_day, monotonic=self._loop.time
        )

    def time_of_day(self) -> datetime:
        return NEW_YEAR + timedelta(seconds=self._loop.time() - BEGINNING + self.skew)

    def kill(self) -> None:
        """kill -9, and the kubelet starts it again."""
        if self.process is None:
            return
        self.note("is killed")
        self.process.kill()
        self._api.forget(self.process)
        self.process = None
        self._loop.world(self._restart, self.start)

    def freeze(self, length: float) -> None:
        """SIGSTOP, and SIGCONT after a while."""
        process = self.process
        if process is None or process.held is not None:
            return
        self.note(f"is frozen for {length:.1f} s")
        process.freeze()
        self._loop.world(length, self._thaw, process)

    def _thaw(self, process: Process) -> None:
        if not process.dead:
            self.note("goes on")
            self._loop.thaw(process)

    def end(self) -> None:
        """SIGTERM, and the kubelet starts it again once it has ended."""
        if self.process is not None:
            self.note("is asked to end")
            self.stop.set()

    def close(self) -> None:
        """It is not started any more, and what was killed or frozen is let go, so that it can be cleaned up."""
        self._closed = True
        for process, _, _main in self.all:
            if process.held is not None:
                process.dead = True
                self._loop.thaw(process)

    def _ended(self, process: Process, main: SeededTask[None]) -> None:
        """The program has ended by itself."""
        if process.dead:
            return
        error = None if main.cancelled() else main.exception()
        if self.process is process:
            self.note("has ended" + (f": {error!r}" if error else ""))
            self.process = None
            self._loop.world(self._restart, self.start)
            if error is not None and not isinstance(error, LeaseLost):
                self.faults.append(f"{process.name} ended by {error!r}")

    def note(self, what: str) -> None:
        self._history.note(self._loop.time(), self.process.name if self.process else self.name, what)
