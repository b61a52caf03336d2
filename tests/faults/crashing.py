"""Runs a JobFlow of four entries under a plan, once for every write that its controller makes (C01, C02, C26).

    await at_every_write(bed, controller, "kill", "delete", bed.restart)

The k-th JobFlow, in a namespace of its own, has the fault at its k-th write. That ends with the first one whose fault
never came, for it makes fewer writes.
"""

from collections.abc import Awaitable, Callable

from devcluster.faults import Fault
from tests.faults.bed import Bed
from tests.faults.plan import Plan
from tests.simulation.store import Object
from tests.support.replicas import Replica
from tests.support.workspace import jobflow, jobtemplates

DIAMOND = ("get", "clean: get", "count: get", "train: clean count")
ENTRIES = tuple(entry.partition(":")[0] for entry in DIAMOND)
JOBS = sorted(f"etl-{entry}" for entry in ENTRIES)

FEWEST, MOST = 9, 30
"""Writes that the four entries cost, deletes and JobTemplates included: fewer or more, and the enumeration is blind."""

CONVERGES = 10.0
"""Seconds within which all is as without faults, once a controller works again; for a machine that has nothing else
to do. What is waited for is `bed.PATIENCE`."""

After = Callable[[Replica], Awaitable[object]]


def diamond(policy: str | None = None) -> list[Object]:
    """Return a JobFlow of four entries with its templates."""
    return [*jobtemplates(*ENTRIES), jobflow("etl", *DIAMOND, policy=policy)]


async def at_every_write(bed: Bed, controller: Replica, do: object, policy: str, after: After) -> int:
    """Let the fault happen at each write in turn, do what is to be done then, and judge. Return how many there were."""
    for k in range(1, MOST + 1):
        namespace = f"{policy}-{k}"
        plan: Plan = [{"match": {"verb": "write", "namespace": namespace, "nth": k}, "do": do}]
        faults = bed.plan(plan, controller)
        await bed.post(namespace, *diamond(policy))
        if not await happened(bed, faults, namespace):
            if k <= FEWEST:
                bed.fail(f"just {k - 1} writes")
            bed.no_faults()
            if all(fault.seen >= fault.nth for fault in faults):  # it has befallen it in the last moment
                await after(controller)
            return k - 1
        bed.no_faults()
        await after(controller)
        await bed.until(lambda ns=namespace: bed.finished(ns, "etl"), f"{namespace} has succeeded")  # type: ignore[misc]
        judge(bed, namespace)
    raise AssertionError(f"more than {MOST} writes")


async def happened(bed: Bed, faults: list[Fault], namespace: str) -> bool:
    """Wait until the fault has happened, or the JobFlow has come to its end without it."""

    def it_did() -> bool:
        return all(fault.seen >= fault.nth for fault in faults)

    def over() -> bool:
        return it_did() or (bed.finished(namespace, "etl") and bed.templates_are_true(namespace))

    await bed.until(over, f"{namespace} has got to its fault")
    return it_did()


def judge(bed: Bed, namespace: str) -> None:
    """The end is that of a fault-free run: each Job was created once, each is told of as Completed."""
    bed.check()
    status = bed.status(namespace, "etl")
    created = [it.name for it in bed.server.writes(namespace=namespace) if it.verb == "create" and it.committed]
    if sorted(created) != JOBS:
        bed.fail(f"created in {namespace}: {sorted(created)}")
    if status.get("completedJobs") != JOBS or [it["state"] for it in status["jobStatusList"]] != ["Completed"] * 4:
        bed.fail(f"the status of {namespace} is {status}")


async def judge_all(bed: Bed) -> None:
    """All is at rest, the JobTemplates tell the truth, and nothing is left over."""
    await bed.until(bed.templates_are_true, "the JobTemplates tell of their Jobs")
    bed.check()
