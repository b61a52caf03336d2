"""Every fault of Volcano's own JobFlow controller and webhook, and the tests that say what is right instead.

The faults are known from Volcano's behaviour and its issues; those of its scheduler are not ours to mend.
"""

from collections.abc import Mapping
from typing import Final

RECONCILE: Final = "tests/controller/jobflow/test_reconcile.py"
GUARDS: Final = "tests/controller/jobflow/test_reconcile_guards.py"
PLAN: Final = "tests/controller/jobflow/test_plan.py"
STATUS: Final = "tests/controller/jobflow/test_status.py"
PHASE: Final = "tests/controller/jobflow/test_phase.py"
RULES: Final = "tests/shared/rules/test_jobflow.py"
INFORMER: Final = "tests/controller/runtime/test_informer.py"
WORKER: Final = "tests/controller/runtime/test_worker.py"
QUEUE: Final = "tests/controller/runtime/test_workqueue.py"
APP: Final = "tests/controller/test_app.py"
TRIGGERS: Final = "tests/controller/jobflow/test_triggers.py"
LOOK: Final = "tests/controller/jobflow/test_look.py"
HISTORIES: Final = "tests/controller/jobflow/test_histories.py"
TEMPLATES: Final = "tests/controller/jobtemplate/test_jobtemplate.py"
OBSTACLES: Final = "tests/integration/test_obstacles.py"
DAGS: Final = "tests/integration/test_dags.py"
HERE: Final = "tests/controller/volcanos_faults/test_volcanos_faults.py"

RIGHT: Final[Mapping[str, tuple[str, ...]]] = {
    "B1 a Failed that could not be stored is lost": (
        f"{HERE}::test_a_failure_that_could_not_be_stored_is_stored_as_soon_as_it_can_be",
        f"{HERE}::test_what_was_decided_and_not_stored_is_decided_anew",
    ),
    "B2 Jobs are deleted while Running is stored": (
        f"{GUARDS}::test_succeed_is_stored_before_any_job_is_deleted",
        f"{HERE}::test_a_controller_that_is_killed_before_succeed_is_stored_deletes_and_repeats_nothing",
    ),
    "B3 the counters count a transition again when its write has failed": (
        f"{HERE}::test_a_transition_counts_once_however_often_its_write_fails",
        f"{GUARDS}::test_a_status_write_whose_answer_was_lost_counts_once",
    ),
    "B4 Jobs that have finished and gone are run again": (
        f"{RECONCILE}::test_jobs_removed_after_they_completed_stay_done",
        f"{HERE}::test_a_finished_jobflow_whose_jobs_have_gone_is_run_no_second_time_by_the_next_controller",
        f"{OBSTACLES}::test_what_has_completed_stays_completed_when_its_job_is_deleted",
    ),
    "B5 a missing template or a refused create stalls everything, and for good": (
        f"{RECONCILE}::test_a_template_that_comes_later_wakes_the_jobflow",
        f"{RECONCILE}::test_a_refused_job_is_tried_again_with_growing_pauses_and_told_in_the_servers_words",
        f"{RECONCILE}::test_one_job_that_cannot_be_created_holds_up_no_other",
        f"{PLAN}::test_an_entry_without_its_template_waits_and_the_others_go_on",
        f"{WORKER}::test_a_pass_that_fails_is_tried_again_after_growing_pauses_for_ever",
        f"{OBSTACLES}::test_an_entry_waits_for_its_template_and_the_other_branches_go_on",
    ),
    "B6 an event that was missed is never made good": (
        f"{INFORMER}::test_a_resync_wakes_everything_once_a_period_and_never_all_at_one_moment",
        f"{APP}::test_every_kind_of_change_wakes_alone_with_resync_off",
        f"{APP}::test_after_an_outage_it_catches_up_and_asks_gently",
    ),
    "B7 a JobFlow whose Jobs all finish at once stays Running": (
        f"{HERE}::test_jobs_that_all_finish_before_anyone_looks_need_no_further_event",
        f"{DAGS}::test_jobs_that_all_completed_before_anyone_looked_bring_it_to_succeed",
    ),
    "B8 a Terminated Job beside one that runs is overlooked at first": (
        f"{PHASE}::test_a_phase_follows_the_table_until_no_row_fits",
        f"{HERE}::test_a_terminated_job_fails_the_jobflow_at_once_whatever_runs_beside_it",
    ),
    "B9 Jobs that are completing or terminating are in no list": (
        f"{STATUS}::test_each_phase_of_a_job_has_its_list",
        f"{STATUS}::test_the_lists_are_a_partition_of_the_jobs_each_sorted",
        f"{DAGS}::test_only_completed_counts_as_completed",
    ),
    "B10 a JobFlow with a name twice never finishes": (
        f"{RULES}::test_a_jobtemplate_appears_once",
        f"{HERE}::test_a_name_twice_that_slipped_in_is_told_and_finishes_once_it_is_mended",
    ),
    "B11 entries that are added or taken out while it runs break the count": (
        f"{RECONCILE}::test_entries_added_while_it_runs_are_run",
        f"{HERE}::test_an_entry_that_is_taken_out_counts_no_more_and_its_job_is_left_alone",
    ),
    "B12 names and labels that are too long are refused for ever by the API server": (
        f"{RULES}::test_a_job_name_leaves_room_for_the_names_of_pods",
        f"{PLAN}::test_a_label_that_would_be_too_long_is_cut_and_its_annotation_has_the_whole",
        "tests/shared/flow/test_names.py::test_every_label_is_one_that_kubernetes_takes",
        "tests/integration/test_refusals.py::test_names_at_their_limits_are_taken_and_run",
    ),
    "B13 two JobFlows take one Job for their own": (
        f"{HERE}::test_of_two_jobflows_that_want_one_name_each_has_its_own_job_in_its_time",
        f"{GUARDS}::test_a_strangers_job_that_the_cache_does_not_show_is_never_adopted",
        f"{TRIGGERS}::test_a_name_belongs_to_whoever_can_make_it_wherever_the_hyphen_divides",
    ),
    "B14 Jobs of others, and of JobFlows that were there before, are adopted": (
        f"{GUARDS}::test_a_jobflow_created_again_under_its_name_does_not_take_over_the_jobs_of_the_first",
        f"{LOOK}::test_a_job_is_the_jobflows_own_by_the_uid_of_its_owner_and_by_nothing_else",
        f"{OBSTACLES}::test_a_jobflow_under_the_name_of_a_deleted_one_has_nothing_to_do_with_its_jobs",
        f"{OBSTACLES}::test_jobs_that_were_orphaned_are_strangers_to_the_next_jobflow",
    ),
    "B15 a JobFlow that is being deleted goes on creating Jobs": (
        f"{RECONCILE}::test_a_deleting_jobflow_is_terminating_and_starts_nothing",
        f"{PHASE}::test_a_jobflow_that_is_being_deleted_is_terminating_from_every_phase",
        "tests/integration/test_admission_operations.py::test_a_jobflow_that_waits_for_its_jobs_to_go_starts_no_more",
    ),
    "B16 the status of a Failed JobFlow is frozen": (
        f"{HERE}::test_after_failed_what_runs_goes_on_and_the_status_stays_true_to_it",
    ),
    "B17 a Job that is gone keeps the others from being deleted, and ends are not recorded": (
        f"{HERE}::test_a_job_that_is_gone_already_keeps_no_other_from_being_deleted",
        f"{HERE}::test_the_record_has_the_end_of_every_job_though_the_jobs_are_deleted",
        f"{HERE}::test_the_jobs_of_a_failed_jobflow_stay_for_whoever_looks_for_the_reason",
    ),
    "B18 a template that changes or goes breaks what runs": (
        f"{HERE}::test_each_job_is_of_the_template_as_it_is_when_the_job_is_created",
        f"{HERE}::test_a_template_that_goes_stops_only_what_still_needs_it_until_it_is_back",
    ),
    "B19 a status that says the same is written again": (
        f"{RECONCILE}::test_at_rest_nothing_is_written",
        f"{STATUS}::test_a_status_that_was_just_stored_is_still_true",
        f"{PLAN}::test_equal_snapshots_give_equal_decisions",
        "tests/integration/test_at_rest.py::test_a_finished_jobflow_is_written_no_more",
    ),
    "B20 a history may never begin": (
        f"{HERE}::test_the_history_of_a_job_that_was_seen_without_a_phase_begins_with_its_first_one",
        f"{HISTORIES}::test_a_job_without_a_phase_has_no_history_yet",
    ),
    "B21 Jobs that have not finished have an end": (
        f"{HISTORIES}::test_only_a_finished_job_has_an_end",
        f"{HISTORIES}::test_an_end_once_said_stays_when_volcano_touches_the_finished_job_again",
    ),
    "B22 a JobFlow without entries is Pending for ever and nobody knows why": (
        f"{RULES}::test_a_jobflow_has_at_least_one_entry",
        f"{HERE}::test_a_jobflow_without_entries_that_slipped_in_is_told_so",
    ),
    "B23 one worker does everything, and each event costs a write": (
        f"{WORKER}::test_several_workers_work_on_several_keys",
        f"{QUEUE}::test_a_key_that_waits_is_there_once",
        f"{HERE}::test_a_hundred_changes_of_a_job_cost_a_few_writes",
        f"{RECONCILE}::test_a_flow_costs_a_create_and_about_one_status_write_for_each_job",
    ),
    "B24 templates with a dot in their name are not tracked": (
        f"{TEMPLATES}::test_a_job_is_of_the_template_that_its_annotation_names",
    ),
    "B25 the list of a template's Jobs never shrinks": (
        f"{TEMPLATES}::test_the_status_names_the_jobs_that_exist_and_shrinks_when_they_go",
        f"{TEMPLATES}::test_the_list_is_sorted_and_capped",
    ),
    "B26 the controller may not set owners where that takes a right": (
        f"{HERE}::test_the_controller_may_make_jobflows_the_owners_that_block_their_deletion",
    ),
    "B27 two controllers in one process are one": (f"{HERE}::test_controllers_in_one_process_have_nothing_in_common",),
    "B28 the webhook checks little, takes for ever, and is off": (
        "tests/shared/flow/test_graph.py::test_the_number_of_ways_through_a_graph_costs_nothing",
        "tests/shared/rules/test_graph_bombs.py::test_the_work_grows_with_entries_and_dependencies_alone",
        "tests/webhook/test_server.py::test_a_body_of_exactly_the_most_is_read_and_one_byte_more_is_not",
        "tests/webhook/test_review.py::test_a_review_that_makes_no_sense_is_answered_with_its_uid_and_never_allowed",
        f"{RULES}::test_each_independent_cycle_is_told_once",
    ),
    "B29 a Job that is suspended is unknown, and the JobFlow waits without a word": (
        f"{RECONCILE}::test_a_suspended_job_is_told_for_nobody_else_will_resume_it",
        f"{HERE}::test_a_job_that_is_suspended_and_resumed_brings_its_jobflow_to_succeed",
    ),
}
"""The fault, and the tests whose names say what is right."""
