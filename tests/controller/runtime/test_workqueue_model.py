"""The queue against client-go's rules written down plainly: a set that waits and a set in work."""

import asyncio
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from looptime import LoopTimeEventLoop, new_event_loop
from prometheus_client import CollectorRegistry

from controller.runtime.metrics import QueueMetrics, RuntimeMetrics
from controller.runtime.workqueue import Priority, WorkQueue

KEYS = st.sampled_from("abcd")


class QueueAgainstAModel(RuleBasedStateMachine):
    """Keys are added, taken, worked on and added again in any order, while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: LoopTimeEventLoop = new_event_loop(start=0.0, end=None)
        self.queue: WorkQueue[str] = WorkQueue(Random(3), QueueMetrics(RuntimeMetrics(CollectorRegistry()), "q"))
        self.waiting: dict[str, Priority] = {}
        self.working: set[str] = set()
        self.again: dict[str, Priority] = {}
        self.due: dict[str, tuple[float, Priority]] = {}

    def teardown(self) -> None:
        self.loop.run_until_complete(self.shut_down())
        self.loop.close()

    async def shut_down(self) -> None:
        self.queue.shut_down()

    def expect(self, key: str, priority: Priority) -> None:
        place = self.again if key in self.working else self.waiting
        place[key] = min(priority, place.get(key, priority))

    @rule(key=KEYS, priority=st.sampled_from(Priority))
    def add(self, key: str, priority: Priority) -> None:
        async def act() -> None:
            self.queue.add(key, priority)

        self.loop.run_until_complete(act())
        self.expect(key, priority)

    @rule(key=KEYS, priority=st.sampled_from(Priority), delay=st.integers(1, 20))
    def add_after(self, key: str, priority: Priority, delay: int) -> None:
        async def act() -> None:
            self.queue.add_after(key, delay, priority)

        at = self.loop.time() + delay
        self.loop.run_until_complete(act())
        sooner, urgent = self.due.get(key, (at, priority))
        self.due[key] = (min(at, sooner), min(priority, urgent))

    @rule(seconds=st.integers(1, 10))
    def time_passes(self, seconds: int) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds + 0.01))
        for key, (at, priority) in list(self.due.items()):
            if at <= self.loop.time():
                del self.due[key]
                self.expect(key, priority)

    @precondition(lambda self: self.waiting)
    @rule()
    def get(self) -> None:
        key, priority = self.loop.run_until_complete(self.queue.get())
        assert key not in self.working
        assert self.waiting.pop(key) == priority
        # The background has its share; otherwise nobody is served before what is more urgent.
        assert priority is Priority.BACKGROUND or priority <= min(self.waiting.values(), default=priority)
        self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(choice=st.randoms(use_true_random=False))
    def done(self, choice: Random) -> None:
        key = choice.choice(sorted(self.working))

        async def act() -> None:
            self.queue.done(key)

        self.loop.run_until_complete(act())
        self.working.remove(key)
        if key in self.again:
            self.waiting[key] = self.again.pop(key)

    @precondition(lambda self: not self.waiting)
    @rule()
    def nobody_is_served_from_an_empty_queue(self) -> None:
        async def act() -> bool:
            try:
                await asyncio.wait_for(self.queue.get(), 0.001)
            except TimeoutError:
                return True
            return False

        # Time passes by a hair; nothing falls due in it, for delays are whole seconds.
        assert self.loop.run_until_complete(act())

    @invariant()
    def as_many_wait_as_should(self) -> None:
        assert len(self.queue) == len(self.waiting)


QueueAgainstAModel.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestQueueAgainstAModel = QueueAgainstAModel.TestCase
