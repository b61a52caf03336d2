"""When a live look lets Jobs be created, and what it costs."""

import asyncio

import pytest
from msgspec.structs import replace

from controller.jobflow.cluster import Stored
from controller.jobflow.live import APART, FRESH, MOST, LiveLook, Superseded, may_start_jobs
from controller.jobflow.memory import Memory
from shared.api.jobflow import JobFlow, JobFlowStatus, State
from shared.api.meta import Key, ObjectMeta
from shared.kube.transport import Guard
from tests.support.builders import a_jobflow


def version(number: int, phase: str = "Running", generation: int = 1) -> JobFlow:
    jobflow = a_jobflow("get")
    metadata = replace(jobflow.metadata, resource_version=str(number), generation=generation)
    return replace(jobflow, metadata=metadata, status=JobFlowStatus(state=State(phase)))


class Server:
    """Holds one JobFlow; it reads, and answers when `hold` is set, or after so many `seconds`."""

    def __init__(self, jobflow: JobFlow) -> None:
        self.jobflow = jobflow
        self.asked: list[str] = []
        self.hold: asyncio.Event | None = None
        self.seconds = 0.0
        self.clock: Looking | None = None

    async def get_jobflow(self, key: Key) -> Stored:
        self.asked.append("all")
        return Stored(self.jobflow, 1000)

    async def get_jobflow_metadata(self, key: Key, entries: int) -> ObjectMeta:
        self.asked.append("metadata")
        seen = self.jobflow.metadata
        if self.hold:
            await self.hold.wait()
        if self.clock:
            self.clock.now += self.seconds
        return seen


class Looking:
    def __init__(self, known: JobFlow, stored: JobFlow) -> None:
        self.now = 100.0
        self.server = Server(stored)
        self.memory = Memory()
        self.live = LiveLook(known, self.memory, self.server, lambda: self.now)

    async def write(self, jobflow: JobFlow, answered: asyncio.Event) -> None:
        """Our own write of a status: it has taken effect, and is answered later."""
        self.server.jobflow = jobflow
        await answered.wait()
        self.memory.learn(Stored(jobflow, 1000), self.now, 100)


async def test_the_metadata_alone_tells_that_the_jobflow_is_as_it_is_known() -> None:
    looking = Looking(version(7), version(7))
    await looking.live.require(may_start_jobs)
    assert looking.server.asked == ["metadata"]


async def test_a_look_serves_for_a_second() -> None:
    looking = Looking(version(7), version(7))
    await looking.live.require(may_start_jobs)
    looking.now += FRESH / 2
    await looking.live.require(may_start_jobs)
    assert looking.server.asked == ["metadata"]
    looking.now += FRESH
    await looking.live.require(may_start_jobs)
    assert looking.server.asked == ["metadata", "metadata"]


async def test_an_answer_that_lay_unread_while_the_process_was_stopped_is_no_look_of_the_last_second() -> None:
    looking = Looking(version(7), version(7))
    looking.server.hold = asyncio.Event()
    requiring = asyncio.ensure_future(looking.live.require(may_start_jobs))
    await asyncio.sleep(0.01)
    looking.now += 3
    looking.server.jobflow = version(8, phase="Failed")
    looking.server.hold.set()
    with pytest.raises(Superseded):
        await requiring


async def test_an_api_server_that_takes_seconds_for_each_look_still_gets_its_jobs() -> None:
    looking = Looking(version(7), version(7))
    looking.server.seconds = 3.0
    looking.server.clock = looking
    await looking.live.require(may_start_jobs)
    assert looking.server.asked == ["metadata", "metadata"]


async def test_a_write_whose_look_is_too_old_once_there_is_a_connection_waits_for_another_look() -> None:
    looking = Looking(version(7), version(7))
    sent: list[float] = []

    async def write(guard: Guard) -> None:
        if not sent:
            looking.now += FRESH * 1.1  # stopped while it was connecting
        sent.append(looking.now)
        guard()

    await looking.live.allowing(may_start_jobs, write)
    assert looking.server.asked == ["metadata", "metadata"]
    assert len(sent) == 2


async def test_a_write_that_was_held_back_is_not_sent_if_the_next_look_forbids_it() -> None:
    looking = Looking(version(7), version(7))

    async def write(guard: Guard) -> None:
        looking.now += FRESH * 1.1
        looking.server.jobflow = version(8, phase="Failed")
        guard()
        raise AssertionError("sent")

    with pytest.raises(Superseded):
        await looking.live.allowing(may_start_jobs, write)


async def test_a_write_that_always_has_to_wait_longer_than_a_look_is_good_is_sent_in_the_end() -> None:
    looking = Looking(version(7), version(7))
    tried: list[float] = []

    async def write(guard: Guard) -> str:
        looking.now += FRESH * 3
        tried.append(looking.now)
        guard()
        return "sent"

    assert await looking.live.allowing(may_start_jobs, write) == "sent"
    assert len(looking.server.asked) == len(tried)  # each on the strength of a look of its own


async def test_nothing_is_held_up_while_looks_are_slow_but_come_in_time() -> None:
    looking = Looking(version(7), version(7))
    looking.server.seconds, looking.server.clock = 0.3, looking  # what the first look takes
    await looking.live.require(may_start_jobs)
    looking.server.hold = asyncio.Event()
    for _ in range(2):
        looking.now += APART * 1.1
        await looking.live.require(may_start_jobs)  # on the strength of the first look
    await asyncio.sleep(0.01)
    looking.server.seconds = 0.0
    assert looking.server.asked == ["metadata"] * 3
    looking.server.hold.set()
    await asyncio.sleep(0.01)
    looking.now += 0.9
    await looking.live.require(may_start_jobs)
    await looking.live.close()
    assert looking.server.asked[:3] == ["metadata"] * 3


async def test_an_api_server_that_answers_at_once_is_asked_no_more_than_twice_a_second() -> None:
    looking = Looking(version(7), version(7))
    for _ in range(40):
        await looking.live.require(may_start_jobs)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        looking.now += 0.05
    assert len(looking.server.asked) <= 1 + 2 * 2


async def test_no_more_than_a_few_looks_wait_for_an_api_server_that_hangs() -> None:
    looking = Looking(version(7), version(7))
    await looking.live.require(may_start_jobs)
    looking.server.hold = asyncio.Event()
    for _ in range(100):
        looking.now += APART * 1.1
        looking.memory.confirmed_at = looking.now - FRESH * 0.9
        await looking.live.require(may_start_jobs)
    await asyncio.sleep(0.01)
    await looking.live.close()
    assert len(looking.server.asked) == 1 + MOST


async def test_an_answer_that_is_late_makes_no_later_look_older() -> None:
    memory, known = Memory(), version(7)
    memory.confirm(known, 12.0)
    memory.confirm(known, 11.0)
    assert memory.confirmed_at == 12.0


async def test_an_answer_that_a_later_one_has_overtaken_is_not_believed() -> None:
    memory = Memory()
    memory.learn(Stored(version(9, phase="Failed"), 1000), 12.0, 100)
    memory.learn(Stored(version(8), 1000), 11.0, 100)
    assert memory.newest == memory.confirmed == version(9, phase="Failed")


async def test_a_write_is_no_older_than_the_look_that_still_showed_what_it_wrote_over() -> None:
    memory, known = Memory(), version(7)
    memory.confirm(known, 12.5)
    memory.learn(Stored(version(8), 1000), 12.0, 100, over=known)
    assert (memory.confirmed, memory.confirmed_at) == (version(8), 12.5)
    memory.learn(Stored(version(9), 1000), 12.2, 100, over=known)
    assert memory.confirmed_at == 12.2


async def test_what_somebody_else_has_stored_is_read_whole() -> None:
    looking = Looking(version(7), version(8, phase="Failed"))
    with pytest.raises(Superseded):
        await looking.live.require(may_start_jobs)
    assert looking.server.asked == ["metadata", "all"]


async def test_our_own_write_that_is_under_way_is_waited_for_and_not_read_again() -> None:
    looking, answered = Looking(version(7), version(7)), asyncio.Event()
    looking.live.writing = asyncio.ensure_future(looking.write(version(8), answered))
    await asyncio.sleep(0)
    requiring = asyncio.ensure_future(looking.live.require(may_start_jobs))
    await asyncio.sleep(0.01)
    assert not requiring.done()
    answered.set()
    await requiring
    assert looking.server.asked == ["metadata"]


async def test_the_answer_to_our_own_write_may_overtake_a_look() -> None:
    looking, answered = Looking(version(7), version(7)), asyncio.Event()
    looking.server.hold = asyncio.Event()
    requiring = asyncio.ensure_future(looking.live.require(may_start_jobs))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    answered.set()
    await looking.write(version(8), answered)
    looking.server.hold.set()
    await requiring
    assert looking.server.asked == ["metadata"]


async def test_our_own_write_that_says_failed_forbids_what_waits_for_it() -> None:
    looking, answered = Looking(version(7), version(7)), asyncio.Event()
    looking.live.writing = asyncio.ensure_future(looking.write(version(8, phase="Failed"), answered))
    await asyncio.sleep(0)
    answered.set()
    with pytest.raises(Superseded):
        await looking.live.require(may_start_jobs)


async def test_another_spec_is_another_decision() -> None:
    looking = Looking(version(7), version(8, generation=2))
    with pytest.raises(Superseded):
        await looking.live.require(may_start_jobs)
