"""What the server does in the background: every task is kept, its failure is told, and all end with the server."""

import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """The background tasks of one server."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run `work` beside everything else."""
        task = asyncio.get_running_loop().create_task(self._watched(work, name), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def soon(self, act: Callable[..., None], *arguments: object) -> None:
        """Call `act` once what is being done now is done."""
        asyncio.get_running_loop().call_soon(act, *arguments)

    async def stop(self) -> None:
        """End all of them and wait until they have ended."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _watched(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception:
            print(f"devcluster: {name} has failed", file=sys.stderr)
            traceback.print_exc()
