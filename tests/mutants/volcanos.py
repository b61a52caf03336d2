"""The faults of Volcano's own controller, brought back one by one."""

from typing import Final

from tests.mutants.mutant import Edit, Mutant, mutant

PASS: Final = "controller/jobflow/one_pass.py"
PLAN: Final = "controller/jobflow/plan.py"
PHASE: Final = "controller/jobflow/phase.py"
PROGRESS: Final = "controller/jobflow/progress.py"
STATUS: Final = "controller/jobflow/status.py"
TEMPLATE: Final = "controller/jobtemplate/status.py"
RULES: Final = "shared/rules/jobflow.py"

FAULTS: Final = "tests/controller/volcanos_faults/test_volcanos_faults.py::test_"
RECONCILE: Final = "tests/controller/jobflow/test_reconcile.py::test_"
GUARDS: Final = "tests/controller/jobflow/test_reconcile_guards.py::test_"
OF_PHASE: Final = "tests/controller/jobflow/test_phase.py::test_"
OF_PLAN: Final = "tests/controller/jobflow/test_plan.py::test_"
OF_MODEL: Final = "tests/model/test_model.py::test_"
OF_STATUS: Final = "tests/controller/jobflow/test_status.py::test_"
OF_TEMPLATE: Final = "tests/controller/jobtemplate/test_jobtemplate.py::test_"
OF_RULES: Final = "tests/shared/rules/test_jobflow.py::test_"

VOLCANOS: Final[tuple[Mutant, ...]] = (
    mutant(
        "b1-what-could-not-be-stored-is-believed",
        "What was decided counts as stored although its write failed.",
        f"{FAULTS}a_failure_that_could_not_be_stored_is_stored_as_soon_as_it_can_be",
        PASS,
        "            await self._live.look()\n            raise\n",
        "            self._memory.newest = msgspec.structs.replace(jobflow, status=wanted)\n            return\n",
        Edit(
            PASS, "from controller.jobflow.actions import", "import msgspec\n\nfrom controller.jobflow.actions import"
        ),
    ),
    mutant(
        "b2-jobs-go-before-succeed-is-stored",
        "Jobs are deleted as soon as all have Completed, whatever is stored.",
        f"{FAULTS}a_controller_that_is_killed_before_succeed_is_stored_deletes_and_repeats_nothing",
        PLAN,
        "    if stored.phase != Phase.SUCCEED or not stored.deletes_jobs or",
        "    jobs = [seen.jobs.get(child_name(stored.name, flow.name)) for flow in stored.flows]\n"
        "    if not all(job and job.phase == JobPhase.COMPLETED for job in jobs) or not stored.deletes_jobs or",
        Edit(
            PASS, "await self._live.allowing(may_delete_jobs, partial(delete, job))", "await delete(job, lambda: None)"
        ),
        Edit(
            PASS,
            "            pause = self._store(known)\n",
            "            await self._delete_each(self._leftovers())\n            pause = self._store(known)\n",
        ),
    ),
    mutant(
        "b2-any-phase-deletes",
        "Jobs are deleted although the JobFlow has not succeeded.",
        f"{OF_PLAN}jobs_are_deleted_once_succeed_is_stored_and_the_policy_says_so",
        PLAN,
        "    if stored.phase != Phase.SUCCEED or not stored.deletes_jobs or",
        "    if not stored.deletes_jobs or",
    ),
    mutant(
        "b3-counted-before-the-write",
        "A transition whose write fails is counted, and again with the next one.",
        f"{FAULTS}a_transition_counts_once_however_often_its_write_fails",
        PASS,
        "            async with self._means.writes.first():\n                asked_at =",
        "            self._means.counters.count(jobflow.namespace, before=jobflow.phase, after=wanted.state.phase)\n"
        "            async with self._means.writes.first():\n                asked_at =",
    ),
    mutant(
        "b4-the-cache-is-the-only-memory",
        "A Job that finished and has gone is created again.",
        f"{RECONCILE}jobs_removed_after_they_completed_stay_done",
        PROGRESS,
        "    remembered = {entry.name: entry.state for entry in jobflow.status.job_status_list}\n",
        "    remembered: dict[str, str] = {}\n",
        Edit(PROGRESS, "    for flow in _proven_complete(jobflow, states):\n", "    for flow in ():\n"),
    ),
    mutant(
        "b5-a-missing-template-ends-the-round",
        "What comes after an entry without its template is not started.",
        f"{OF_PLAN}an_entry_without_its_template_waits_and_the_others_go_on",
        PLAN,
        "        if template is None or name in seen.strangers:\n            continue\n",
        "        if template is None or name in seen.strangers:\n            return\n",
    ),
    mutant(
        "b5-a-refusal-ends-the-pass",
        "A Job that is refused is a failure of the API server like any other.",
        f"{RECONCILE}a_refused_job_is_tried_again_with_growing_pauses_and_told_in_the_servers_words",
        "controller/jobflow/creating.py",
        "            return RefusedJob(create.flow, create.template_version, refusal.message)\n",
        "            raise refusal from None\n",
    ),
    mutant(
        "b5-a-template-wakes-nobody",
        "Whoever waits for a template is not told that it is there.",
        f"{RECONCILE}a_template_that_comes_later_wakes_the_jobflow",
        "controller/jobflow/triggers.py",
        "    for jobflow in jobflows.indexed(TEMPLATE, str(template.key)):\n",
        "    for jobflow in ():\n",
    ),
    mutant(
        "b7-one-transition-in-a-pass",
        "Where all finished at once, Running is stored and nobody looks again.",
        f"{OF_PHASE}a_phase_follows_the_table_until_no_row_fits",
        PHASE,
        "    while (after := _next(settled, jobs)) is not None:\n",
        "    if (after := _next(settled, jobs)) is not None:\n",
    ),
    mutant(
        "b8-terminated-is-no-failure",
        "A Terminated Job beside one that runs does not fail the JobFlow.",
        f"{FAULTS}a_terminated_job_fails_the_jobflow_at_once_whatever_runs_beside_it",
        PHASE,
        "    return jobs.any(JobPhase.FAILED, JobPhase.TERMINATED, LOST)\n",
        "    return jobs.any(JobPhase.FAILED, LOST)\n",
    ),
    mutant(
        "b8-what-has-begun-comes-first",
        "A JobFlow with a failed Job is Running at first.",
        f"{OF_MODEL}in_every_state_the_invariants_hold_one_pass_is_enough_and_luck_leads_to_succeed[a b]",
        PHASE,
        "((_has_failed, Phase.FAILED), (_has_begun, Phase.RUNNING))",
        "((lambda jobs: _has_failed(jobs) and not _has_begun(jobs), Phase.FAILED), (_has_begun, Phase.PENDING))",
    ),
    mutant(
        "b9-completing-is-in-no-list-of-its-own",
        "Jobs that are completing are unknown.",
        f"{OF_STATUS}each_phase_of_a_job_has_its_list",
        "controller/workloads/volcano_job.py",
        '    JobPhase.COMPLETING: "completed_jobs",\n',
        "",
    ),
    mutant(
        "b10-a-name-may-appear-twice",
        "A JobFlow that can never finish is taken.",
        f"{OF_RULES}a_jobtemplate_appears_once",
        RULES,
        "        if flow.name in seen and flow.name:\n",
        "        if False:\n",
    ),
    mutant(
        "b11-jobs-are-counted-and-not-entries",
        "A Job of an entry that was taken out counts for one that is there.",
        f"{FAULTS}an_entry_that_is_taken_out_counts_no_more_and_its_job_is_left_alone",
        PROGRESS,
        "    return Progress(states, completed, len(jobflow.flows))\n",
        "    jobs = {name: job.phase for name, job in seen.jobs.items() if name not in names.values()}\n"
        "    return Progress({**states, **jobs}, completed, len(jobflow.flows))\n",
    ),
    mutant(
        "b12-labels-of-any-length",
        "The Job of a JobFlow with a long name is refused for ever.",
        f"{OF_PLAN}a_label_that_would_be_too_long_is_cut_and_its_annotation_has_the_whole",
        "controller/jobflow/build.py",
        "{key: label_value(value) for key, value in marks.items()}",
        "{key: value for key, value in marks.items()}",
    ),
    mutant(
        "b12-names-of-any-length",
        "A JobFlow whose Pods could never be created is taken.",
        f"{OF_RULES}a_job_name_leaves_room_for_the_names_of_pods",
        RULES,
        "        if excess > 0 and names.is_subdomain(name):\n",
        "        if False:\n",
    ),
    mutant(
        "b14-whoever-bears-the-name-is-ours",
        "The Jobs of a JobFlow that was deleted satisfy the dependencies of the next one of its name.",
        f"{GUARDS}a_jobflow_created_again_under_its_name_does_not_take_over_the_jobs_of_the_first",
        "controller/jobflow/look.py",
        "{job.name: job for job in caches.jobs.indexed(OWNER, jobflow.uid)}",
        "{job.name: job for job in caches.jobs if job.name.startswith(jobflow.name)}",
    ),
    mutant(
        "b15-a-deletion-is-not-heeded",
        "A JobFlow that is being deleted keeps its phase, and goes on.",
        f"{OF_PHASE}a_jobflow_that_is_being_deleted_is_terminating_from_every_phase",
        PHASE,
        "    if seen.jobflow.metadata.is_deleting:\n        return Phase.TERMINATING\n",
        "",
    ),
    mutant(
        "b15-what-has-finished-starts-jobs",
        "A JobFlow that has failed, or is being deleted, starts what is ready.",
        f"{OF_PLAN}a_finished_jobflow_starts_nothing",
        PLAN,
        "    if seen.faults or phase_of(seen, progress) in FINISHED:\n",
        "    if seen.faults:\n",
    ),
    mutant(
        "b16-failed-is-frozen",
        "The status of a Failed JobFlow does not change, whatever its Jobs do.",
        f"{FAULTS}after_failed_what_runs_goes_on_and_the_status_stays_true_to_it",
        PASS,
        "        if self._storing:\n            return None\n",
        '        if self._storing or known.seen.jobflow.phase == "Failed":\n            return None\n',
    ),
    mutant(
        "b17-a-job-that-is-gone-ends-the-deletes",
        "One Job that is gone keeps a pass from its end.",
        f"{FAULTS}a_job_that_is_gone_already_keeps_no_other_from_being_deleted",
        PASS,
        "        await _side_by_side(have_a_turn(job) for job in wanted)\n",
        "        for job in wanted:\n                await have_a_turn(job)\n",
        Edit(
            PASS,
            "            except NotFound:\n                return\n            except Conflict:\n",
            "            except Conflict:\n",
        ),
    ),
    mutant(
        "b19-written-though-nothing-differs",
        "A status that says the same is written with every look.",
        f"{RECONCILE}at_rest_nothing_is_written",
        PASS,
        "        if differs(stored, wanted):\n",
        "        if wanted:\n",
    ),
    mutant(
        "b19-lists-in-any-order",
        "The lists of a status have the order of chance.",
        f"{OF_STATUS}the_lists_are_a_partition_of_the_jobs_each_sorted",
        STATUS,
        "    for name in sorted(known):\n",
        "    for name in known:\n",
    ),
    mutant(
        "b20-a-history-waits-for-a-phase-before",
        "The first phase of a Job that was seen without one is left out.",
        f"{FAULTS}the_history_of_a_job_that_was_seen_without_a_phase_begins_with_its_first_one",
        "controller/jobflow/histories.py",
        "    if not recorded:\n        return steps\n",
        "    if not recorded:\n        return steps[1:]\n",
    ),
    mutant(
        "b21-a-running-job-has-an-end",
        "A Job that restarts has an end, which comes and goes.",
        "tests/controller/jobflow/test_histories.py::test_only_a_finished_job_has_an_end",
        "controller/jobflow/histories.py",
        "    if state not in FINAL and state != LOST:\n        return None\n",
        "",
    ),
    mutant(
        "b22-no-entries-are-fine",
        "A JobFlow without entries is Pending for ever, and does not say why.",
        f"{FAULTS}a_jobflow_without_entries_that_slipped_in_is_told_so",
        RULES,
        "    if not given.flows:\n",
        "    if False:\n",
    ),
    mutant(
        "b23-a-write-for-every-event",
        "Every change of a Job costs a write of the status.",
        f"{FAULTS}a_hundred_changes_of_a_job_cost_a_few_writes",
        PASS,
        "        wait = self._memory.pause_left(now)\n",
        "        wait = 0.0\n",
    ),
    mutant(
        "b24-names-without-dots",
        "A template with a dot in its name knows none of its Jobs.",
        f"{OF_TEMPLATE}a_job_is_of_the_template_that_its_annotation_names",
        TEMPLATE,
        "    return Key(namespace, name) if name and namespace == job.metadata.namespace else None\n",
        '    name = "" if "." in name else name\n'
        "    return Key(namespace, name) if name and namespace == job.metadata.namespace else None\n",
    ),
    mutant(
        "b25-the-list-never-shrinks",
        "A template names Jobs that have long gone.",
        f"{OF_TEMPLATE}the_status_names_the_jobs_that_exist_and_shrinks_when_they_go",
        "controller/jobtemplate/reconcile.py",
        "        if wanted == template.status:\n",
        "        if wanted == template.status or not wanted.job_depends_on_list:\n",
    ),
    mutant(
        "b25-the-list-has-no-end",
        "A template that thousands of Jobs are made from names them all.",
        f"{OF_TEMPLATE}of_more_than_a_thousand_jobs_a_thousand_are_named",
        TEMPLATE,
        "[:LONGEST]",
        "",
    ),
    mutant(
        "b26-the-right-to-another-resource",
        "Where owners take a right, the controller has it for Jobs and needs it for JobFlows.",
        f"{FAULTS}the_controller_may_make_jobflows_the_owners_that_block_their_deletion",
        "charts/jobflow/templates/controller-rbac.yaml",
        "    resources: [jobflows/finalizers]\n",
        "    resources: [jobs/finalizers]\n",
    ),
    mutant(
        "b29-suspended-without-a-word",
        "A JobFlow whose Job is suspended waits, and does not say for what.",
        f"{RECONCILE}a_suspended_job_is_told_for_nobody_else_will_resume_it",
        "controller/jobflow/explain.py",
        "        if state == JobPhase.ABORTED:\n",
        "        if False:\n",
    ),
)
