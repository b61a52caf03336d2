"""The access log: written in batches, and never waited for."""

import asyncio
import json

from tests.webhook.serving import until
from webhook.access import AT_ONCE, MOST_WAITING, AccessLog


class Reader:
    """Somebody who reads, or does not."""

    def __init__(self) -> None:
        self.reads = True
        self.written: list[bytes] = []

    def write(self, lines: bytes) -> bool:
        if self.reads:
            self.written.append(lines)
        return self.reads

    def numbers(self) -> list[int]:
        return [json.loads(line)["number"] for line in b"".join(self.written).splitlines()]


async def test_lines_are_written_together_but_never_more_than_a_pipe_takes_at_once() -> None:
    reader = Reader()
    access = AccessLog(reader.write)
    for number in range(100):
        access.request(200, 0.001, {"number": number})
    assert reader.written == []
    await until(lambda: len(reader.numbers()) == 100)
    assert len(reader.written) < 20
    assert max(map(len, reader.written)) <= AT_ONCE


async def test_lines_wait_for_a_reader_and_the_oldest_are_lost_if_he_does_not_come() -> None:
    reader = Reader()
    reader.reads = False
    access = AccessLog(reader.write)
    for number in range(MOST_WAITING + 10):
        access.request(200, 0.001, {"number": number})
    access.flush()
    await asyncio.sleep(0.2)  # it tries again meanwhile, and is no busier than that
    reader.reads = True
    await until(reader.numbers)
    assert reader.numbers() == list(range(10, MOST_WAITING + 10))


async def test_nothing_is_written_where_nothing_is_to_be() -> None:
    reader = Reader()
    access = AccessLog(reader.write, enabled=False)
    access.request(200, 0.001, {"number": 1})
    access.flush()
    assert reader.written == []
