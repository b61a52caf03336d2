"""The limits and exemptions of the webhook, each left out."""

from typing import Final

from tests.mutants.mutant import Edit, Mutant, mutant

INTAKE: Final = "webhook/intake.py"
CONNECTIONS: Final = "webhook/connections.py"
REVIEW: Final = "webhook/review.py"
GUARDS: Final = "webhook/guards.py"
ADMIT: Final = "webhook/admit.py"
ANSWER: Final = "shared/rules/answer.py"
RULES: Final = "shared/rules/jobflow.py"

OF_SERVER: Final = "tests/webhook/test_server.py::test_"
OF_HTTP: Final = "tests/webhook/test_http.py::test_"
OF_CONNECTIONS: Final = "tests/webhook/test_connections.py::test_"
OF_REVIEW: Final = "tests/webhook/test_review.py::test_"
OF_GUARDS: Final = "tests/webhook/test_guards.py::test_"
OF_ADMIT: Final = "tests/webhook/test_admit.py::test_"
OF_ANSWER: Final = "tests/shared/rules/test_answer.py::test_"
SURVIVORS: Final = "tests/mutants/test_survivors.py::test_"
OF_RULES: Final = "tests/shared/rules/test_jobflow.py::test_"

WEBHOOKS: Final[tuple[Mutant, ...]] = (
    # Bodies
    mutant(
        "a-body-of-any-length",
        "A body that says that it is too large is read.",
        f"{OF_SERVER}a_body_of_exactly_the_most_is_read_and_one_byte_more_is_not",
        INTAKE,
        "    if (http.content_length or 0) > MOST_BYTES:\n",
        "    if False:\n",
        Edit(INTAKE, "        if len(body) + len(chunk) > MOST_BYTES:\n", "        if False:\n"),
    ),
    mutant(
        "endless-chunks",
        "A body that does not say how large it is may be of any size.",
        f"{OF_HTTP}endless_chunks_are_cut_off_at_the_most_that_a_body_may_be",
        INTAKE,
        "        if len(body) + len(chunk) > MOST_BYTES:\n",
        "        if len(body) + len(chunk) > 8 * MOST_BYTES:\n",
    ),
    mutant(
        "compressed-bodies",
        "A body may be compressed, and be a thousand times as large.",
        f"{OF_SERVER}a_body_is_json_in_utf_8_as_it_is",
        INTAKE,
        '    if http.headers.get("Content-Encoding", "identity").lower() != "identity":\n',
        "    if False:\n",
    ),
    mutant(
        "a-body-may-take-for-ever",
        "A client that stops in the middle of its request is waited for.",
        f"{OF_CONNECTIONS}a_body_that_does_not_come_to_its_end_is_timed_out",
        INTAKE,
        "            async with asyncio.timeout_at(connection.deadline):\n",
        "            async with asyncio.timeout_at(None):\n",
        Edit(CONNECTIONS, "return self.stage is not Stage.WORKING and now > self.deadline", "return False"),
    ),
    mutant(
        "a-handshake-may-take-for-ever",
        "A client that connects and says nothing is waited for.",
        f"{OF_CONNECTIONS}a_client_that_begins_no_handshake_is_dropped",
        CONNECTIONS,
        "        self.deadline = loop.time() + limits.handshake\n",
        "        self.deadline = float('inf')\n",
        Edit(CONNECTIONS, "ssl_handshake_timeout=self._limits.handshake", "ssl_handshake_timeout=3600"),
    ),
    # Reviews
    mutant(
        "nested-as-deep-as-you-like",
        "A review may be nested as deep as its bytes reach.",
        f"{SURVIVORS}a_review_that_is_right_but_for_its_depth_is_refused",
        REVIEW,
        "    if opened > DEEPEST and _is_deeper(tree, DEEPEST):\n",
        "    if False:\n",
    ),
    mutant(
        "a-key-twice",
        "Two readers may understand one review differently.",
        f"{OF_REVIEW}json_that_two_readers_may_understand_differently_is_refused",
        REVIEW,
        "    if len(found) != len(pairs):\n",
        "    if False:\n",
    ),
    mutant(
        "any-resource-on-any-path",
        "A review of something else is judged as if it were a JobFlow.",
        f"{OF_REVIEW}a_review_that_makes_no_sense_is_answered_with_its_uid_and_never_allowed",
        REVIEW,
        "    if (request.resource.group, request.resource.resource) != (FLOW_GROUP, resource):\n",
        "    if False:\n",
    ),
    mutant(
        "a-fault-of-ours-allows",
        "What could not be judged is allowed.",
        f"{OF_SERVER}a_fault_of_ours_is_not_allowed_and_leaves_the_server_standing",
        ADMIT,
        "        return judged(broken(), error)\n",
        "        return judged(ALLOWED, error)\n",
    ),
    # Answers
    mutant(
        "all-faults-are-listed",
        "However much is wrong, all of it is listed.",
        f"{OF_ANSWER}twenty_faults_are_listed_and_the_others_counted",
        ANSWER,
        "MOST_FAULTS: Final = 20\n",
        "MOST_FAULTS: Final = 2_000\n",
    ),
    mutant(
        "an-answer-of-any-length",
        "An answer may be longer than 8 KiB.",
        f"{OF_ANSWER}the_answer_stays_under_8_kib",
        ANSWER,
        "CAUSES_BYTES: Final = 5_600\n",
        "CAUSES_BYTES: Final = 56_000\n",
    ),
    mutant(
        "a-message-of-any-length",
        "A single fault may fill the answer.",
        f"{SURVIVORS}of_a_single_fault_beyond_measure_the_beginning_is_told",
        ANSWER,
        "MESSAGE_BYTES: Final = 1_400\n",
        "MESSAGE_BYTES: Final = 1_400_000\n",
    ),
    # Deletions
    *(
        mutant(
            f"{name}-is-held-up",
            f"The {name} cannot clean up: namespaces and owned objects stay for ever.",
            f"{OF_GUARDS}who_cleans_up_the_cluster_is_never_held_up",
            GUARDS,
            f'        "{user}",\n',
            "",
        )
        for name, user in (
            ("namespace-controller", "system:serviceaccount:kube-system:namespace-controller"),
            ("garbage-collector", "system:serviceaccount:kube-system:generic-garbage-collector"),
            ("controller-manager", "system:kube-controller-manager"),
        )
    ),
    mutant(
        "allow-delete-releases-nothing",
        "Somebody who knows what they do cannot delete a JobFlow that runs.",
        f"{OF_GUARDS}a_user_can_release_a_running_jobflow_and_the_audit_log_knows",
        GUARDS,
        '    return metadata.annotation(ALLOW_DELETE) == "true"\n',
        "    return False\n",
    ),
    mutant(
        "any-value-of-allow-delete",
        "The annotation releases with whatever value.",
        f"{OF_GUARDS}any_other_value_releases_nothing",
        GUARDS,
        '    return metadata.annotation(ALLOW_DELETE) == "true"\n',
        "    return metadata.annotation(ALLOW_DELETE) is not None\n",
    ),
    mutant(
        "what-is-being-deleted-is-guarded",
        "An object that is being deleted can never go if somebody asks twice.",
        f"{OF_GUARDS}what_is_being_deleted_already_may_be_deleted_again",
        GUARDS,
        "    if username in CLEANERS or jobflow.metadata.is_deleting or",
        "    if username in CLEANERS or",
    ),
    mutant(
        "finished-jobflows-are-guarded",
        "A JobFlow that has finished cannot be deleted.",
        f"{OF_GUARDS}a_finished_jobflow_may_be_deleted",
        GUARDS,
        " or jobflow.status.state.phase in FINISHED:\n",
        ":\n",
    ),
    mutant(
        "deleted-on-a-guess",
        "Where nobody knows who uses a JobTemplate, it may go.",
        f"{OF_SERVER}where_the_users_cannot_be_known_the_jobtemplate_stays",
        "webhook/server.py",
        "            return question.give_up()\n",
        "            return question.decide(())\n",
    ),
    mutant(
        "the-api-server-may-take-for-ever",
        "A deletion waits for an API server that does not answer until that gives up on the webhook.",
        f"{OF_SERVER}the_patience_of_the_api_server_counts_where_it_is_shorter",
        "webhook/server.py",
        "        patience = min(self._limits.answer, 0.8 * patience_of(http))\n",
        "        patience = 30.0\n",
    ),
    # Updates
    mutant(
        "todays-rules-for-yesterdays-objects",
        "A JobFlow that today's rules refuse cannot be labelled any more.",
        f"{OF_ADMIT}a_jobflow_that_todays_rules_refuse_stays_editable",
        ADMIT,
        "    return invalid(faults) if faults else ALLOWED\n\n\ndef delete_jobflow",
        "    return invalid(faults) if faults else create_jobflow(request, _)\n\n\ndef delete_jobflow",
    ),
    mutant(
        "a-spec-may-change",
        "The spec of a JobFlow may change under the Jobs that run.",
        f"{OF_ADMIT}a_change_of_the_spec_is_refused_and_its_places_are_named",
        ADMIT,
        '    faults = faults_on_update(request.old.get("spec"), request.new.get("spec"))\n',
        "    faults = ()\n",
    ),
    # Rules
    mutant(
        "as-many-entries-as-you-like",
        "A JobFlow may have more entries than the operator allows.",
        f"{OF_RULES}more_entries_than_allowed_are_the_only_fault",
        RULES,
        "    if len(given.flows) > given.max_flows:\n",
        "    if False:\n",
    ),
    mutant(
        "cycles-are-fine",
        "Entries that wait for each other are taken, and never start.",
        f"{OF_RULES}each_independent_cycle_is_told_once",
        RULES,
        "    yield from _dependencies(given).loops()\n",
        "    yield from ()\n",
    ),
)
