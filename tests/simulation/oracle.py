"""Judge every write that a program sends, by the invariants I1 to I10, I12 and I13.

What is judged is the truth in the store, not what programs believe; only for what cannot be known is it asked what they
were shown. The one exception to I2, the known window, is `in_the_known_window`.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec

from shared.api.meta import Key
from shared.kube.transport import Answer
from tests.simulation.calls import Call
from tests.simulation.history import History
from tests.simulation.loop import BEGINNING, Process, SeededLoop
from tests.simulation.store import Change, Object, Refusal, Store, is_deleting, key_of, owner_of, owner_uid, phase_of
from tests.simulation.truth import FAILURES, FINISHED, HANDS, FlowTruth, JobTruth, Truth

FRESH: Final = 1.0
"""Seconds that a live look serves."""

REQUEST: Final = 5.0
"""Seconds that a request may take."""

STEPS_DOWN: Final = 10.0
"""Seconds within which whoever has lost the lease to a user's hand knows it."""

HAIR: Final = 0.001

LISTS: Final = ("pendingJobs", "runningJobs", "failedJobs", "completedJobs", "terminatedJobs", "unKnowJobs")

STEPS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"Pending", "Running", "Succeed", "Failed", "Terminating"}),
    "Pending": frozenset({"Running", "Succeed", "Failed", "Terminating"}),
    "Running": frozenset({"Succeed", "Failed", "Terminating"}),
    "Succeed": frozenset({"Terminating"}),
    "Failed": frozenset({"Terminating"}),
    "Terminating": frozenset(),
}
"""The phases that may follow on each; what lies between may have been passed unseen."""


class Knowledge:
    """What one process was ever shown."""

    def __init__(self) -> None:
        self.jobs: dict[str, float] = {}
        """Uids of Jobs that it was shown while they were a JobFlow's, and when first."""
        self.completed: dict[str, float] = {}
        """Those of them that it was shown Completed."""
        self.flows: dict[Key, tuple[float, Object]] = {}
        """JobFlows as live answers showed them, and when."""
        self.told: dict[tuple[str, str], float] = {}
        """Jobs that a status which it was shown told of, by the JobFlow's uid and the Job's name, and when first."""
        self.pages: list[Object] = []
        """Those of the list of Jobs that it is at."""
        self.newest = 0


class Oracle:
    """Hears of everything, and keeps what was wrong in `violations`."""

    def __init__(self, loop: SeededLoop, store: Store, history: History) -> None:
        self._loop, self._store, self._history = loop, store, history
        self.truth = Truth(loop)
        self.violations: list[str] = []
        self.known: dict[str, Knowledge] = {}
        """By the name of the process."""
        self.writes: list[tuple[Call, Refusal | None]] = []
        """Every write that was done or refused by the store."""
        self.windows = 0
        """Second creates that the known window excuses."""
        self._arriving: Call | None = None
        self._stolen_at = -math.inf
        store.watchers.append(self._hear)

    def wrong(self, rule: str, what: str) -> None:
        """Something was wrong."""
        told = f"{rule} at {self._loop.time() - BEGINNING:.3f}: {what}"
        self.violations.append(told)
        self._history.note(self._loop.time(), "ORACLE", told)

    def knowledge(self, process: Process) -> Knowledge:
        return self.known.setdefault(process.name, Knowledge())

    # What is told

    def sent(self, call: Call) -> None:
        """A request leaves."""
        if not call.is_write:
            return
        self._leads(call, "sent")
        if call.verb == "create" and call.resource == "jobs":
            self._create_is_allowed(call)
        elif call.verb == "delete" and call.resource == "jobs":
            self._delete_is_allowed(call)
        elif call.verb == "patch" and call.subresource == "status" and call.resource in ("jobflows", "jobtemplates"):
            guards = [op for op in call.body if op["path"] == "/metadata/resourceVersion" and op["op"] != "remove"]
            if not guards or not guards[0].get("value"):
                self.wrong("I10", f"{call} has no resourceVersion")
        else:
            self.wrong("I7", f"{call} is nothing that a controller may do")

    def arrives(self, call: Call) -> None:
        """The store is going to do it."""
        self._arriving = call

    def done(self, call: Call, refusal: Refusal | None) -> None:
        """The store has done it, or refused it."""
        if call.is_write:
            self.writes.append((call, refusal))
            self._leads(call, "done")

    def answered(self, call: Call, answer: Answer) -> None:
        """The process has got the answer."""
        known = self.knowledge(call.process)
        if not 200 <= answer.status < 300:
            return
        if call.result is not None and call.resource == "jobflows":
            self._looked(known, call.key, call.result)
        if call.verb == "list" and call.resource == "jobflows":
            self._is_told(known, call.listed[1])
        if call.result is not None and call.resource == "jobs":
            self._learn(known, [call.result])
        if call.verb == "list" and call.resource == "jobs":
            self._listed(known, call)

    def _looked(self, known: Knowledge, key: Key, jobflow: Object) -> None:
        """A live answer counts if none that is newer came before it: a slow one may have been overtaken."""
        before = known.flows.get(key)
        if before is None or version_of(jobflow) >= version_of(before[1]):
            known.flows[key] = self._loop.time(), jobflow
        self._is_told(known, [jobflow])

    def _listed(self, known: Knowledge, call: Call) -> None:
        """A page counts once the list is whole, and if it is no older than what was listed before."""
        version, items = call.listed
        if not any(name == "continue" for name, _ in call.request.query):
            known.pages.clear()
        known.pages += items
        if not call.more and version >= known.newest:
            known.newest = version
            self._learn(known, known.pages)

    def knows(self, process: Process, resource: str, objects: Iterable[Object]) -> None:
        """A watch has shown it these."""
        if resource == "jobs":
            self._learn(self.knowledge(process), objects)
        elif resource == "jobflows":
            self._is_told(self.knowledge(process), objects)

    def _leads(self, call: Call, how: str) -> None:
        """Nothing is sent, and nothing arrives, once the Lease is a rival's. When a user has taken it from whoever
        held it, they cannot know before they renew it."""
        for lease in self._store.objects["leases"].values():
            holder = lease["spec"].get("holderIdentity")
            if holder and holder != call.process.name and self._loop.time() > self._stolen_at + STEPS_DOWN:
                self.wrong("I13", f"{call} is {how} by {call.process.name}, and {holder} holds the lease")

    def _learn(self, known: Knowledge, jobs: Iterable[Object]) -> None:
        for job in jobs:
            uid = job["metadata"]["uid"]
            if uid in self.truth.jobs and owner_uid(job) == self.truth.owner[uid].uid:
                known.jobs.setdefault(uid, self._loop.time())
                if phase_of(job) == "Completed":
                    known.completed.setdefault(uid, self._loop.time())

    def _is_told(self, known: Knowledge, jobflows: Iterable[Object]) -> None:
        for jobflow in jobflows:
            for entry in jobflow.get("status", {}).get("jobStatusList") or ():
                known.told.setdefault((jobflow["metadata"]["uid"], entry["name"]), self._loop.time())

    def _hear(self, change: Change) -> None:
        if change.by in HANDS:
            self.truth.hear(change)
            if change.resource == "leases":
                self._stolen_at = self._loop.time()
            return
        flow = self._flow_of(change)
        before = flow.phase() if flow else ""
        if change.resource == "jobs" and change.kind == "ADDED":
            self._create_was_right(change, flow)
        elif change.resource == "jobs" and change.kind != "DELETED" and not is_deleting(change.new):
            self.wrong("I7", f"{change.by} changes Job {key_of(change.new).name}")
        self.truth.hear(change)
        if change.resource == "jobflows" and flow and change.old:
            self._status_is_right(flow, change.by, before, change.old.get("status", {}), change.new.get("status", {}))

    def _flow_of(self, change: Change) -> FlowTruth | None:
        if change.resource == "jobflows":
            return self.truth.flows.get(change.new["metadata"]["uid"])
        owner = owner_of(change.new)
        return self.truth.flows.get(owner["uid"]) if owner else None

    # Creates

    def _create_is_allowed(self, call: Call) -> None:
        owner = owner_of(call.body)
        if owner is None:
            self.wrong("I7", f"{call} has no owner")
            return
        look = self.knowledge(call.process).flows.get(Key(call.key.namespace, owner["name"]))
        if look is None or call.at - look[0] > FRESH + HAIR:
            self.wrong("I3", f"{call} without a live look of the last second")
        elif look[1]["metadata"]["uid"] != owner["uid"]:
            self.wrong("I3", f"{call} for a JobFlow that was seen to be another")
        elif is_deleting(look[1]) or phase_of(look[1]) in FINISHED:
            self.wrong("I3", f"{call} for a JobFlow that was seen to be {phase_of(look[1])} or deleting")
        flow = self.truth.flows.get(owner["uid"])
        if flow is None:
            self.wrong("I3", f"{call} for a JobFlow that never was")
            return
        since = [at for at in (flow.finished_at, flow.deleting_at, flow.gone_at) if at is not None]
        if since and call.at - min(since) > FRESH + REQUEST + HAIR:
            self.wrong("I3", f"{call} {call.at - min(since):.1f} s after {flow.name} was finished, deleting or gone")

    def _create_was_right(self, change: Change, flow: FlowTruth | None) -> None:
        name = key_of(change.new).name
        if flow is None:
            self.wrong("I3", f"{change.by} creates {name} for a JobFlow that never was")
            return
        earlier = flow.jobs.get(name, [])
        if earlier and not flow.tampered and not self._was_on_its_way(earlier):
            if self._in_the_known_window(change.by, flow, earlier):
                self.windows += 1
            else:
                self.wrong("I2", f"{change.by} creates {name} of {flow.uid} for the {len(earlier) + 1}. time")
        horizon = self._loop.time() - FRESH - 2 * REQUEST
        specs = [entries for _, entries in flow.specs[:-1]] if len(flow.specs) > 1 else []
        recent = [spec for (_, spec), (until, _) in pairwise(flow.specs) if until >= horizon] if specs else []
        if not any(self._may_start(flow, name, spec) for spec in [*recent, flow.entries]):
            self.wrong("I1", f"{change.by} creates {name} before all that it depends on was Completed")

    def _was_on_its_way(self, earlier: list[JobTruth]) -> bool:
        """The create was sent while the Job before was still there, and came after it had gone: no guard sees that."""
        call, gone_at = self._arriving, earlier[-1].gone_at
        return call is not None and call.verb == "create" and gone_at is not None and call.at < gone_at

    def _may_start(self, flow: FlowTruth, name: str, spec: Mapping[str, tuple[str, ...]]) -> bool:
        entry = name.removeprefix(flow.name + "-")
        if entry not in spec:
            return False
        return flow.tampered or all(flow.was(target, "Completed") for target in spec[entry])

    def _in_the_known_window(self, by: str, flow: FlowTruth, earlier: list[JobTruth]) -> bool:
        """The Jobs that were there before are gone, and whoever creates again was shown none of them, nor a status that
        tells of them: by no answer, no list, no watch, no read."""
        if any(job.gone_at is None for job in earlier):
            return False
        known, sent_at = self.known[by], self._loop.time() if self._arriving is None else self._arriving.at
        if known.told.get((flow.uid, earlier[-1].name), math.inf) < sent_at:
            return False
        return not any(self._knew(known.jobs, job) for job in earlier)

    def _knew(self, shown: Mapping[str, float], job: JobTruth) -> bool:
        """Whoever sent what arrives now had been shown that Job before it was sent."""
        return job.uid in shown and (self._arriving is None or shown[job.uid] < self._arriving.at)

    # Deletes

    def _delete_is_allowed(self, call: Call) -> None:
        conditions = (call.body or {}).get("preconditions", {})
        uid, version = conditions.get("uid"), conditions.get("resourceVersion")
        job = self.truth.jobs.get(uid or "")
        if not uid:
            self.wrong("I10", f"{call} has no uid")
        elif job is None or job.name != call.key.name:
            self.wrong("I6", f"{call} of a Job that was never ours")
        elif not self._may_go(job, self._store.bodies.get(("jobs", version or ""))):
            self.wrong("I6", f"{call} of a Job that is not ours and Completed")
        else:
            flow = self.truth.owner[uid]
            look = self.knowledge(call.process).flows.get(Key(call.key.namespace, flow.name))
            if flow.phase() != "Succeed" and flow.gone_at is None and flow.deleting_at is None:
                self.wrong("I6", f"{call} though {flow.name} is stored as {flow.phase() or 'nothing'}")
            if flow.policy != "delete":
                self.wrong("I6", f"{call} though the policy of {flow.name} is {flow.policy}")
            if look is None or call.at - look[0] > FRESH + HAIR or phase_of(look[1]) != "Succeed":
                self.wrong("I6", f"{call} without a live look of the last second that showed Succeed")

    def _may_go(self, job: JobTruth, seen: bytes | None) -> bool:
        """The Job is ours and Completed: as it was seen, where no other version of it can be hit, else as it is."""
        if seen is None:
            return "Completed" in job.phases and not job.disowned
        shown = msgspec.json.decode(seen)
        return phase_of(shown) == "Completed" and owner_uid(shown) == self.truth.owner[job.uid].uid

    # The status

    def _status_is_right(self, flow: FlowTruth, by: str, before: str, old: Any, new: Any) -> None:
        after = flow.phase()
        if before != after:
            self._step_is_right(flow, by, before if before in STEPS else "", after)
        lists = [new.get(name) or [] for name in LISTS]
        told = [entry["name"] for entry in new.get("jobStatusList") or ()]
        every = [name for names in lists for name in names]
        if any(names != sorted(names) for names in lists):
            self.wrong("I12", f"a list of {flow.name} is not sorted")
        if len(set(every)) != len(every) or set(every) != set(told) or len(set(told)) != len(told):
            self.wrong("I12", f"the lists of {flow.name} are no partition: {lists} of {told}")
        if flow.tampered:
            return
        strangers = [name for name in told if name not in flow.jobs]
        if strangers:
            self.wrong("I7", f"{flow.name} counts {strangers}, which were never its own")
        self._nothing_is_forgotten(flow, old, new)

    def _step_is_right(self, flow: FlowTruth, by: str, before: str, after: str) -> None:
        if after not in STEPS[before] or (after == "Terminating") != is_deleting(flow.latest):
            self.wrong("I4", f"{by} takes {flow.name} from {before or 'nothing'} to {after}")
        if flow.tampered:
            return
        if after == "Succeed":
            missing = [entry for entry in flow.entries if not flow.was(entry, "Completed")]
            if missing or not flow.entries:
                self.wrong("I5", f"{by} says that {flow.name} is Succeed, and {missing} never completed")
        if after == "Failed" and not any(self._may_count_as_failed(by, flow, entry) for entry in flow.entries):
            self.wrong("I5", f"{by} says that {flow.name} is Failed, and no Job failed, was terminated or lost")

    def _may_count_as_failed(self, by: str, flow: FlowTruth, entry: str) -> bool:
        if flow.was(entry, *FAILURES):
            return True
        if flow.job_name(entry) in flow.completed:
            return False
        return any(job.lost and not self._knew(self.known[by].completed, job) for job in flow.own(entry))

    def _nothing_is_forgotten(self, flow: FlowTruth, old: Any, new: Any) -> None:
        now = {entry["name"]: entry for entry in new.get("jobStatusList") or ()}
        for was in old.get("jobStatusList") or ():
            entry = now.get(was["name"])
            if entry is None:
                self.wrong("I12", f"{flow.name} has forgotten {was['name']}")
                continue
            if was.get("state") == "Completed" != entry.get("state"):
                self.wrong("I4", f"{was['name']} of {flow.name} was Completed and is {entry.get('state')}")
            steps, then = entry.get("runningHistories") or [], was.get("runningHistories") or []
            kept = [(it.get("state"), it.get("startTimestamp")) for it in steps[: len(then)]]
            if kept != [(it.get("state"), it.get("startTimestamp")) for it in then]:
                self.wrong("I12", f"the history of {was['name']} is not kept: {then} became {steps}")


def version_of(obj: Object) -> int:
    """The resourceVersion; the store counts them."""
    return int(obj["metadata"]["resourceVersion"])
