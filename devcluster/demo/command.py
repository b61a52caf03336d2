"""The story of the demo: start everything, apply the examples, try four mistakes, watch until all is done."""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from devcluster.demo.screen import Screen
from devcluster.demo.timeline import Timeline
from devcluster.stack.kubectl import Kubectl, RefusedError
from devcluster.stack.programs import ROOT, ProgramError
from devcluster.stack.stack import Stack

FLOW_API, BATCH_API = "flow.volcano.sh/v1alpha1", "batch.volcano.sh/v1alpha1"
EXAMPLES = ("examples/diamond.yaml", "examples/ml-pipeline", "examples/nightly-report.yaml")
JOBFLOWS = ("diamond", "churn-model", "nightly-report")
CLEANED, KEPT = "nightly-report", "diamond"
MISTAKES = (
    ("A cycle: each waits for another, so that none would ever start.", "examples/refused/cycle.yaml"),
    ("The same template twice, and a target with a slip of the pen.", "examples/refused/duplicate.yaml"),
    ("Another spec, while the JobFlow runs.", "examples/refused/spec-change.yaml"),
)
ALL_DONE_WITHIN = 120.0
GONE_WITHIN = 15.0


class DemoError(Exception):
    """Something that the demo shows did not happen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.description = (
        "Show JobFlow at work: an API server in memory, the webhook and the controller, three JobFlows, four refusals. "
        "Takes half a minute, and ends all that it started."
    )


def main(args: argparse.Namespace) -> int:
    """Run the demo; return the exit code."""
    del args
    screen = Screen()
    try:
        return asyncio.run(run(screen))
    except (DemoError, ProgramError, RefusedError) as error:
        sys.stdout.flush()
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except (aiohttp.ClientError, TimeoutError) as error:
        print(f"\ndemo: the API server does not answer: {error!r}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\ndemo: ended before its end", file=sys.stderr)
        return 130


async def run(screen: Screen) -> int:
    """Start everything, tell the story, end everything."""
    task = asyncio.current_task()
    if task is not None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(each, task.cancel)
    screen.say("JobFlow for Volcano, on this machine alone: no cluster, no container, half a minute.\n")
    screen.say("Starting three processes")
    with tempfile.TemporaryDirectory(prefix="jobflow-demo-") as directory:
        async with Stack(Path(directory), tell=screen.say) as stack:
            await stack.start()
            await stack.meanwhile(Story(stack.kubectl, screen, Timeline(JOBFLOWS), time.monotonic()).tell())
    return 0


@dataclass(frozen=True, slots=True)
class Story:
    """What is shown, in order."""

    kubectl: Kubectl
    screen: Screen
    timeline: Timeline
    begin: float

    async def tell(self) -> None:
        """Tell it from the beginning to the end; raises DemoError where it comes otherwise."""
        version = (await self.kubectl.list(FLOW_API, "JobFlow"))["metadata"]["resourceVersion"]
        following = asyncio.ensure_future(self.follow(version))
        try:
            await self.apply_examples()
            await self.make_mistakes()
            await self.show_until_done(following)
        finally:
            following.cancel()
        took = self.now()
        await self.show_what_is_left()
        self.screen.say(
            f"\n{len(JOBFLOWS)} JobFlows with {self.timeline.entries} Jobs came to Succeed in {took:.0f} s, "
            f"{len(MISTAKES) + 1} mistakes of {len(MISTAKES) + 1} were refused.\n"
            "To go on by yourself: `make up` leaves all of this running for kubectl; README.md has the tour."
        )

    def now(self) -> float:
        """Return the seconds since the story began."""
        return time.monotonic() - self.begin

    async def apply_examples(self) -> None:
        """Apply the manifests of examples/."""
        self.screen.say(f"\n$ kubectl apply {' '.join(f'-f {path}' for path in EXAMPLES)}")
        async with aclosing(self.kubectl.apply([ROOT / path for path in EXAMPLES])) as lines:
            async for line in lines:
                self.screen.say(line)

    async def make_mistakes(self) -> None:
        """Try what the webhook must refuse."""
        self.screen.say("\nThey run. Meanwhile four mistakes, and what the webhook says to each.")
        for what, path in MISTAKES:

            async def apply(path: str = path) -> None:
                async with aclosing(self.kubectl.apply([ROOT / path])) as lines:
                    async for _ in lines:
                        pass

            await self.expect_refusal(what, f"kubectl apply -f {path}", apply)
        what = "The deletion of a JobFlow that runs: days of work may hang on it."
        await self.expect_refusal(
            what, f"kubectl delete jobflow {KEPT}", lambda: self.kubectl.delete(FLOW_API, "JobFlow", KEPT)
        )

    async def expect_refusal(self, what: str, command: str, attempt: Callable[[], Awaitable[object]]) -> None:
        """Try something and show how it is refused."""
        self.screen.say(f"\n# {what}\n$ {command}")
        try:
            await attempt()
        except RefusedError as refused:
            self.screen.say(str(refused))
        else:
            raise DemoError(f"`{command}` was not refused")

    async def follow(self, version: str) -> None:
        """Take in what happens to JobFlows, from the beginning until all have finished."""
        async with aclosing(self.kubectl.watch(FLOW_API, "JobFlow", version)) as events:
            async for event in events:
                self.screen.say_changes(self.timeline.see(event["object"], self.now()))
                if self.timeline.finished:
                    return

    async def show_until_done(self, following: asyncio.Future[None]) -> None:
        """Show the JobFlows until all have finished, and see that they have come to Succeed."""
        heading = "one bar for each Job" if self.screen.is_terminal else "as they have run since, and run on"
        self.screen.say(f"\nThe JobFlows, {heading}")
        self.screen.release()
        while not following.done():
            if self.now() > ALL_DONE_WITHIN:
                raise DemoError(f"after {ALL_DONE_WITHIN:.0f} s not all JobFlows have finished")
            self.screen.draw(self.timeline, self.now())
            await asyncio.wait([following], timeout=0.1)
        await following
        self.screen.draw(self.timeline, self.now())
        for name, run in self.timeline.runs.items():
            if run is None or run.phase != "Succeed":
                raise DemoError(f"JobFlow {name} " + (f"is {run.phase}: {run.message}" if run else "was never seen"))

    async def show_what_is_left(self) -> None:
        """Show what the retain policy has done, and that what has finished may be deleted."""
        self.screen.say(f"\n# {CLEANED} has jobRetainPolicy delete: its Jobs are cleaned away, the JobFlow stays.")
        await self.wait_until_gone(CLEANED)
        kept = await self.jobs_of(*JOBFLOWS)
        self.screen.say("\n".join(["$ kubectl get jobs.batch.volcano.sh -o name", *kept]))
        self.screen.say(f"\n# {KEPT} has finished, so now it may be deleted, and its Jobs go with it.")
        self.screen.say(f"$ kubectl delete jobflow {KEPT}\n{await self.kubectl.delete(FLOW_API, 'JobFlow', KEPT)}")
        await self.wait_until_gone(KEPT)

    async def jobs_of(self, *jobflows: str) -> list[str]:
        """Return the names of all Jobs of these JobFlows, as kubectl prints them."""
        listed = (await self.kubectl.list(BATCH_API, "Job"))["items"]
        return sorted(
            f"job.batch.volcano.sh/{job['metadata']['name']}"
            for job in listed
            if any(owner["name"] in jobflows for owner in job["metadata"].get("ownerReferences", []))
        )

    async def wait_until_gone(self, jobflow: str) -> None:
        """Wait until a JobFlow has no Jobs any more."""
        try:
            async with asyncio.timeout(GONE_WITHIN):
                while True:
                    if not await self.jobs_of(jobflow):
                        return
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise DemoError(f"the Jobs of {jobflow} are still there after {GONE_WITHIN:.0f} s") from None
