"""What wakes a JobFlow, how failures are tried again, and what is written: each left out."""

from typing import Final

from tests.mutants.mutant import Mutant, mutant

TRIGGERS: Final = "controller/jobflow/triggers.py"
QUEUE: Final = "controller/runtime/workqueue.py"
WORKER: Final = "controller/runtime/worker.py"
CREATING: Final = "controller/jobflow/creating.py"

GUARDS: Final = "tests/controller/jobflow/test_reconcile_guards.py::test_"
WIDE: Final = "tests/controller/jobflow/test_reconcile_wide.py::test_"
OF_TRIGGERS: Final = "tests/controller/jobflow/test_triggers.py::test_"
OF_QUEUE: Final = "tests/controller/runtime/test_workqueue.py::test_"
OF_WORKER: Final = "tests/controller/runtime/test_worker.py::test_"
OF_CACHE: Final = "tests/shared/kube/test_cache.py::test_"

CONTROLLERS: Final[tuple[Mutant, ...]] = (
    # Wakes
    mutant(
        "what-goes-wakes-nobody",
        "Only Jobs that come or change wake their JobFlow.",
        f"{OF_TRIGGERS}a_job_that_comes_changes_or_goes_wakes_its_owner",
        TRIGGERS,
        "    for job in (old, new):\n        owner =",
        "    for job in (new,):\n        owner =",
    ),
    mutant(
        "a-strangers-end-wakes-nobody",
        "Whoever waits for a name is not told that it is free.",
        f"{GUARDS}a_strangers_job_is_told_never_touched_and_makes_room_when_it_goes",
        TRIGGERS,
        "        for jobflow in claimants(job, jobflows):\n",
        "        for jobflow in ():\n",
    ),
    mutant(
        "no-resync",
        "What was missed once is missed for ever.",
        "tests/controller/runtime/test_informer.py::"
        "test_a_resync_wakes_everything_once_a_period_and_never_all_at_one_moment",
        "controller/runtime/resync.py",
        "                queue.add(key, Priority.BACKGROUND)\n",
        "                pass\n",
    ),
    mutant(
        "a-change-during-a-pass-is-dropped",
        "What happens while a pass looks at something else is not looked at.",
        f"{OF_QUEUE}a_key_in_work_is_given_to_nobody_else_and_has_another_turn_afterwards",
        QUEUE,
        "                self._again[key] = _Waiting(priority, now)\n",
        "",
    ),
    mutant(
        "an-old-event-wins",
        "A cache takes in what is older than what it holds.",
        f"{OF_CACHE}what_is_there_already_or_older_makes_no_difference",
        "shared/kube/cache.py",
        " and not is_newer(new, old):\n            return ()\n        return self._exchange",
        " and new is old:\n            return ()\n        return self._exchange",
    ),
    mutant(
        "a-deletion-hits-the-next-of-that-name",
        "A late event of deletion takes an object out of the cache that came later.",
        f"{OF_CACHE}a_deletion_tells_the_last_state_and_hits_no_other_object_of_that_name",
        "shared/kube/cache.py",
        "        if old is None or old.metadata.uid != last.metadata.uid:\n",
        "        if old is None:\n",
    ),
    mutant(
        "a-list-tells-of-no-deletions",
        "What vanished while nobody watched stays in the cache.",
        "tests/shared/kube/test_reflector_surprises.py::TestWhateverElseComes::"
        "test_what_is_no_event_makes_it_list_again_and_tell_the_difference",
        "shared/kube/cache.py",
        "        for key in [key for key in self._objects if key not in listed and within in (None, key.namespace)]:\n",
        "        for key in list[Key]():\n",
    ),
    # Retries
    mutant(
        "fifteen-tries",
        "A key that has failed fifteen times is dropped.",
        f"{OF_WORKER}a_pass_that_fails_is_tried_again_after_growing_pauses_for_ever",
        QUEUE,
        "        self._metrics.retried()\n        self.add_after(key, pause, priority)\n",
        "        self._metrics.retried()\n        if failures < 15:\n"
        "            self.add_after(key, pause, priority)\n",
    ),
    mutant(
        "retries-without-a-pause",
        "A key that fails is tried again at once, and again.",
        f"{OF_QUEUE}retries_pause_longer_each_time_to_a_bound_with_chance_in_it",
        QUEUE,
        "FIRST_RETRY * (1 << min(failures, 30))",
        "FIRST_RETRY",
    ),
    mutant(
        "retry-after-is-not-heeded",
        "A server that asks to wait is asked again.",
        f"{OF_QUEUE}a_retry_waits_at_least_as_long_as_the_server_asked",
        QUEUE,
        "at_least * self._random.uniform(1, 1.1)",
        "0.0",
    ),
    mutant(
        "what-is-not-foreseen-ends-the-worker",
        "A fault in one pass ends them all.",
        "tests/controller/runtime/test_worker.py::test_a_key_that_always_fails_delays_no_other",
        WORKER,
        "        except Exception as fault:\n",
        "        except ZeroDivisionError as fault:\n",
    ),
    mutant(
        "two-workers-on-one-key",
        "A pass of a key runs twice at the same time.",
        f"{OF_WORKER}a_change_during_a_pass_brings_another_pass_and_never_two_at_once",
        QUEUE,
        "        if key in self._processing:\n",
        "        if False:\n",
    ),
    # Writes
    mutant(
        "creates-one-after-the-other",
        "A wide JobFlow waits for each create before the next one.",
        f"{WIDE}the_creates_of_a_wide_jobflow_go_on_while_its_status_is_being_written",
        CREATING,
        "        for _ in range(min(self._width - len(self._runners), len(self._turns))):\n",
        "        for _ in range(0 if self._runners else 1):\n",
    ),
    mutant(
        "a-create-that-was-answered-is-forgotten",
        "What the cache does not show yet was not created.",
        "tests/controller/jobflow/test_look.py::test_a_create_that_was_answered_is_remembered_until_the_cache_shows_it",
        "controller/jobflow/memory.py",
        "            self.created[outcome.job.name] = (outcome.job, now)\n",
        "",
    ),
    mutant(
        "strangers-names-are-tried",
        "A name that is taken is tried again and again.",
        "tests/controller/jobflow/test_plan.py::test_a_name_that_a_stranger_bears_is_not_tried",
        "controller/jobflow/plan.py",
        "        if template is None or name in seen.strangers:\n",
        "        if template is None:\n",
    ),
    mutant(
        "a-status-may-grow-beyond-etcd",
        "The status of a large JobFlow cannot be stored.",
        "tests/controller/jobflow/test_ladder.py::test_what_is_stored_leaves_room_to_what_etcd_takes",
        "controller/jobflow/ladder.py",
        "LARGEST: Final = 1_400_000",
        "LARGEST: Final = 14_000_000",
    ),
    mutant(
        "what-must-be-remembered-is-left-out",
        "A status that is too large forgets which Jobs were created.",
        "tests/controller/jobflow/test_ladder.py::test_what_the_controller_must_remember_is_never_left_out",
        "controller/jobflow/ladder.py",
        "lambda it: JobStatus(name=it.name, state=it.state))",
        "lambda it: JobStatus(name=it.name))",
    ),
    mutant(
        "a-completion-may-wait",
        "The completion of a Job with a TTL is stored some time later, when the Job has gone.",
        "tests/controller/jobflow/test_status.py::test_a_completion_that_may_soon_have_no_witness_is_stored_at_once",
        "controller/jobflow/status.py",
        " or job.spec.ttl_seconds_after_finished is not None or job.metadata.is_deleting\n",
        " or job.metadata.is_deleting\n",
    ),
)
