"""Offers plans of faults as data: a list of `{"match": {...}, "do": ...}`, which fits into a line of JSON.

    [{"match": {"verb": "write", "nth": 7}, "do": "kill"}]
    [{"match": {"verb": "create", "resource": "jobs", "nth": 2}, "do": {"status": 429, "retry_after": 2}}]

`match` takes the fields of `devcluster.faults.Match`, and `nth` (without it: every one). What can be done to a request:
`drop_before`, `drop_response_after_commit`, `status`, `delay`, `delay_response`, `hold`, and to the controller that has
sent it: `kill` and `kill_before` (SIGKILL once the write is stored, or before it is), `term` and `stop` (SIGTERM and
SIGSTOP, before). To a watch: `freeze`, `lag`, `close`, `410`, `truncate`, `bad_json`, `duplicate`, `bookmarks_only`.
"""

import signal
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from devcluster.faults import (
    Action,
    Answer,
    BookmarksOnly,
    Break,
    Call,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Freeze,
    Hold,
    Lag,
    Match,
    expire,
    garble,
    truncate,
)

Step = dict[str, Any]
Plan = list[Step]
Signal = Callable[[int], object]
"""Sends a signal to the controller that the plan is for."""


def faults(plan: Plan, send: Signal) -> Iterator[Fault]:
    """Yield what a plan says."""
    for step in plan:
        match = dict(step["match"])
        nth = match.pop("nth", 0)
        for action in actions(step["do"], send):
            yield Fault(Match(**match), action, nth)


def actions(do: str | dict[str, Any], send: Signal) -> list[Action]:
    """Return what a step says is to be done. Raises ValueError for what is not known."""
    if isinstance(do, str):
        do = {do: None}
    (name, value), *more = do.items()
    if name in TO_A_SENDER:
        return TO_A_SENDER[name](send)
    if name in TO_A_REQUEST:
        return [TO_A_REQUEST[name](value, **dict(more))]
    raise ValueError(f"nobody knows how to {name}")


TO_A_SENDER: Mapping[str, Callable[[Signal], list[Action]]] = {
    # Nobody is there any more to hear the answer; what was not done yet is not to be done.
    "kill": lambda send: [Call(partial(send, signal.SIGKILL)), Drop(committed=True)],
    "kill_before": lambda send: [Call(partial(send, signal.SIGKILL), committed=False), Drop()],
    "term": lambda send: [Call(partial(send, signal.SIGTERM), committed=False)],
    # It hears nothing, but what it has sent is done.
    "stop": lambda send: [Call(partial(send, signal.SIGSTOP), committed=False)],
}

TO_A_REQUEST: Mapping[str, Callable[..., Action]] = {
    "drop_before": lambda _: Drop(),
    "drop_response_after_commit": lambda _: Drop(committed=True),
    "status": Answer,
    "delay": Delay,
    "delay_response": partial(Delay, committed=True),
    "hold": lambda _: Hold(),
    "freeze": lambda after: Freeze(after or 0),
    "lag": Lag,
    "close": lambda after: Break(after or 0),
    "410": lambda after: expire(after or 0),
    "truncate": lambda after: truncate(after or 0),
    "bad_json": lambda after: garble(after or 0),
    "duplicate": lambda _: Duplicate(),
    "bookmarks_only": lambda _: BookmarksOnly(),
}
