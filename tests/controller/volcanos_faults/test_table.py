import ast
from pathlib import Path
from typing import Final

import pytest

from tests.controller.volcanos_faults.table import RIGHT

ROOT: Final = Path(__file__).parents[3]


@pytest.mark.parametrize("number", range(1, 30))
def test_each_fault_has_a_test_that_says_what_is_right(number: int) -> None:
    [tests] = [tests for fault, tests in RIGHT.items() if fault.split()[0] == f"B{number}"]
    for test in tests:
        path, _, name = test.partition("::")
        defined = {
            it.name
            for it in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in defined, f"{test} is not there any more"
