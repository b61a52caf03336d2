"""No regular expression of the products takes long over a text, or says yes to one of which it saw a part."""

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PRODUCTS = ("shared", "webhook", "controller", "certs")
ROOT = Path(__file__).parents[3]

LENGTH = 100_000
LIMIT = 0.010

SCANNERS = {
    "shared/api/times.py": "goes through a duration part by part, and wants the end after the last",
    "shared/rules/formats.py": "goes through a duration part by part, and wants the end after the last",
    "webhook/review.py": "looks whether there is anything to look closer at",
    "webhook/check/documents.py": "finds where the documents of a file begin",
    "webhook/check/json_text.py": "finds where the values of a text begin",
    "webhook/check/yaml_text.py": "finds where the values of a text begin",
    "webhook/check/tree.py": "finds where the values of a text begin",
    "webhook/check/judging.py": "reads paths that the rules wrote",
    "webhook/check/hints.py": "reads messages that the rules wrote",
    "certs/pem.py": "finds the certificates of a bundle, and leaves out what is none",
    "webhook/check/scalars.py": "finds out what a plain text of YAML is",
}
"""Files that look for a part of a text, and why that is right there. All others take a text whole, or not at all."""


def _is_compiling(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"


def sources() -> Iterator[tuple[str, ast.Module]]:
    for package in PRODUCTS:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text())


def expressions() -> Iterator[tuple[str, str]]:
    """The module and the name of every compiled expression of the products."""
    for path, tree in sources():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and any(map(_is_compiling, ast.walk(node))):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                yield path.removesuffix(".py").replace("/", "."), ast.unparse(target)


def adversaries(pattern: str) -> Iterator[str]:
    """Texts that nearly fit: what the expression has in it, over and over, and then what it cannot have."""
    parts = {
        *"a0-._ \n\t'\"\\/:[]{}#%Z\u00b5", "a-", "-a", "a.", ".a", "0.", "1s", "1h", "0m", "a\n", "ab",
        "\\\\", '\\"', "--",
        "a=", "e+", "0e", "metadata.labels['", "iqn.2001-04.", "---\n", "# ", "[0]", "9a",
    }  # fmt: skip
    words = {*re.findall(r"[A-Za-z0-9.\-]{2,}", pattern)}
    for part in sorted(parts | words):
        body = part * (LENGTH // len(part))
        for end in ("", "!", "\n", "\x00", "a", "-"):
            yield body + end


@pytest.mark.parametrize(("module", "name"), list(expressions()))
def test_no_expression_takes_long_over_any_text(module: str, name: str) -> None:
    expression = getattr(importlib.import_module(module), name)
    assert isinstance(expression, re.Pattern)
    binary = isinstance(expression.pattern, bytes)
    texts = adversaries(expression.pattern.decode() if binary else expression.pattern)
    slow = [
        (text[:20], text[-3:])
        for text in texts
        for read in (expression.fullmatch, expression.match)
        if not is_quick(read, text.encode() if binary else text)
    ]
    assert slow == []


def is_quick(read: Callable[[str], object], text: str) -> bool:
    """Within the time, in one of many tries: others use the machine too."""
    return any(seconds(read, text) <= LIMIT for _ in range(20))


def test_all_expressions_are_found() -> None:
    assert len(list(expressions())) > 25


def seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started


def test_expressions_are_constants_of_their_modules() -> None:
    """So that the tests above find all of them, and none is made of what somebody sent."""
    hidden = {
        path
        for path, tree in sources()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and _is_of_re(node.func)
    }
    assert hidden <= {"shared/ops/settings.py", "webhook/check/documents.py"}, "which know what they look for"


def test_texts_are_taken_whole_or_not_at_all() -> None:
    parts = {
        path
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"match", "search", "finditer", "findall", "sub", "split"}
        if isinstance(node.value, ast.Name) and node.value.id.isupper()
    }
    assert parts <= set(SCANNERS)


def _is_of_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
