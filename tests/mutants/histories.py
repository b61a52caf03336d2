"""Mistakes that only a whole history gives away: the simulator sees them within a few fixed seeds."""

from typing import Final

from tests.mutants.mutant import Edit, Mutant, mutant

SEEDS: Final = "tests/mutants/test_seeds.py::test_the_invariants_hold"

HISTORIES: Final[tuple[Mutant, ...]] = (
    mutant(
        "a-changed-spec-proves-what-it-says",
        "A Job proves Completed what the spec says only since somebody has changed it.",
        f"{SEEDS}[edits]",
        "controller/jobflow/progress.py",
        "    if jobflow.metadata.generation > 1:\n        return ()\n",
        "",
    ),
    mutant(
        "what-went-before-its-jobflow-was-known-is-forgotten",
        "A Job that goes while the cache does not show its JobFlow was never there.",
        "tests/controller/jobflow/test_reconcile.py::test_the_end_of_a_job_counts_though_its_owner_was_taken_away_before_"
        "its_jobflow_was_known",
        "controller/jobflow/reconcile.py",
        "            self._early.setdefault(old.owner_uid, {})[old.name] = old\n",
        "",
    ),
    mutant(
        "two-controllers-without-a-look",
        "Of two controllers each creates what the other has created, and somebody has deleted.",
        f"{SEEDS}[two]",
        "controller/jobflow/creating.py",
        "        if self._live.tells_of(create.name) or self._is_known(create.name):\n",
        "        if False:\n",
        Edit("controller/jobflow/live.py", "FRESH: Final = 1.0", "FRESH: Final = 1e9"),
    ),
)
