"""The rules of a controller that is trusted with days of work, each left out."""

from typing import Final

from tests.mutants.mutant import Edit, Mutant, mutant

LIVE: Final = "controller/jobflow/live.py"
CREATING: Final = "controller/jobflow/creating.py"
PROGRESS: Final = "controller/jobflow/progress.py"
PLAN: Final = "controller/jobflow/plan.py"
PASS: Final = "controller/jobflow/one_pass.py"
LOOK: Final = "controller/jobflow/look.py"
CLIENT: Final = "shared/kube/client.py"
HTTP: Final = "shared/kube/http_transport.py"
LEADER: Final = "controller/runtime/leader.py"

RECONCILE: Final = "tests/controller/jobflow/test_reconcile.py::test_"
GUARDS: Final = "tests/controller/jobflow/test_reconcile_guards.py::test_"
OF_PLAN: Final = "tests/controller/jobflow/test_plan.py::test_"
OF_PROGRESS: Final = "tests/controller/jobflow/test_progress.py::test_"
OF_LIVE: Final = "tests/controller/jobflow/test_live.py::test_"
OF_LOOK: Final = "tests/controller/jobflow/test_look.py::test_"
OF_CLIENT: Final = "tests/shared/kube/test_client.py::TestRequests::test_"
OF_CLUSTER: Final = "tests/controller/test_cluster.py::test_"
OF_CLAIMING: Final = "tests/controller/runtime/test_leader_claiming.py::test_"
OF_HOLDING: Final = "tests/controller/runtime/test_leader_holding.py::test_"

HARDENED: Final[tuple[Mutant, ...]] = (
    # A live look before every create and delete
    mutant(
        "no-live-look",
        "What the cache shows allows creates and deletes.",
        f"{GUARDS}nothing_is_created_for_a_jobflow_that_is_gone_though_the_cache_still_shows_it",
        LIVE,
        "        if self._age() <= FRESH and self._is_allowed(allows):\n",
        "        if self._jobflow is not None:\n",
    ),
    mutant(
        "a-live-look-serves-for-ever",
        "What was true once allows creates for ever.",
        f"{GUARDS}nothing_is_created_for_a_jobflow_that_finished_unseen",
        LIVE,
        "FRESH: Final = 1.0",
        "FRESH: Final = 1e9",
    ),
    mutant(
        "finished-jobflows-start-jobs",
        "A live look that shows Failed does not forbid creates.",
        f"{GUARDS}nothing_is_created_for_a_jobflow_that_finished_unseen",
        LIVE,
        "    return not jobflow.metadata.is_deleting and jobflow.phase not in FINISHED",
        "    return not jobflow.metadata.is_deleting",
    ),
    mutant(
        "deleting-jobflows-start-jobs",
        "A live look that shows a deletion does not forbid creates.",
        "tests/controller/jobflow/test_deletes.py::test_nothing_is_created_for_a_jobflow_whose_deletion_is_unseen",
        LIVE,
        "    return not jobflow.metadata.is_deleting and jobflow.phase not in FINISHED",
        "    return jobflow.phase not in FINISHED",
    ),
    mutant(
        "another-spec-is-the-same-decision",
        "What was decided of one spec is done for another.",
        f"{OF_LIVE}another_spec_is_another_decision",
        LIVE,
        "if live is None or live.metadata.generation != self._jobflow.metadata.generation:",
        "if live is None:",
    ),
    mutant(
        "deletes-need-no-live-look",
        "Jobs are deleted for a JobFlow that has since changed its mind.",
        "tests/controller/jobflow/test_deletes.py::test_no_job_is_deleted_once_the_jobflow_wants_to_retain_them",
        PASS,
        "await self._live.allowing(may_delete_jobs, partial(delete, job))",
        "await delete(job, lambda: None)",
    ),
    mutant(
        "what-others-created-is-created-again",
        "A live look that tells of the Job does not keep it from being created again.",
        f"{GUARDS}what_a_live_look_shows_to_have_been_created_is_not_created_again_though_it_is_gone",
        CREATING,
        "        if self._live.tells_of(create.name) or self._is_known(create.name):\n",
        "        if self._is_known(create.name):\n",
    ),
    mutant(
        "what-came-and-went-meanwhile-is-created-again",
        "What the watch tells during a live look does not keep a Job from being created again.",
        f"{GUARDS}what_another_controller_creates_and_somebody_deletes_during_a_live_look_is_not_created_again",
        CREATING,
        "        if self._live.tells_of(create.name) or self._is_known(create.name):\n",
        "        if self._live.tells_of(create.name):\n",
    ),
    # Own means owner uid
    mutant(
        "own-by-name",
        "A Job is the JobFlow's own if it bears the name.",
        f"{OF_LOOK}a_job_is_the_jobflows_own_by_the_uid_of_its_owner_and_by_nothing_else",
        LOOK,
        "{job.name: job for job in caches.jobs.indexed(OWNER, jobflow.uid)}",
        "{job.name: job for job in caches.jobs if job.name.startswith(jobflow.name)}",
    ),
    mutant(
        "strangers-are-not-seen",
        "That a name is taken is found out by trying.",
        f"{OF_LOOK}a_job_without_an_owner_is_a_stranger",
        LOOK,
        "        if job and job.owner_uid != jobflow.uid:\n",
        "        if False:\n",
    ),
    mutant(
        "what-exists-already-is-ours",
        "AlreadyExists is taken for success, whoever owns the Job.",
        f"{GUARDS}a_strangers_job_that_the_cache_does_not_show_is_never_adopted",
        CREATING,
        "    return job if job.owner_uid == jobflow.uid else NOT_OURS",
        "    return job",
    ),
    mutant(
        "what-exists-already-is-a-strangers",
        "AlreadyExists is not looked up: a create whose answer was lost is a conflict.",
        f"{GUARDS}a_create_whose_answer_was_lost_is_found_again",
        CREATING,
        "            found = await find_job(self._cluster, self._jobflow, create.name)\n",
        "            found: Job | str = NOT_OURS\n",
    ),
    mutant(
        "a-name-that-was-given-up-is-a-conflict",
        "Whatever bore the name has gone, and is waited for all the same.",
        f"{GUARDS}a_name_that_was_given_up_while_it_was_asked_for_is_no_conflict",
        CREATING,
        "            if found == GONE:  # whatever",
        "            if found == '':  # whatever",
    ),
    # Ever created is never created again; Completed is for good
    mutant(
        "created-again",
        "An entry whose Job was created may be created again.",
        f"{OF_PLAN}a_job_that_was_created_once_is_never_created_again",
        PLAN,
        "        if flow.name in progress.states or flow.name in underway or",
        "        if flow.name in underway or",
    ),
    mutant(
        "completed-is-forgotten",
        "What was Completed is what its Job says now.",
        f"{OF_PROGRESS}completed_once_is_completed_for_good",
        PROGRESS,
        "    if before == JobPhase.COMPLETED:\n        return before\n",
        "",
    ),
    mutant(
        "last-sights-are-forgotten",
        "A Job that completes and goes at once was never seen to complete.",
        f"{RECONCILE}a_job_removed_in_the_breath_that_it_completed_counts_by_its_last_sight",
        "controller/jobflow/reconcile.py",
        "            memory.departed[old.name] = old\n",
        "",
    ),
    mutant(
        "a-later-job-proves-nothing",
        "That a successor exists does not prove what it depends on Completed.",
        f"{OF_PROGRESS}a_job_proves_that_all_it_depends_on_had_completed_whatever_the_status_has_lost",
        PROGRESS,
        "    for flow in _proven_complete(jobflow, states):\n",
        "    for flow in ():\n",
    ),
    mutant(
        "lost-without-asking",
        "A Job that a cache does not show is lost, though nobody has asked the API server.",
        f"{OF_PROGRESS}a_job_is_lost_only_after_a_live_look_did_not_find_it",
        PROGRESS,
        "    if name in seen.absent:\n        return LOST\n",
        "    if before is not None:\n        return LOST\n",
    ),
    # Only a stored Succeed deletes, and only what is Completed and ours
    mutant(
        "the-policy-does-not-matter",
        "Jobs are deleted though they are to be retained.",
        f"{OF_PLAN}jobs_are_never_deleted_under_another_policy",
        PLAN,
        "    if stored.phase != Phase.SUCCEED or not stored.deletes_jobs or",
        "    if stored.phase != Phase.SUCCEED or",
    ),
    mutant(
        "running-jobs-are-deleted",
        "A Succeed that somebody wrote by hand deletes Jobs that run.",
        f"{OF_PLAN}a_succeed_written_by_hand_deletes_no_job_that_runs",
        PLAN,
        "        if job and job.phase == JobPhase.COMPLETED and",
        "        if job and",
    ),
    # Preconditions
    mutant(
        "deletes-hit-whoever-bears-the-name",
        "A delete carries no uid.",
        f"{OF_CLIENT}a_delete_carries_the_uid_and_goes_to_the_background",
        CLIENT,
        '        preconditions = {"uid": uid, "resourceVersion": version} if version else {"uid": uid}\n',
        "        preconditions: dict[str, str] = {}\n",
    ),
    mutant(
        "a-job-that-was-changed-is-deleted-all-the-same",
        "A delete carries no resourceVersion: a Job that somebody has taken from us meanwhile goes.",
        "tests/controller/jobflow/test_deletes.py::test_a_job_that_was_changed_since_it_was_seen_is_not_deleted",
        PASS,
        "await self._means.cluster.delete_job(key, job.uid, job.version, guard)",
        'await self._means.cluster.delete_job(key, job.uid, "", guard)',
    ),
    mutant(
        "statuses-overwrite-each-other",
        "A patch of the status carries no resourceVersion.",
        "tests/controller/jobflow/test_status_patch.py::test_every_later_patch_names_it_too",
        "controller/jobflow/status_patch.py",
        "    return msgspec.json.encode([guard, *operations] if",
        "    return msgspec.json.encode([*operations] if",
    ),
    # The lease
    mutant(
        "the-guard-is-not-asked",
        "Nobody looks at the lease's deadline right before a write.",
        f"{OF_CLIENT}a_guard_has_the_last_word_before_a_write",
        HTTP,
        "                guard()\n",
        "                pass\n",
        Edit(HTTP, "            guard()  # no", "            pass  # no"),
    ),
    mutant(
        "turns-are-given-to-whoever-came-first",
        "A JobFlow of a thousand Jobs keeps all others waiting for their turn to write.",
        "tests/controller/runtime/test_turns.py::test_whoever_wants_a_thousand_turns_keeps_none_waiting_that_wants_one",
        "controller/runtime/turns.py",
        "self._owners.setdefault(owner, deque())",
        'self._owners.setdefault("", deque())',
    ),
    mutant(
        "the-guard-is-asked-before-there-is-a-connection",
        "Who is stopped while it connects sends a write of long ago.",
        f"{OF_CLIENT}a_guard_is_asked_once_there_is_a_connection_which_is_kept_where_it_refuses",
        HTTP,
        "        guarded = _guard.set(guard)\n",
        "        guarded = _guard.set(None)\n",
    ),
    mutant(
        "a-look-lasts-until-there-is-a-connection",
        "What a look allowed is sent however long ago that is by now.",
        f"{OF_LIVE}a_write_that_was_held_back_is_not_sent_if_the_next_look_forbids_it",
        LIVE,
        "            if self._monotonic() > until:\n",
        "            if False:\n",
    ),
    mutant(
        "creates-have-no-guard",
        "Jobs are created by whoever once led.",
        f"{OF_CLUSTER}the_guard_is_asked_before_every_write",
        "controller/cluster.py",
        "self._client.create(JOBS, namespace, manifest, guard=self._and(guard))",
        "self._client.create(JOBS, namespace, manifest, guard=guard)",
    ),
    mutant(
        "deletes-have-no-guard",
        "Jobs are deleted by whoever once led.",
        f"{OF_CLUSTER}the_guard_is_asked_before_every_write",
        "controller/cluster.py",
        "uid=uid, version=version, guard=self._and(guard))",
        "uid=uid, version=version, guard=guard)",
    ),
    mutant(
        "whoever-once-led-writes-on",
        "The guard lets everything through.",
        f"{OF_HOLDING}after_a_long_stop_the_guard_refuses_and_the_leader_ends_without_a_request",
        LEADER,
        "        if not self.leads:\n            raise NotLeading\n",
        "",
    ),
    mutant(
        "the-deadline-counts-from-the-answer",
        "A claim that took long holds longer than others wait for it.",
        f"{OF_CLAIMING}a_claim_counts_from_the_moment_at_which_it_was_sent",
        LEADER,
        "        self._until = asked_at + self._terms.renew_deadline\n        self._metrics.leads(True)\n",
        "        self._until = self._monotonic() + self._terms.renew_deadline\n        self._metrics.leads(True)\n",
    ),
    mutant(
        "a-deleted-lease-is-free",
        "A Lease that somebody deletes is claimed while its holder still writes.",
        f"{OF_HOLDING}a_candidate_that_knew_the_holder_of_a_deleted_lease_leaves_it_a_whole_term",
        "controller/runtime/election.py",
        "            self.since, self.deleted = (self.since if self.deleted else now), True\n",
        "            self.record, self.deleted = None, True\n",
    ),
    mutant(
        "a-lease-that-is-gone-is-taken-back",
        "A leader whose Lease was taken goes on renewing it.",
        f"{OF_HOLDING}a_leader_whose_lease_is_gone_ends_at_its_next_renewal_and_leaves_it_alone",
        LEADER,
        "            if not self._is_ours():\n                holder =",
        "            if False:\n                holder =",
    ),
)
