"""Every mutant is killed by the test that is named for it, and the list does not rot."""

import ast
from pathlib import Path

import pytest

from tests.mutants.catalogue import LISTS, MUTANTS
from tests.mutants.gate import KILLED, ROOT, Copy
from tests.mutants.mutant import Mutant


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy") / "tree")


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(MUTANTS) == sum(map(len, LISTS)) >= 25


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_what_a_mutant_changes_and_what_kills_it_are_there(mutant: Mutant) -> None:
    for edit in mutant.edits:
        assert (ROOT / edit.file).read_text(encoding="utf-8").count(edit.old) == 1, edit
        assert edit.new != edit.old
    path, *_, name = mutant.killer.partition("[")[0].split("::")
    tree = ast.walk(ast.parse(Path(ROOT / path).read_text(encoding="utf-8")))
    assert name in {it.name for it in tree if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_mutant_is_killed_by_its_test(mutant: Mutant, copy: Copy) -> None:
    assert copy.verdict(mutant) == KILLED, mutant.why
